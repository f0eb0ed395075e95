"""Our own NodeConfiguration, the key `node.yaml` of a ConfigMap, compiled into what a Windows node should be.

`read` takes its bytes, `chosen` those of its documents that are for a node, `turn` says when, and
`compile_node` what the node is then.
"""

from agent.sources.node_configuration.compiling import Compiled, chosen, compile_node, maintenance
from agent.sources.node_configuration.model import (
    Maintenance,
    NodeConfiguration,
    Nodes,
    Obtain,
    Rollout,
    Source,
    Unobtainable,
)
from agent.sources.node_configuration.reading import Outcome, read
from agent.sources.node_configuration.rollout import Turn, turn
from agent.sources.node_configuration.schema import API, KIND

DATA_KEY = "node.yaml"
"""Of the ConfigMap's data."""

__all__ = [
    "API",
    "DATA_KEY",
    "KIND",
    "Compiled",
    "Maintenance",
    "NodeConfiguration",
    "Nodes",
    "Obtain",
    "Outcome",
    "Rollout",
    "Source",
    "Turn",
    "Unobtainable",
    "chosen",
    "compile_node",
    "maintenance",
    "read",
    "turn",
]
