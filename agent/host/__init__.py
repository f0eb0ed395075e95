"""The one door to the machine: a port (port.py) and its two implementations, windows and sandbox."""
