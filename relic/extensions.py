"""Tables of the extensions that need no more than stored runs: age, vocabulary, unseen captions, masked images."""

import numpy as np
import pandas as pd

from relic import datacard, paths
from relic.errors import RelicError
from relic.evidence import MAIN, display_names, from_runs, means, select
from relic.material import VOCABULARIES
from relic.published import published
from relic.report import in_order
from relic.results import RECORDED
from relic.stats import Estimate, estimate

IMAGES = {
    "unmasked": "whole image",
    "masked_obj": "objects masked",
    "masked_person": "person masked",
    "masked_both": "objects and person masked",
    "masked_seg_obj": "objects masked, outline",
    "masked_seg_person": "person masked, outline",
    "masked_seg_both": "objects and person masked, outline",
}


def by_labels(runs: pd.DataFrame, source: str, labels: list[str]) -> pd.DataFrame:
    """LIC_M, LIC_D and LIC by captioner under true and under noisy labels; `linear` where it is there."""
    rows, names = [], set(runs["classifier"])
    classifier = MAIN if MAIN in names else min(names, default="")
    for label in labels:
        group = from_runs(runs, source, labels=label, classifier=classifier)
        group = group[group["variant"] == "standard"]
        for name in in_order(group["captioner"]):
            part = group[group["captioner"] == name]
            found = {q: estimate(part[q]) for q in ("lic_model", "lic_data", "lic")}
            rows.append(
                {
                    "captioner": name,
                    "series": "labels as they are"
                    if label == "true"
                    else f"{100 * float(label[6:]):.1f} % of the labels flipped",
                    "LIC_M": found["lic_model"].mean,
                    "LIC_D": found["lic_data"].mean,
                    **found["lic"].interval()._asdict(),
                    "seeds": found["lic"].n,
                }
            )
    return pd.DataFrame(rows)


def noise_sentence(table: pd.DataFrame) -> str:
    """What label noise does to LIC_M and to LIC, in words."""
    wide = table.pivot_table(
        index="captioner", columns="series", values=["LIC_M", "mean"], sort=False
    )
    if table["series"].nunique() < 2:
        return "No runs with noisy labels are at hand."
    first, *flipped = table["series"].unique()
    told = []
    for label in flipped:
        scores, lics = (wide[q, label] - wide[q, first] for q in ("LIC_M", "mean"))
        told.append(
            f"With {label}, LIC_M moves by {scores.mean():+.1f} points on average (over captioners {scores.min():+.1f} to "
            f"{scores.max():+.1f}) and LIC by {lics.mean():+.1f} ({lics.min():+.1f} to {lics.max():+.1f})."
        )
    hides = " Noise hides amplification, it does not make it." if lics.mean() < 0 else ""
    return " ".join(told) + hides


def agreement() -> pd.DataFrame:
    """How well age annotators agree: from the real data where they are, else as recorded."""
    if paths.real_data() and (paths.real_data() / "age_annotations").is_dir():
        return datacard.annotator_agreement(paths.real_data())
    return datacard.recorded("agreement")


def upstream_table(runs: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """Recorded LSTM runs on the papers' own splits beside the papers' LIC_M."""
    where = {"source": RECORDED, "attribute": attribute, "classifier": "lstm", "side": "model"}
    kept = select(runs, split="upstream", caption_set=["standard", "th10"], **where)
    if attribute == "gender":  # upstream's LSTM script read NIC's other file
        kept = kept[(kept["captioner"] != "nic") | (kept["caption_set"] == "th10")]
    kept = kept.assign(captioner=kept["captioner"].map(display_names()))
    theirs = published("lic")
    theirs = theirs[theirs["variant"].isna() & (theirs["attribute"] == attribute)]
    theirs = theirs[(theirs["metric"] == "LIC_M") & (theirs["classifier"] == "LSTM")]
    rows = []
    for name in in_order(kept["captioner"]):
        ours, paper = (
            kept.loc[kept["captioner"] == name, "score"],
            theirs[theirs["captioner"] == name],
        )
        row = {"captioner": name, "ours": ours.mean(), "std": ours.std(), "seeds": len(ours)}
        row |= {"theirs, mean": paper["mean"].mean(), "papers": len(paper)}
        rows.append(row | {"difference": ours.mean() - paper["mean"].mean()})
    return pd.DataFrame(rows)


def by_vocabulary(runs: pd.DataFrame, source: str, attribute: str) -> pd.DataFrame:
    """LIC_D and LIC by captioner for each way to align human captions."""
    rows, kept = [], runs[runs["attribute"] == attribute]
    for vocabulary in VOCABULARIES:
        group = from_runs(kept, source, vocabulary=vocabulary)
        group = group[group["variant"] == "standard"]
        for classifier, part in group.groupby("classifier", sort=False):
            found, data = means(part), part.groupby("captioner")["lic_data"].mean()
            for name in in_order(found):
                row = {"captioner": name, "classifier": classifier, "series": vocabulary}
                row |= {"LIC_D": data[name], **found[name].interval()._asdict()}
                rows.append(row | {"seeds": found[name].n})
    return pd.DataFrame(rows)


def vocabulary_lead(tables: dict[str, pd.DataFrame]) -> str:
    """Whether the way human words are replaced moves LIC by more than its own size, in words."""
    wides = [
        table[table["classifier"] == MAIN].pivot_table(index="captioner", columns="series", values="mean")
        for table in tables.values() if len(table)
    ]  # fmt: skip
    wides = [wide for wide in wides if set(VOCABULARIES) <= set(wide)]
    if not wides:
        return ""
    base = np.mean([wide["captioner"].mean() for wide in wides])
    moved = np.mean([(wide["none"] - wide["captioner"]).mean() for wide in wides])
    share = abs(moved) / base
    size = "Little" if share < 0.25 else "Part of it" if share < 0.75 else "Most of it"
    return (
        f"**{size}: without any replacement mean LIC moves by {moved:+.1f} points, from {base:.1f} to {base + moved:.1f}** "
        f"(mean over {len(wides)} attributes)."
    )


def vocabulary_sentence(table: pd.DataFrame, attribute: str) -> str:
    """How much of LIC is vocabulary, in words."""
    table = table[table["classifier"] == MAIN]
    wide = table.pivot_table(index="captioner", columns="series", values="mean", sort=False)
    if not set(VOCABULARIES) <= set(wide):
        return f"- **{attribute}**: not all three vocabularies are recorded."
    parts = []
    for other in ("human-top-n", "none"):
        gap = wide[other] - wide["captioner"]
        parts.append(
            f"{gap.mean():+.1f} (over captioners {gap.min():+.1f} to {gap.max():+.1f}) with `{other}`"
        )
    return (
        f"- **{attribute}**: mean LIC {wide['captioner'].mean():.1f} with the captioner's vocabulary; "
        f"it moves by {' and by '.join(parts)}."
    )


def vocabulary_papers() -> pd.DataFrame:
    """RELIC's tables 3 and 4: LIC for age by vocabulary and classifier."""
    lic = published("lic")
    lic = lic[(lic["attribute"] == "age") & (lic["source"] == "relic2023")]
    lic = lic.assign(vocabulary=lic["variant"].fillna("captioner").str.removeprefix("vocabulary="))
    keys = ["captioner", "classifier"]
    wide = lic[lic["metric"] != "LIC_M"].pivot(
        index=keys, columns=["metric", "vocabulary"], values="mean"
    )
    wide.columns = [f"{metric}, {vocabulary}" for metric, vocabulary in wide.columns]
    return wide.reset_index()


SEEN = {
    "all captions": ("score", "n_test"),
    "unseen, as written": ("unseen_raw_score", "n_unseen_raw"),
    "unseen, masked": ("unseen_score", "n_unseen"),
}


def unseen_table(
    runs: pd.DataFrame, source: str, attribute: str, split: str = "paired"
) -> pd.DataFrame:
    """LIC_M, LIC_D and LIC by captioner, classifier and definition of unseen, from run summaries."""
    kept = select(runs, split=split, caption_set=["standard", "th10"], attribute=attribute)
    if split == "upstream" and "th10" in set(kept["caption_set"]):  # what Türk et al. read for NIC
        kept = kept[(kept["captioner"] != "nic") | (kept["caption_set"] == "th10")]
    kept = kept.assign(captioner=kept["captioner"].map(display_names()))
    rows = []
    for (classifier, name), part in kept.groupby(["classifier", "captioner"], sort=False):
        model, human = (part[part["side"] == side] for side in ("model", "human"))
        for label, (score, count) in SEEN.items():
            by_seed = model.groupby("seed")[score].mean()
            row = {"source": source, "classifier": classifier, "captioner": name, "series": label}
            row |= {"test captions": model[count].mean(), "LIC_M": by_seed.mean()}
            row["share seen (%)"] = 100 * (1 - (model[count] / model["n_test"]).mean())
            if len(human):
                data = human.groupby("seed")[score].mean()
                found = estimate((by_seed - data).dropna())
                row |= {"LIC_D": data.mean(), **found.interval()._asdict()}
            rows.append(row | {"seeds": found.n if len(human) else len(by_seed)})
    table = pd.DataFrame(rows)
    return (
        table
        if table.empty
        else table.sort_values(
            "captioner", key=lambda c: c.map(in_order(c).index), kind="stable", ignore_index=True
        )
    )


def grouped_table(runs: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """Recorded LIC on splits that keep identical captions on one side: every test caption is unseen."""
    table = unseen_table(runs, RECORDED, attribute, split="grouped")
    if table.empty:
        return table
    kept = table[(table["series"] == "all captions") & table["mean"].notna()]
    return kept.drop(columns=["series", "share seen (%)"])


def grouped_sentence(table: pd.DataFrame) -> str:
    """What that table says; the splits are few, and uneven."""
    if table.empty:
        return ""
    mean, wide = table["mean"].mean(), (table["high"] - table["low"]).max()
    open_ = ": too wide to confirm or deny the drop" if wide > mean else ""
    return (
        f"Splits that keep identical captions on one side ({table['seeds'].min()} of them) give a mean LIC of {mean:.1f}, with intervals up to "
        f"{wide:.0f} points wide{open_}."
    )


def unseen_sentence(table: pd.DataFrame, attribute: str) -> str:
    """What is left of LIC on unseen captions, in words."""
    linear = table[(table["classifier"] == MAIN) & table["mean"].notna()]
    wide = linear.pivot_table(index="captioner", columns="series", values="mean", sort=False)
    seen = linear[linear["series"] == "unseen, masked"]["share seen (%)"]
    every, unseen = wide["all captions"], wide["unseen, masked"]
    return (
        f"- **{attribute}**: {seen.min():.0f} to {seen.max():.0f} % of a captioner's test captions were seen in training "
        f"(masked). Mean LIC {every.mean():.1f} on all captions, {unseen.mean():.1f} on unseen ones; above 0 for "
        f"{(every > 0).sum()} and for {(unseen > 0).sum()} of {len(every)} captioners."
    )


def unseen_papers(runs: pd.DataFrame) -> pd.DataFrame:
    """Türk et al.'s table 5 beside the same splits of ours: how many test captions are unseen."""
    ours = unseen_table(runs[runs["source"] == RECORDED], RECORDED, "gender", split="upstream")
    linear = ours[ours["classifier"] == MAIN].set_index(["captioner", "series"])
    rows = []
    for row in published("unseen_captions").to_dict("records"):
        name = row["captioner"]
        told = {
            "captioner": name,
            "their unseen": row["unseen"],
            "their LIC_M, unseen": row["lic_m"],
        }
        if (name, "unseen, as written") in linear.index:
            raw, masked = (
                linear.loc[(name, key)] for key in ("unseen, as written", "unseen, masked")
            )
            told |= {
                "ours, as written": raw["test captions"],
                "ours, masked": masked["test captions"],
            }
            told |= {"our LIC_M, unseen (linear)": raw["LIC_M"]}
        rows.append(told)
    return pd.DataFrame(rows)


def masked_images(runs: pd.DataFrame) -> pd.DataFrame:
    """LIC_M of SAT and OSCAR by what is masked in the image, on the images all sets share."""
    kept = select(runs, caption_set=list(IMAGES), source=RECORDED, classifier=MAIN)
    if kept.empty:
        raise RelicError(
            "no runs on masked images are recorded",
            expected="gender: upstream masked the images for gender only",
            mend="relic sweep --captioner sat,oscar --side model --caption-set masked_obj, then relic results publish",
        )
    rows = []
    for captioner in kept["captioner"].unique():
        part = kept[kept["captioner"] == captioner]
        wide = part.pivot_table(index="seed", columns="caption_set", values="score")
        for key, label in IMAGES.items():
            if key in wide:
                found = estimate(wide[key].dropna())
                drop: Estimate = estimate((wide[key] - wide["unmasked"]).dropna())
                row = {
                    "series": display_names()[captioner],
                    "images": label,
                    **found.interval()._asdict(),
                }
                row |= {
                    "change": drop.mean,
                    "change low": drop.interval().low,
                    "change high": drop.interval().high,
                }
                n = part.loc[part["caption_set"] == key, "n_test"].mean()
                rows.append(row | {"seeds": found.n, "test images": round(n)})
    return pd.DataFrame(rows)


def masked_sentence(table: pd.DataFrame) -> str:
    """Where the leak comes from, in words."""
    by = table.pivot(index="series", columns="images", values="change")
    person, objects = by["person masked"], by["objects masked"]
    lead = "Both." if (person >= objects).any() and (person < objects).any() else "From the things around, mostly."  # fmt: skip
    lead = "From the person, mostly." if (person < objects).all() else lead
    lines = [
        f"**{lead}** Masking the person lowers LIC_M by {-person.max():.1f} to {-person.min():.1f} points, masking the "
        f"objects by {-objects.max():.1f} to {-objects.min():.1f} (COCO captions, gender, linear, {table['seeds'].min()} splits of "
        f"{table['test images'].min()} to {table['test images'].max()} test images).\n"
    ]
    for name, part in table.groupby("series", sort=False):
        by = part.set_index("images")
        told = [
            f"{label} {by.loc[label, 'mean']:.1f} ({by.loc[label, 'change']:+.1f}, 95 % "
            f"{by.loc[label, 'change low']:+.1f} to {by.loc[label, 'change high']:+.1f})"
            for label in ("objects masked", "person masked", "objects and person masked")
            if label in by.index
        ]
        lines.append(
            f"- **{name}**: LIC_M {by.loc['whole image', 'mean']:.1f} on whole images; {'; '.join(told)}."
        )
    return "\n".join(lines)
