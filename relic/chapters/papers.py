"""The papers side by side, and our re-run of their protocol beside them: tidy frames and one figure.

Two printed values *differ* when |m₂ − m₁| exceeds √(s₁² + s₂²), s the printed standard deviation over
ten seeds. That is a spread, not a test: a mean of ten seeds varies less than one seed does, and the
papers share captions, seeds and in part splits.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

from relic import paths
from relic.chapters.figures import STYLE, by_paper
from relic.data.captioners import display_names, in_order
from relic.errors import RelicError
from relic.judge.lic import labelled, model_table
from relic.measure.splits import PAPER_SEEDS
from relic.numbers import number
from relic.records.evidence import PAPERS, papers
from relic.records.published import CELL
from relic.records.serve import AnyCorpus, Runs, recorded, runs

SHORT = {source: name.split()[0] for source, name in PAPERS.items()}
ORDER = {  # in which the papers print
    "attribute": ["gender", "race", "age"],
    "classifier": ["lstm", "bert-ft", "bert-pre"],
    "metric": ["LIC_M", "LIC_D", "LIC"],
}
SETTINGS = {"lstm": {"recipe": "upstream", "batching": "packed"}, "bert-ft": {"recipe": "1e-5x5"}}
TH10 = ("lstm", "linear")  # read NIC's gender captions from the file of the papers' LSTM script


def cells(papers: pd.DataFrame) -> pd.DataFrame:
    """Printed tables (`relic.papers`), a row a cell: mean and spread of LIC_M, LIC_D and LIC.

    No paper prints a spread of LIC; it follows from those of LIC_M and LIC_D, taken as independent.
    """
    about = papers[["source", "attribute", "classifier", "captioner"]]
    model, data = papers["std_model"], papers["std_data"]
    parts = [
        about.assign(metric="LIC_M", mean=papers["lic_model"], spread=model),
        about.assign(metric="LIC_D", mean=papers["lic_data"], spread=data),
        about.assign(metric="LIC", mean=papers["lic"], spread=np.hypot(model, data)),
    ]
    return ordered(pd.concat(parts, ignore_index=True))


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order in which the papers print them."""
    order = ORDER | {"captioner": in_order(frame["captioner"])}

    def ranks(column: pd.Series) -> pd.Series:
        return column.map({v: n for n, v in enumerate(order[column.name])})

    columns = [name for name in CELL if name in frame]
    return frame.sort_values(columns, key=ranks, ignore_index=True)


def pairs(cells: pd.DataFrame, spreads: float = 1.0) -> pd.DataFrame:
    """Every cell that two papers share: second minus first, and whether beyond so many spreads."""
    present = [source for source in PAPERS if source in set(cells["source"])]
    if len(present) < 2:
        raise RelicError(f"papers: {present}", expected=f"two or three of {list(PAPERS)}")
    both = cells.merge(cells, on=CELL, suffixes=("_first", "_second"))
    first, second = both["source_first"], both["source_second"]
    both["papers"] = first.map(SHORT) + " – " + second.map(SHORT)
    both = both[first.map(present.index) < second.map(present.index)]
    # one decimal is printed: rounding takes away what binary fractions add
    both["difference"] = (both["mean_second"] - both["mean_first"]).round(1)
    both["spread"] = np.hypot(both["spread_first"], both["spread_second"])
    both["beyond"] = both["difference"].abs() > spreads * both["spread"] + 1e-9
    means = [*CELL, "source_first", "mean_first", "source_second", "mean_second"]
    return ordered(both)[["papers", *means, "difference", "spread", "beyond"]]


def plus_minus(frame: pd.DataFrame, mean: str, spread: str = "spread") -> list[str]:
    """Mean ± spread of each row, as the papers print them."""
    return [f"{number(m)} ± {number(s)}" for m, s in zip(frame[mean], frame[spread], strict=True)]


def draw_published(cells: pd.DataFrame, file) -> None:
    """The picture of the README, LIC of gender and race: the same bytes for the same numbers."""
    kept = cells.query("metric == 'LIC' and attribute != 'age'")
    axes = by_paper(kept, "classifier", "attribute", value="mean", xlabel="LIC, points")
    with plt.rc_context({**STYLE, "svg.fonttype": "path"}):
        axes.figure.savefig(file, format="svg", metadata={"Date": None})
    plt.close(axes.figure)


def printed_in(attribute: str, classifier: str) -> str:
    """Where the reproductions print LIC of an attribute by a classifier."""
    turk = {"gender lstm": 2, "gender bert": 1, "race lstm": 3}.get(f"{attribute} {classifier[:4]}")
    first = f"table {ORDER['attribute'].index(attribute) + 1} of Antequera et al. (2023)"
    return first + (f" and table {turk} of Türk et al. (2023)" if turk else "")


def against_sheet(cells: pd.DataFrame, per_seed: pd.DataFrame) -> pd.DataFrame:
    """Türk et al.'s printed cells beside the mean of their own seeds, and what explains the print.

    `printed alike`: captioners of the same column with the same printed mean and spread.
    """
    printed = cells[cells["source"] == "turk2023"].drop(columns="source")
    printed = printed.rename(columns={"mean": "printed", "spread": "printed ±"})
    per_seed = per_seed.assign(classifier=per_seed["classifier"].str.lower())
    seeds = per_seed.groupby(CELL)["value"].agg(["mean", "std", "max", "size"])
    seeds.columns = ["of seeds", "of seeds ±", "largest seed", "n"]
    found = printed.merge(seeds.reset_index(), on=CELL)
    tenths = (10 * found["of seeds"]).round(6)  # takes away what binary fractions add
    found["truncated"] = np.floor(tenths) / 10 == found["printed"]
    found["rounded"] = np.floor(tenths + 0.5) / 10 == found["printed"]
    column = ["attribute", "classifier", "metric", "printed", "printed ±"]
    alike = found.merge(found[[*column, "captioner"]], on=column, suffixes=("", " too"))
    alike = alike[alike["captioner"] != alike["captioner too"]]
    named = alike.groupby(CELL)["captioner too"].agg(", ".join).rename("printed alike")
    return found.join(named, on=CELL).fillna({"printed alike": ""})


def protocol(corpus: AnyCorpus, classifier: str, seeds: list[int]) -> Runs:
    """LIC_M on the papers' splits, files and settings: of these seeds, or (none given) as recorded."""
    kind = {"classifier": classifier, "split": "upstream", **SETTINGS.get(classifier, {})}

    def served(names: list[str], caption_set: str) -> Runs:
        if seeds:
            asked = {"seeds": seeds, "sides": ["model"], "caption_set": caption_set}
            return runs(corpus, names, **asked, **kind)
        asked = {"attribute": corpus.attribute.name, "side": "model", "caption_set": caption_set}
        return recorded(captioner=names, **asked, **kind)

    if corpus.attribute.name != "gender" or classifier not in TH10:
        return served(corpus.captioners, "standard")
    others = [name for name in corpus.captioners if name != "nic"]
    return served(others, "standard") + served(["nic"], "th10")


def beside(runs: Runs, cells: pd.DataFrame) -> pd.DataFrame:
    """Our LIC_M beside each paper's: a row a captioner and paper; `inside` their spread or not.

    The linear classifier, which no paper used, stands beside their LSTM.
    """
    by = ["attribute", "classifier", "captioner"]
    scores = model_table(runs).groupby(by, sort=False)["lic_model"]
    ours = scores.agg(ours="mean", sd="std", seeds="size").reset_index()
    ours["theirs by"] = ours["classifier"].str.split().str[0].replace("linear", "lstm")
    printed = cells[cells["metric"] == "LIC_M"].rename(columns={"classifier": "theirs by"})
    both = ours.merge(printed, on=["attribute", "theirs by", "captioner"])
    both = ordered(both).rename(columns={"mean": "theirs"})
    both = both.assign(paper=both["source"].map(SHORT), difference=both["ours"] - both["theirs"])
    both["inside"] = both["difference"].abs() <= both["spread"]
    kept = ["ours", "sd", "seeds", "paper", "theirs by", "theirs", "spread", "difference", "inside"]
    return both[[*by, *kept]]


def by_split(runs: Runs, sheet: pd.DataFrame) -> pd.DataFrame:
    """Our LIC_M of each split beside Türk et al.'s values in that row of their spreadsheet.

    Row k of the sheet is taken for the k-th of the papers' seeds: what `seed_order` tests.
    """
    ours = runs.frame.rename(columns={"score": "ours"})
    ours = ours.assign(captioner=ours["captioner"].map(display_names()), classifier=labelled(ours))
    ours = ours[["attribute", "classifier", "captioner", "caption_set", "seed", "ours"]]
    theirs = sheet.rename(columns={"lic_model": "theirs", "classifier": "theirs by"})
    theirs = theirs.assign(seed=theirs["seed"].map(dict(enumerate(PAPER_SEEDS))))
    return ours.merge(theirs[["attribute", "theirs by", "captioner", "seed", "theirs"]])


def seed_order(splits: pd.DataFrame, draws: int = 999) -> tuple[float, float]:
    """r of ours and theirs over splits, each captioner about its mean; p over reordered sheet rows."""
    shape = {"index": ["captioner", "caption_set"], "columns": "seed"}
    wide = [splits.pivot(**shape, values=side) for side in ("ours", "theirs")]
    ours, theirs = (side.sub(side.mean(axis=1), axis=0).to_numpy() for side in wide)

    def r(order: np.ndarray) -> float:
        return float(np.corrcoef(ours.ravel(), theirs[:, order].ravel())[0, 1])

    options = {"permutation_type": "pairings", "alternative": "greater", "n_resamples": draws}
    found = stats.permutation_test((np.arange(ours.shape[1]),), r, **options, rng=0)
    return float(found.statistic), float(found.pvalue)


if __name__ == "__main__":
    draw_published(cells(papers()), paths.BOOK / "images" / "published_lic.svg")
