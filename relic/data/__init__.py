"""Captions, labels and where they come from."""
