"""Abuse of a daemon beside a bystander: what single clients may try, and what the others must not notice of it."""
