"""From captions to runs: text, splits, classifiers, scores, and many of them at once."""
