"""The embedded corpus: synthetic captions whose true LIC is known. Always called synthetic."""

from relic.data.planted.corpus import PlantedCorpus, planted_corpus
from relic.data.planted.process import CAPTIONERS, PlantedCaptioner, bayes_score

__all__ = ["CAPTIONERS", "PlantedCaptioner", "PlantedCorpus", "bayes_score", "planted_corpus"]
