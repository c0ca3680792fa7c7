"""The parts of scripts/package: the manual pages, the shell completions, the installed files, and the archives."""
