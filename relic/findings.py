"""The chapter "What we found": sentences that follow the recorded numbers, none typed by hand.

Each function takes what it judges (verdicts, runs, records) and returns Markdown. What is not
recorded is said so, with the command that records it.
"""

from collections.abc import Iterable
from itertools import combinations

import pandas as pd

from relic import bert_recipes, extensions, report
from relic.calibration import grid as calibration_grid
from relic.calibration import report as calibration_report
from relic.calibration import study as calibration
from relic.calibration.study import rates
from relic.claims import (
    NOT_SUPPORTED,
    PAIRS,
    SUPPORTED,
    SYMBOLS,
    UNDECIDED,
    Verdict,
    less_than_gender,
)
from relic.errors import RelicError
from relic.evidence import MAIN, THIS_BUILD, display_names, equal_size, from_runs, means
from relic.gender_score import chapter
from relic.gender_score.record import recorded as gender_score_record
from relic.published import published
from relic.published.report import Findings
from relic.report import minus, span
from relic.results import RECORDED
from relic.stand_in import LSTM
from relic.stats import Interval, estimate, holm

NOT_YET = "Not recorded yet: "
TITLES = {
    "1": "1 · The order of captioners is the same for every classifier",
    "2": "2 · Every captioner amplifies",
    "3 (LIC_M)": "3 · Race is given away less than gender, by LIC_M",
    "3 (LIC)": "3 · Race is amplified less than gender, by LIC",
    "4": "4 · The Equalizer amplifies gender beyond NIC+, and race no more",
}
COMMANDS = {
    "1": "relic sweep --grid bert-pre",
    "recipe": "relic sweep --grid 'bert-pre LIC_M'",
}
AGAIN = "relic sweep --grid linear"
SURVIVES = {
    SUPPORTED: "The Equalizer's lead over NIC+ survives without repeated captions.",
    UNDECIDED: "Without repeated captions the Equalizer's lead over NIC+ is not sure.",
    NOT_SUPPORTED: "Without repeated captions the Equalizer's lead over NIC+ is gone.",
}


def claims_found(verdicts: Iterable[Verdict], runs: pd.DataFrame) -> str:
    """A bullet a claim: verdict by attribute with its numbers, other classifiers, the papers' own."""
    verdicts, lines = list(verdicts), []
    for claim, title in TITLES.items():
        about = [v for v in verdicts if v.claim == claim]
        ours = [v for v in about if v.source == RECORDED]
        told = [report.told([v for v in ours if v.attribute == name]) for name in _names(ours)]
        if claim.startswith("3") and told:
            told[-1] += _equal_size(runs, {"LIC_M": "lic_model", "LIC": "lic"}[claim[3:-1]])
        told = told or [f"{NOT_YET}`{COMMANDS.get(claim, AGAIN)}`."]
        lines.append(f"- **{title}.** {_papers(about)}")
        lines += [f"  - {line}" for line in told if line]
    return minus("\n".join(lines))


def _papers(about: list[Verdict]) -> str:
    """How often the same rule decides which way on the papers' own numbers."""
    words = [v.verdict for v in about if v.source not in (RECORDED, THIS_BUILD)]
    counts = [f"{words.count(w)} {symbol}" for w, symbol in SYMBOLS.items() if w in words]
    age = ", age included" * any(v.attribute == "age" for v in about)
    return f"The papers' own numbers ({len(words)} bodies of evidence{age}): {', '.join(counts)}."


def _names(verdicts: list[Verdict]) -> list[str]:
    return [n for n in ("gender", "race", "age") if n in {v.attribute for v in verdicts}]


def _equal_size(runs: pd.DataFrame, quantity: str) -> str:
    """Claim 3 with no more images for gender than race has."""
    rows = equal_size(runs[runs["classifier"] == MAIN], RECORDED)
    rows = rows[rows["variant"].str.startswith("standard")]
    if not {"gender", "race"} <= set(rows["attribute"]):
        return ""
    found = less_than_gender(rows, quantity)
    return f" With as many images for gender as for race: {found.symbol} {found.verdict}."


def repetition(verdicts: Iterable[Verdict], runs: pd.DataFrame) -> str:
    """What repeated captions do to claim 4, in our runs and in Türk et al.'s setting."""
    four = [v for v in verdicts if (v.source, v.claim, v.attribute) == (RECORDED, "4", "gender")]
    main = {v.variant: v for v in four if v.classifier == MAIN}
    if not {"standard", "unseen"} <= set(main):
        return f"{NOT_YET}`{AGAIN}`."
    unseen = main["unseen"]
    others = [v for v in four if v.variant == "unseen" and v.classifier != MAIN]
    rest = f" Other classifiers on unseen captions: {report.tally(others)}." if others else ""
    theirs, (first, second) = published("unseen_captions").set_index("captioner"), PAIRS[0]
    printed = theirs["lic_m"][first] - theirs["lic_m"][second]
    before = printed - theirs["difference"][first] + theirs["difference"][second]
    parts = [
        f"**{SURVIVES[unseen.verdict]}** On LIC the lead is {span(main['standard'].interval)} on all test captions and "
        f"{span(unseen.interval)} on those not seen in training (masked, {MAIN}, {unseen.n_seeds} splits).{rest}",
        f"Türk et al. print a lead on LIC_M that falls from {before:.1f} to {printed:.1f} (LSTM, unseen as written). {_same_setting(runs, printed)}",
        _shrinks(runs[runs["source"] == RECORDED]),
    ]
    return minus("\n\n".join(parts))


def _shrinks(runs: pd.DataFrame) -> str:
    """What is left of amplification on unseen captions: mean over captioners, and how many surely amplify."""
    lic = from_runs(runs, attribute="gender", classifier=MAIN)
    sure = {
        variant: int((holm([each.p_above(0) for each in means(group).values()]) < 0.05).sum())
        for variant, group in lic.groupby("variant")
    }
    table = extensions.unseen_table(runs, RECORDED, "gender")
    grouped = extensions.grouped_table(runs, "gender")
    part = table[(table["classifier"] == MAIN) & table["mean"].notna()]
    by = part.pivot_table(index="captioner", columns="series", values=["mean", "LIC_M", "LIC_D"])
    every, unseen = (by.xs(name, axis=1, level=1) for name in ("all captions", "unseen, masked"))
    seen = part[part["series"] == "unseen, masked"]["share seen (%)"]
    less = unseen["mean"].mean() < every["mean"].mean()
    return (
        f"Amplification itself {'shrinks' if less else 'does not shrink'}: {seen.min():.0f} to {seen.max():.0f} % of a captioner's test captions "
        f"were seen in training; without them mean LIC goes from {every['mean'].mean():.1f} to {unseen['mean'].mean():.1f} (LIC_M from "
        f"{every['LIC_M'].mean():.1f} to {unseen['LIC_M'].mean():.1f}, LIC_D from {every['LIC_D'].mean():.1f} to {unseen['LIC_D'].mean():.1f}). It is surely above 0 (Holm) for "
        f"{sure['unseen']} of {len(unseen)} captioners instead of {sure['standard']}. {extensions.grouped_sentence(grouped)}"
    )


def _same_setting(runs: pd.DataFrame, printed: float) -> str:
    """The lead on LIC_M on the papers' splits, where both captioners are tested on the same images."""
    keys = {name: key for key, name in display_names().items()}
    same = runs[
        (runs["source"] == RECORDED) & (runs["attribute"] == "gender") & (runs["split"] == "upstream")
        & (runs["side"] == "model") & (runs["caption_set"] == "standard")
    ]  # fmt: skip
    told = []
    for classifier in ("lstm", MAIN):
        wide = same[same["classifier"] == classifier].pivot_table(
            index="seed", columns="captioner", values=["score", "unseen_raw_score"]
        )
        pair = [keys[name] for name in PAIRS[0]]
        if not set(pair) <= set(wide.columns.get_level_values(1)):
            continue
        leads = [
            estimate((wide[q][pair[0]] - wide[q][pair[1]]).dropna())
            for q in ("score", "unseen_raw_score")
        ]
        where = leads[1].interval()
        inside = "inside" if where.low <= printed <= where.high else "outside"
        told.append(
            f"from {leads[0].mean:.1f} to {span(where)} by {classifier} ({leads[1].n} splits; theirs lies {inside})"
        )
    text = f"On the same kind of splits we find it {', and '.join(told)}." if told else ""
    return text if len(told) == 2 else f"{text} {NOT_YET}`{LSTM}`."


def recipe(runs: pd.DataFrame) -> str:
    """Why RELIC and Türk et al. disagree on BERT-pre, and what our runs of both recipes say."""
    papers = Findings.of_papers()
    low, high = papers.gap["BERT-pre"]
    mine, theirs = (papers.recipe_in_words(name) for name in ("relic2023", "turk2023"))
    why = "They trained it differently." if mine != theirs else "Their recipes are the same."
    text = (
        f"**{why}** RELIC's public code gives BERT-pre {mine}, Türk et al.'s (as Hirota et al.'s) {theirs}. RELIC's LIC_M and "
        f"LIC_D for it lie {-high:.1f} to {-low:.1f} points under the others'."
    )
    table = bert_recipes.by_recipe(runs[runs["source"] == RECORDED], "gender")
    wide = table.pivot(index="captioner", columns="series", values=["mean", "AUC"]) if len(table) else table  # fmt: skip
    if not {("mean", "5e-5x20"), ("mean", "1e-5x5")} <= set(wide):
        return minus(f"{text} Whether the recipe alone does that: not recorded yet, `{COMMANDS['recipe']}`.")  # fmt: skip
    gap = (wide["mean", "1e-5x5"] - wide["mean", "5e-5x20"]).dropna()
    auc = (wide["AUC", "1e-5x5"] - wide["AUC", "5e-5x20"]).dropna()
    ours = "as far as" if low <= gap.mean() <= high else "not as far as"
    return minus(
        f"{text} The recipe alone, with a frozen MiniLM on the same captions, moves LIC_M by {gap.mean():+.1f} points "
        f"({gap.min():+.1f} to {gap.max():+.1f}; captioners: {len(gap)}) and AUC by {auc.mean():+.1f}: {ours} the papers lie "
        "apart. That shows what the recipe can do, not that it did: BERT-base was not trained here."
    )


def where_biased(study: pd.DataFrame | None = None, grid: pd.DataFrame | None = None) -> str:
    """Bias of LIC and level of our intervals, on corpora whose truth is known."""
    study = calibration.read_study() if study is None else study
    grid = calibration_grid.read_grid() if grid is None else grid
    if study.empty or grid.empty:
        return f"{NOT_YET}`relic calibrate study`, `relic calibrate grid`."
    row = calibration_report.no_gain(rates(study)).set_index("method").loc["corrected"]
    level = "holds its level" if calibration_report.holds(row) else "does **not** hold its level"
    told = [calibration_report.grid_headline(grid)]
    told.append(
        f"The interval behind our verdicts {level}: over {row['corpora']:.0f} such corpora without amplification it lies above 0 in "
        f"{calibration_report.share(row, 'above 0')} (nominal {calibration_report.FALSE_POSITIVES} %)."
    )
    sure = calibration_grid.factor_table(grid, "recipe", ["plain"])
    sure = sure[sure["gain"] == 0.0]
    told.append(
        f"The classifier's confidence alone, over {len(sure)} strengths of regularisation and without amplification, biases LIC_M by "
        f"{sure['bias of LIC_M'].min():+.1f} to {sure['bias of LIC_M'].max():+.1f} points and LIC by {sure['bias'].min():+.1f} to {sure['bias'].max():+.1f}."
    )
    by = calibration_grid.classifier_table(grid)
    by = by[(by["score"] == "plain") & (by["gain"] == 0.0)]
    told.append(
        f"The choice of classifier matters too: without amplification, from about {by['n_train'].mean():,.0f} training captions, LIC is "
        + ", ".join(f"{row['bias']:+.1f} by {row['classifier']} ({_corpora(row)})" for _, row in by.iterrows()) + "."
    )  # fmt: skip
    return minus(" ".join(told))


def _corpora(row: pd.Series) -> str:
    if row["corpora"] < 2:
        return "one corpus"
    return f"95 % {row['bias, low']:.1f} to {row['bias, high']:.1f}, {row['corpora']} corpora"


def gender_score_adds(scores: pd.DataFrame | None = None) -> str:
    """How well the Gender Score tells captioners apart, whether it agrees with LIC, what decides it."""
    try:
        scores = gender_score_record("scores") if scores is None else scores
        lic, estimation = (gender_score_record(name) for name in ("lic", "estimation"))
    except RelicError:
        return f"{NOT_YET}`relic gender-score record`."
    nine = chapter.main(scores)
    nine = nine[nine["method"] == chapter.SCORE]
    ends = list(nine[["low", "high"]].itertuples(index=False, name=None))
    pairs = list(combinations(ends, 2))
    apart = sum(a[1] < b[0] or b[1] < a[0] for a, b in pairs)
    row = chapter.lic_row(lic)
    agrees = "is undecided" if row["low"] < 0 < row["high"] else "is borne out" if row["rho"] > 0 else "is denied"  # fmt: skip
    lead = "Another question, and little contrast." if apart < len(pairs) / 2 else "Another question, another order."  # fmt: skip
    prior = chapter.main(estimation)
    prior = 100 * prior[prior["method"] == chapter.ESTIMATED]["prior alone"]
    return minus(
        f"**{lead}** It asks how well the stated gender goes with the objects. Its ratio to men lies between {nine['to_m'].min():.3f} and "
        f"{nine['to_m'].max():.3f} for the {len(nine)} captioners; {apart} of {len(pairs)} pairs have intervals apart. That it orders them as LIC does {agrees}: "
        f"ρ = {span(Interval(row['rho'], row['low'], row['high']), 2)}. The language model alone prefers *man* in {prior.min():.0f} to "
        f"{prior.max():.0f} % of the captions, whatever the image shows."
    )


def untested(runs: pd.DataFrame) -> str:
    """What we could not test here, in numbers where there are some."""
    ours = runs[(runs["source"] == RECORDED) & (runs["labels"] == "true") & (runs["size"] == 0)]
    base = ours["encoder"].str.contains("bert-base").sum()
    lines = [
        f"- **BERT-base.** {f'{base} recorded runs use' if base else 'No recorded run uses'} `bert-base-uncased`, the papers' encoder"
        f"{'.' if base else ': its weights were not to be had here. MiniLM stands in, and is named.'}"
    ]
    images = ours.assign(images_all=ours["n_train"] + ours["n_test"])
    images = images[images["side"] == "model"].pivot_table(
        index="attribute", columns="split", values="images_all", aggfunc="max"
    )
    short = [
        f"{paired:,.0f} of the papers' {every:,.0f} balanced images for {name}"
        for name, every, paired in zip(images.index, images["upstream"], images["paired"], strict=True)
        if paired < every
    ] if {"upstream", "paired"} <= set(images) else []  # fmt: skip
    if short:
        lines.append(
            f"- **Missing human captions.** Without upstream's `Human_Ann` files LIC rests on {' and '.join(short)}. LIC_M alone needs no human captions."
        )
    human = ours[(ours["side"] == "human") & (ours["split"] == "upstream")]
    absent = sorted({"gender", "race"} - set(human["attribute"]))
    if absent:
        lines.append(
            f"- **The papers' own LIC_D** for {' and '.join(absent)}: their splits follow the row order of the same files."
        )
    missing = [n for n in ("lstm", "bert-ft", "bert-pre") if n not in set(ours.loc[ours["split"] == "paired", "classifier"])]  # fmt: skip
    lines += [f"- **{name}** was not run on paired splits, so no claim is judged by it: `relic sweep --grid {name}`." for name in missing]  # fmt: skip
    return "\n".join(lines)
