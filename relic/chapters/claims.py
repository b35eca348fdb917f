"""What the claim pages share: which splits they rest on, and tables as the papers head them."""

from collections.abc import Iterable
from functools import cache
from itertools import combinations, product

import pandas as pd

from relic.errors import RelicError
from relic.judge.claims import PAIRS, Verdict, equalizer
from relic.judge.lic import RECIPES, lic_table
from relic.judge.stats import tau
from relic.measure.splits import PAPER_SEEDS
from relic.records.evidence import PAPERS, SHEET
from relic.records.serve import AnyCorpus, Runs, recorded, runs

EMBEDDED_SEEDS = list(PAPER_SEEDS[:3])  # of the embedded corpus where no seeds are asked for
TURNS = ("lstm", "bert-ft")  # one human caption a split instead of five, as `relic.runs` asks
HEADS = {"lic_model": "LIC_M", "lic_data": "LIC_D", "lic": "LIC", "n_test": "test captions"}
QUICK = ("linear", "bert-pre")  # trained on the embedded corpus where no classifiers are asked for


def splits(
    corpus: AnyCorpus,
    classifier: str,
    seeds: Iterable[int] = (),
    captioners: Iterable[str] = (),
    sides: Iterable[str] = ("model", "human"),
    size: int = 0,
) -> list[int]:
    """The splits of a page: those asked for, else all that are recorded for every captioner.

    The embedded corpus has no record: 0, 12 and 100.
    """
    if seeds or corpus.synthetic:
        return list(seeds) or EMBEDDED_SEEDS
    names = list(captioners or corpus.captioners)
    about = {"attribute": corpus.attribute.name, "classifier": classifier, "captioner": names}
    frame = _recorded(size).where(**about, recipe=RECIPES[classifier]).frame
    wanted = {"model": len(names), "human": len(names) * (1 if classifier in TURNS else 5)}
    counts = frame.groupby(["side", "seed"]).size()
    return [s for s in PAPER_SEEDS if all(counts.get((k, s), 0) >= wanted[k] for k in sides)]


@cache
def _recorded(size: int) -> Runs:
    """All recorded runs on so many images; reading them takes a second."""
    return recorded(size=size)


def runs_by_attribute(
    corpora: dict[str, AnyCorpus], classifier: str, seeds: list[int], every: bool = False, **choices
) -> dict[str, Runs]:
    """Runs of each attribute that has splits; an error where none has, or not `every` one."""
    found = {}
    for name, corpus in corpora.items():
        if own := splits(corpus, classifier, seeds, **choices):
            found[name] = runs(corpus, classifier=classifier, seeds=own, **choices)
    lacking = [name for name in corpora if name not in found]
    if lacking and (every or not found):
        raise RelicError(
            f"{classifier}: no split is recorded for every captioner of {', '.join(lacking)}",
            expected="a recorded classifier (linear is complete), or seeds to train",
            mend="relic data fetch DIR, then export RELIC_DATA=DIR, and name the seeds",
        )
    return found


def plan(corpora: dict[str, AnyCorpus], classifiers: list[str], seeds: list[int]) -> pd.DataFrame:
    """Claim 1: which classifiers have the two splits that it needs, attribute by attribute."""
    rows = []
    for (name, corpus), classifier in product(corpora.items(), classifiers or RECIPES):
        if classifiers or (corpus.synthetic and classifier in QUICK):
            own = splits(corpus, classifier, seeds)
        else:  # nothing to train: what is recorded, of the splits asked for
            known = [] if corpus.synthetic else splits(corpus, classifier)
            own = [seed for seed in known if not seeds or seed in seeds]
        row = {"attribute": name, "classifier": classifier, "splits": len(own)}
        rows.append(row | {"used": len(own) > 1, "seeds": own})
    return pd.DataFrame(rows)


def lic_of(corpora: dict[str, AnyCorpus], planned: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Lic tables by attribute over the classifiers that are used."""
    tables: dict[str, list] = {}
    fewer = {name: {"caption_indices": [0]} if c.synthetic else {} for name, c in corpora.items()}
    for row in planned[planned["used"]].itertuples():
        options = {"classifier": row.classifier, "seeds": row.seeds, **fewer[row.attribute]}
        served = runs(corpora[row.attribute], **options)
        tables.setdefault(row.attribute, []).append(lic_table(served))
    return {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}


def headed(table: pd.DataFrame) -> pd.DataFrame:
    """A table under the papers' names; seeds are names, test captions are whole."""
    if "seed" in table:
        table = table.assign(seed=table["seed"].astype(str))
    if "n_test" in table:
        table = table.assign(n_test=table["n_test"].round().astype("int64"))
    return table.rename(columns=HEADS)


def row_of(found: Verdict, **about) -> dict:
    """A verdict as a row of a table."""
    numbers = {"difference": found.estimate, "low": found.low, "high": found.high}
    word = f"{found.symbol} {found.word}"
    return about | numbers | {"verdict": word, "seeds": found.seeds, "n_test": found.n_test}


def beside_papers(table: pd.DataFrame, papers: pd.DataFrame, quantity: str = "lic") -> pd.DataFrame:
    """Ours with its interval, and a column for each paper and classifier."""
    names = papers["source"].map(PAPERS) + ", " + papers["classifier"]
    wide = papers.assign(column=names).pivot(index="captioner", columns="column", values=quantity)
    ours = table[["captioner", quantity, "low", "high"]].rename(columns={quantity: "ours"})
    return ours.merge(wide[list(names.unique())], left_on="captioner", right_index=True)


def rank_agreement(papers: pd.DataFrame) -> pd.DataFrame:
    """Kendall's τ of the printed mean LIC for each pair of a paper's classifiers."""
    rows = []
    for (source, attribute), part in papers.groupby(["source", "attribute"], sort=False):
        wide = part.pivot(index="captioner", columns="classifier", values="lic").dropna()
        for first, second in combinations(part["classifier"].unique(), 2):
            agreed = tau(wide[first], wide[second])
            rows.append((PAPERS[source], attribute, first, second, len(wide), agreed))
    return pd.DataFrame(rows, columns="paper attribute first second captioners τ".split())


def published_leads(lic: pd.DataFrame) -> pd.DataFrame:
    """Claim 4 on published numbers: NIC+Equalizer − NIC+ by paper, attribute and classifier."""
    rows = []
    for (source, *about), part in lic.groupby(["source", "attribute", "classifier"], sort=False):
        if set(PAIRS[0]) <= set(part["captioner"]):
            named = dict(zip(["attribute", "classifier"], about, strict=True))
            rows.append(row_of(equalizer(part), source=source, **named))
    table = pd.DataFrame(rows).drop(columns="n_test")
    names = PAPERS | {SHEET: "Türk et al. 2023, by split"}
    return table.assign(source=table["source"].replace(names))
