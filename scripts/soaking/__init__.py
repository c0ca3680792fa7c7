"""What scripts/soak is made of: the lives of a daemon, callers of every kind, and the slopes of what it takes."""
