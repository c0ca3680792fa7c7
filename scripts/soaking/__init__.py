"""The parts of scripts/soak: the runs of the daemon, the clients of each kind, and the growth of memory and descriptors."""
