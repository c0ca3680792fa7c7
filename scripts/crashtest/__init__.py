"""Crashes on purpose: load on a daemon, what is known of it, and what must be true after the next start."""
