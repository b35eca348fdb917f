"""The Gender Score (Sabir & Padró 2023): objects, gender and belief revision, for any captions."""

from relic.gender_score.formula import (
    belief_revision,
    leakage,
    ratio_to_men,
    ratio_to_neutral,
    truncated,
)
from relic.gender_score.prior import load_prior
from relic.gender_score.score import cloze, cooccurrence, estimated, score_captions
from relic.gender_score.vectors import load_encoder
from relic.gender_score.visual import contexts, named_objects, read_objects
from relic.gender_score.wording import gender_of, masked, several, with_person

__all__ = [
    "belief_revision", "cloze", "contexts", "cooccurrence", "estimated", "gender_of", "leakage",
    "load_encoder", "load_prior", "masked", "named_objects", "ratio_to_men", "ratio_to_neutral",
    "read_objects", "score_captions", "several", "truncated", "with_person",
]  # fmt: skip
