"""Is LIC right? Studies on corpora whose truth is known, and null checks."""
