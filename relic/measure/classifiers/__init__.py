"""Attribute classifiers behind one interface: captions and classes in, logits of class 1 out."""
