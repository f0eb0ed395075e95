"""Whether a machine is fit to become a node, asked before anything on it is changed.

Each check has an id that never gets another meaning: people name it to go on in spite of it, and programs
read it. Knows the host's port and what is wanted, and nothing of how that is made so.
"""
