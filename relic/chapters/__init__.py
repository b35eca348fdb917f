"""One module or folder a chapter: its tables and figures."""
