"""Runs abusive clients against a daemon, and measures how much they delay a well-behaved client, the bystander."""
