"""The parts of scripts/bench: the servers, the load generators, and the benchmarks, each of which yields rows of the table."""
