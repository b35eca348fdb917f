"""Attribute classifiers behind one interface: captions and classes in, logits of class 1 out."""

from relic.measure.classifiers.base import CLASSIFIERS, Classifier, TextForm, classifier

__all__ = ["CLASSIFIERS", "Classifier", "TextForm", "classifier"]
