"""The subcommands of `relic`; `relic/cli.py` puts them together. Each imports what it needs when called."""
