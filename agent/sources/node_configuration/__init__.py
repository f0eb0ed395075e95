"""Our own NodeConfiguration, the key `node.yaml` of a ConfigMap, compiled into what a Windows node should be.

`reading.read_data` takes the ConfigMap's data, `compiling.chosen` those of its documents that are for a node,
`model.turn` says when, and `compiling.compile_node` what the node is then.
"""
