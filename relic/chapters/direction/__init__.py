"""Which way captions err: misgendering, silence and BiasAmp over objects."""
