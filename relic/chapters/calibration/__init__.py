"""Is LIC right? Studies on corpora whose true LIC is known."""
