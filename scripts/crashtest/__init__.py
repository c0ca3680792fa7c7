"""Crash tests: the load on a daemon, the ledger of acknowledged and observed values, and the checks after the next start."""
