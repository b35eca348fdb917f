"""Is LIC right? Null checks, and studies on corpora whose true LIC is known."""
