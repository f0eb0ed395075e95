"""One module a kind of thing a node has. Resources speak to the host's port, never to an implementation."""
