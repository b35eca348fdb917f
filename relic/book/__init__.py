"""The build: execute the notebooks of a profile, compile the book."""
