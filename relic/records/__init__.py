"""What `results/` holds and what the papers print: written, read, checked."""
