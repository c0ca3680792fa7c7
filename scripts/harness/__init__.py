"""What the programs of this folder share: starting services, the daemon's command line, raw HTTP."""
