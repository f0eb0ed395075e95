"""Our own NodeConfiguration, the key `node.yaml` of a ConfigMap, compiled into what a Windows node should be.

`read_data` takes the ConfigMap's data, `chosen` those of its documents that are for a node, `turn` says when,
and `compile_node` what the node is then.
"""

from agent.sources.node_configuration.compiling import Compiled, chosen, compile_node, maintenance
from agent.sources.node_configuration.model import (
    LOG_RUNNER,
    Maintenance,
    NodeConfiguration,
    Nodes,
    Obtain,
    OwnProgram,
    Rollout,
    Source,
    Unobtainable,
)
from agent.sources.node_configuration.reading import DATA_KEY, Outcome, read, read_data
from agent.sources.node_configuration.rollout import Turn, turn
from agent.sources.node_configuration.schema import API, KIND

__all__ = [
    "API",
    "DATA_KEY",
    "KIND",
    "LOG_RUNNER",
    "Compiled",
    "Maintenance",
    "NodeConfiguration",
    "Nodes",
    "Obtain",
    "Outcome",
    "OwnProgram",
    "Rollout",
    "Source",
    "Turn",
    "Unobtainable",
    "chosen",
    "compile_node",
    "maintenance",
    "read",
    "read_data",
    "turn",
]
