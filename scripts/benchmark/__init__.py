"""Benchmarks that compare the daemon with other servers: the servers, the load generators, and the groups of rows."""
