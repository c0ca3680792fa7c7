"""The code that the scripts share: child processes, the command line of the daemon, and a minimal HTTP client."""
