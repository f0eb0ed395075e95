"""Our reading of Ignition documents against Ignition's own."""
