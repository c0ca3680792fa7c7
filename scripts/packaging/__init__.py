"""What scripts/package makes: manual pages, completions, the tree of files, and packages of it."""
