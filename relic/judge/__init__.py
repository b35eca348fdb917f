"""From runs to verdicts: the subtraction, statistics, the rule."""
