"""The Gender Score (Sabir & Padró 2023): objects, gender and belief revision, for any captions."""

from relic.chapters.gender_score.prior import load_prior
from relic.chapters.gender_score.score import (
    belief_revision,
    contexts,
    ratio_to_men,
    score_captions,
)
from relic.chapters.gender_score.vectors import load_encoder

__all__ = [
    "belief_revision",
    "contexts",
    "load_encoder",
    "load_prior",
    "ratio_to_men",
    "score_captions",
]
