"""`relic audit`: your own captions, labels and human captions, read and measured."""
