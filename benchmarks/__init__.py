"""What `relic bench` measures: not installed, part of the repository."""
