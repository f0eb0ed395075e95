"""The typed node specification. Nothing in here does I/O, and nothing in here imports a host."""
