r"""Where a machine says that its pods' network and the routes to other nodes' come of the Nodes.

What its own network and the others' are the cluster knows, and no document: so the document's word is kept
on the machine as it stands, a value of the registry, and the resident service goes by it.
"""

from agent.spec.want import Key

POD_NETWORK = Key("registry_value", "HKLM\\SOFTWARE\\wmcb\\\\PodNetwork")
"""Its text is a JSON object."""
