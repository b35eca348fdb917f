"""RELIC: do image captioners amplify the bias of their training captions, and how sure can we be?

What a notebook may import: the names below, and its chapter (`relic.chapters`). They are loaded when
first asked for, so that `import relic` and `relic --help` wait for nothing.
"""

from importlib import import_module

__version__ = "0.2.0"

_HOMES = {
    "relic.auditing.audit": ("audit", "lic"),
    "relic.chapters.figures": ("forest",),
    "relic.data.attribute": ("load_attribute",),
    "relic.data.captioners": ("display_names", "in_order"),
    "relic.data.corpus": ("Corpus",),
    "relic.errors": ("RelicError",),
    "relic.judge.claims": ("agreement", "amplification", "equalizer", "gender_minus_race", "less_than_gender",
                           "mean_less_than_gender", "same_order", "verdict"),
    "relic.judge.lic": ("difference", "estimates", "intervals", "lic_table", "mean_over_captioners", "model_table"),
    "relic.measure.inputs": ("masked",),
    "relic.measure.runs": ("train",),
    "relic.measure.score": ("caption_scores", "lic_score"),
    "relic.numbers": ("count", "number", "span"),
    "relic.page": ("Page",),
    "relic.records.evidence": ("judge_all", "papers", "spreadsheet"),
    "relic.records.serve": ("load_corpus", "readable", "recorded", "runs", "splits"),
    "relic.records.tables": ("published",),
}  # fmt: skip
_PLACE = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["__version__", *sorted(_PLACE)]


def __getattr__(name: str):
    """Load a name when it is first asked for."""
    if name not in _PLACE:
        raise AttributeError(f"module 'relic' has no attribute {name!r}")
    found = getattr(import_module(_PLACE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
