"""The daemon measured beside its peers: who takes part, how load is made, what is compared."""
