"""The report of an audit, section by section, as HTML that any page can hold. All text is escaped."""

import html
from collections.abc import Iterator
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from relic.auditing.measure import SYMBOLS
from relic.auditing.result import Result
from relic.chapters.accuracy.scores import METRICS, java_problem
from relic.chapters.direction.measure import HUMAN, SILENT, WRONG_OF_NAMED
from relic.chapters.figures import forest
from relic.judge.claims import MARGIN
from relic.numbers import span
from relic.page import figure_html, table_html

FILES = "80_your_captions_"  # begins the name of every table's CSV, as on other pages
NOT_ASKED = "<p>Not computed: caption metrics were not asked for (<code>accuracy</code>), and no objects were given.</p>"
CITATION = (
    "Please cite the metric (Hirota, Nakashima & Garcia, Quantifying Societal Bias Amplification in Image "
    "Captioning, CVPR 2022) and this software (CITATION.cff)."
)


class Section(NamedTuple):
    """A part of the report."""

    name: str
    title: str
    html: str


def sections(audit: Result) -> list[Section]:
    """All that were measured, the answer first."""
    made = [
        Section("verdict", "Verdict", verdict(audit)),
        Section("cautions", "Before you use these numbers", cautions(audit)),
        Section("lic", "LIC", lic(audit)),
        Section("classifier", "Can a classifier tell?", classifier(audit)),
        Section("words", "Words that give the attribute away", words(audit)),
        Section("naming", "Which way it errs", naming(audit)),
        Section("accuracy", "How well it describes", accuracy(audit)),
        Section("gender_score", "Gender Score", gender_score(audit)),
        Section("data", "What was read", data(audit)),
        Section("method", "Method and limits", method(audit)),
        Section("provenance", "Provenance", provenance(audit)),
    ]
    return [each for each in made if each.html]


def about(audit: Result) -> str:
    """Corpus, attribute and size, as every table's caption begins."""
    corpus = audit.audited.corpus
    return f"{corpus.title}, {corpus.attribute.name}, {len(audit.audited.images):,} images"


def verdict(audit: Result) -> str:
    """One box a captioner and classifier."""
    boxes = ""
    for row in audit.results:
        unseen = row["unseen"]
        more = ""
        if not np.isnan(unseen["lic"]):
            more = (
                f"On test captions that the training side does not hold already ({unseen['n_test']:.0f} a split): "
                f"LIC {span(unseen['lic'], unseen['low'], unseen['high'])}, {unseen['verdict']}."
            )
        kind = row["verdict"].replace(" ", "-")
        boxes += (
            f'<div class="relic-verdict {kind}"><p><strong>{SYMBOLS[row["verdict"]]} {_text(row["verdict"])}</strong> '
            f"<span>{_text(row['captioner'])} · {_text(row['attribute'])} · {_text(row['classifier'])}</span></p>"
            f"<p>{_text(row['sentence'])}</p><p>{_text(more)}</p></div>"
        )
    return boxes


def cautions(audit: Result) -> str:
    """A list of warnings."""
    if not audit.cautions:
        return "<p>Nothing stands out: enough test images, balanced enough, masked words found.</p>"
    return (
        f'<ul class="relic-cautions">{"".join(f"<li>{_text(c)}</li>" for c in audit.cautions)}</ul>'
    )


def lic(audit: Result) -> str:
    """Figure and tables of LIC, the papers' captioners beside."""
    shown = figure_html(lic_figure(audit).figure, _alt(audit), _figure_caption(audit))
    plt.close("all")
    shown += table_html(lic_table(audit), f"{FILES}lic.csv", f"{about(audit)}. LIC in percentage points: LIC_M of generated captions less LIC_D of human ones, means over splits; 95 % intervals over splits, and over test images.")  # fmt: skip
    if len(audit.measured.differences):
        pairs = audit.measured.differences.rename(columns={"low": "95 % low", "high": "95 % high", "n_seeds": "splits"})  # fmt: skip
        shown += table_html(pairs, f"{FILES}differences.csv", f"{about(audit)}. LIC of the first captioner less LIC of the second, on the same splits.", 2)  # fmt: skip
    if len(audit.published):
        shown += table_html(audit.published, f"{FILES}recorded.csv", f"Recorded runs on COCO captions, paired splits: {100 * audit.published_share:.0f} % of the audited images are among their test images. LIC also depends on the number of images: compare with care.")  # fmt: skip
    return shown


def lic_figure(audit: Result) -> plt.Axes:
    """LIC with intervals: audited captioners, standard and unseen; recorded ones below."""
    rows = []
    several = audit.measured.lic["classifier"].nunique() > 1
    for each in audit.results:
        name = f"{each['captioner']}, {each['classifier']}" if several else each["captioner"]
        for series, found in (("all test captions", each), ("unseen captions only", each["unseen"])):  # fmt: skip
            rows.append((_short(name), series, found["lic"], found["low"], found["high"]))
    for each in audit.published.to_dict("records"):
        name = f"{each['captioner']}, {each['classifier']}" if several else each["captioner"]
        rows.append((f"recorded: {name}", "all test captions", each["lic"], each["low"], each["high"]))  # fmt: skip
    frame = pd.DataFrame(rows, columns=["captioner", "captions", "lic", "low", "high"])
    return forest(frame, series="captions", xlabel="LIC, percentage points")


def lic_table(audit: Result) -> pd.DataFrame:
    """The numbers behind the verdicts."""
    rows = []
    for each in audit.results:
        for captions, found in (("all", each), ("unseen", each["unseen"])):
            rows.append(
                {
                    "captioner": each["captioner"], "classifier": each["classifier"], "captions": captions,
                    "LIC_M": found["lic_model"], "LIC_D": found["lic_data"], "LIC": found["lic"],
                    "95 % low": found["low"], "95 % high": found["high"],
                    "images low": each["image_low"] if captions == "all" else np.nan,
                    "images high": each["image_high"] if captions == "all" else np.nan,
                    "verdict": found["verdict"], "test images": np.round(found["n_test"]), "splits": each["n_seeds"],
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def classifier(audit: Result) -> str:
    """Accuracy, AUC and the chance level."""
    chance = audit.measured.chance.set_index(["classifier", "captioner"])
    rows = []
    for each in audit.results:
        key = (each["classifier"], each["captioner"])
        learnt = chance.loc[key] if key in chance.index else {"mean": np.nan, "std": np.nan}
        rows.append(
            {
                "captioner": each["captioner"], "classifier": each["classifier"],
                "accuracy": each["accuracy"], "accuracy, human": each["accuracy_human"],
                "AUC": each["auc"], "AUC, human": each["auc_human"], "LIC_M": each["lic_model"],
                "LIC_M, permuted labels": learnt["mean"], "std": learnt["std"],
                "smallest LIC found in 80 %": each["detectable"],
            }
        )  # fmt: skip
    return table_html(
        pd.DataFrame(rows), f"{FILES}classifier.csv",
        f"{about(audit)}. How well the classes are told from masked captions, in percent; 50 is chance for accuracy "
        f"and AUC. Permuted labels: the score where nothing can be learnt.",
    )  # fmt: skip


def words(audit: Result) -> str:
    """Telling words with example captions."""
    if audit.words.empty:
        return ""
    first, second = audit.audited.corpus.attribute.classes
    table = table_html(
        audit.words.drop(columns="std over splits"),
        f"{FILES}words.csv",
        f"{about(audit)}. Largest weights of the linear classifier (above 0 speaks for {second}, below for {first}); "
        f"percent of {first} and {second} images whose caption holds the word, generated and human.",
        2,
    )
    return f'<div class="relic-words">{table}</div>'


def naming(audit: Result) -> str:
    """Misgendering and neutral rate together: an always-neutral captioner must not look perfect."""
    if audit.naming.empty:
        return ""
    kept = audit.naming[audit.naming["outcome"].isin(["right", "wrong", "neutral", WRONG_OF_NAMED])]
    kept = kept[(kept["captioner"] != SILENT) & (kept["label"] != "gap")]
    wide = kept.pivot_table(index=["captioner", "label"], columns="outcome", values="value", sort=False)  # fmt: skip
    bounds = kept[kept["outcome"] == WRONG_OF_NAMED].set_index(["captioner", "label"])
    table = wide.assign(low=bounds["low"], high=bounds["high"], images=bounds["n"]).reset_index()
    table = table.rename(columns={"low": "95 % low", "high": "95 % high"})
    return table_html(
        table, f"{FILES}naming.csv",
        f"{about(audit)}. Percent of captions that name the right class, the wrong one, none; `{WRONG_OF_NAMED}`: of those "
        f"that name one class, with a 95 % interval over images. {HUMAN}: all human captions.",
    )  # fmt: skip


def accuracy(audit: Result) -> str:
    """Caption metrics."""
    if audit.accuracy.empty:
        return ""
    order = [name for name in METRICS if name in set(audit.accuracy["metric"])]
    table = audit.accuracy.set_index("metric").loc[order].reset_index()
    table = table.rename(columns={"low": "95 % low", "high": "95 % high", "n": "images"})
    problem = java_problem()
    left_out = f"; METEOR is left out: {problem}" if problem else ""
    line = f"pycocoevalcap on {table['tokenizer'].iloc[0]} tokens{left_out}."
    columns = ["captioner", "metric", "value", "95 % low", "95 % high", "images"]
    return table_html(table[columns].sort_values("captioner", kind="stable"), f"{FILES}accuracy.csv", f"{about(audit)}. {line} Times 100; intervals over images.")  # fmt: skip


def gender_score(audit: Result) -> str:
    """The Gender Score's table, where objects were given."""
    if audit.gender_score.empty:
        return ""
    return table_html(audit.gender_score, f"{FILES}gender_score.csv", f"{about(audit)}. Gender Score (Sabir & Padró 2023) on images whose objects are known; `to_m`: ratio to men, 0.5 is even.", 3)  # fmt: skip


def data(audit: Result) -> str:
    """Coverage, duplicates and what was understood on reading."""
    told = audit.audited
    counts = told.corpus.label_counts(told.images)
    classes = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    runs = audit.measured.runs[(audit.measured.runs["side"] == "model") & (audit.measured.runs["labels"] == "true")]  # fmt: skip
    seen = 100 * (1 - runs.groupby("captioner")["n_unseen"].sum() / runs.groupby("captioner")["n_test"].sum())  # fmt: skip
    table = told.coverage.assign(**{"test captions also in training, %": told.coverage["captioner"].map(seen)})  # fmt: skip
    shown = table_html(table, f"{FILES}coverage.csv", f"{about(audit)} have a label, human captions and every captioner's caption ({classes}); {told.captions_an_image} human captions an image.")  # fmt: skip
    notes = "".join(f"<li>{_text(note)}</li>" for note in told.notes)
    return shown + (f"<p>On reading the files:</p><ul>{notes}</ul>" if notes else "")


def method(audit: Result) -> str:
    """Plain words: what LIC is, how we decide, what it cannot say."""
    split, attribute = audit.options["split"], audit.audited.corpus.attribute
    words = ", ".join(sorted(attribute.masked_words)[:12]) or "none"
    return "".join(
        f"<p>{_text(text)}</p>"
        for text in (
            f"Words that state the attribute are masked ({len(attribute.masked_words)} words: {words}, …). A classifier "
            f"then guesses {attribute.classes[0]} or {attribute.classes[1]} from what is left. LIC_M is the mean confidence of "
            "its right guesses on the captioner's test captions, LIC_D the same on human captions of the same images, whose "
            "words outside the captioner's vocabulary are made unknown. LIC = LIC_M − LIC_D; above 0 the captioner gives "
            "the attribute away more than humans do.",
            f"Splits: {split}; one in ten images tests, classes balanced. The interval is the corrected resampled t interval "
            f"(Nadeau & Bengio 2003). `amplifies`: the whole 95 % interval is above 0. `does not amplify`: the whole interval "
            f"is below {MARGIN:g} point. Otherwise undecided, which is no proof of absence.",
            "LIC is no proper score: an over-confident classifier, a small corpus or many repeated captions move it. It does "
            "not say which way a captioner errs, nor why. Labels are other people's perception of two classes; they are not "
            "anyone's identity. Do not use this report to label people in images.",
        )
    )  # fmt: skip


def provenance(audit: Result) -> str:
    """Files by hash, versions, citation."""
    told = dict(audit.provenance)
    files = told.pop("files", [])
    rows = {
        **{f"{each['role']}": f"{each['file']} (SHA-256 {each['sha256'][:16]}…)" for each in files},
        "options": ", ".join(f"{k} = {v}" for k, v in audit.options.items()),
        "commit": f"{told.get('commit')}{' with uncommitted changes' if told.get('dirty') else ''}",
        "versions": ", ".join(f"{k} {v}" for k, v in told.get("versions", {}).items()),
        "device": told.get("device", ""), "seconds": told.get("seconds", ""),
        "corpus fingerprint": told.get("fingerprint", "")[:16],
    }  # fmt: skip
    cells = "".join(f"<tr><th>{_text(k)}</th><td>{_text(v)}</td></tr>" for k, v in rows.items())
    return f'<div class="relic-provenance scroll"><table class="plain"><tbody>{cells}</tbody></table></div><p>{CITATION}</p>'


def _alt(audit: Result) -> str:
    return "LIC with 95 % intervals: " + "; ".join(_sentences(audit))


def _sentences(audit: Result) -> Iterator[str]:
    return (row["sentence"] for row in audit.results)


def _figure_caption(audit: Result) -> str:
    recorded = " Below: the papers' captioners, our recorded runs." if len(audit.published) else ""
    return f"{about(audit)}. LIC with 95 % intervals over splits; filled: all test captions, open: unseen ones.{recorded}"  # fmt: skip


def _short(name: str, most: int = 32) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _text(value) -> str:
    return html.escape(str(value))
