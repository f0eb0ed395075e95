"""What on the machine comes of the cluster's Nodes."""

PART = "routed"
"""Of what is on the machine, its pods' network and the routes to those of other nodes."""
