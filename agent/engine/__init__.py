"""Plans, makes so, remembers, takes back. There is no second way to change a machine."""
