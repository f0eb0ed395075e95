"""The fields that say what is wanted of a node, by topic: each with its form and what comes of it.

A new one is an entry in its module's KINDS and one in OF_THE_NODE. A module is loaded by the first document
that has one of its fields, so it imports nothing that others would pay for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.sources.node_configuration.kinds.values import Kind

OF_THE_NODE = {
    "directories": "files", "files": "files", "artifacts": "files", "environmentVariables": "machine",
    "pathEntries": "machine", "registryValues": "machine", "proxy": "machine", "hostName": "machine",
    "dnsSuffixes": "machine", "timeService": "machine", "windowsFeatures": "machine",
    "defenderExclusions": "machine", "trustedCertificates": "machine", "firewallRules": "networks",
    "networks": "networks", "routes": "networks", "podNetwork": "networks", "containerPrograms": "services",
    "services": "services", "eventSources": "services", "commands": "services",
    "containerdConfiguration": "files", "cniConfigurations": "cni_configurations",
}  # fmt: skip
"""Each with its module, in the order in which the published schema has them."""
OWN_PROGRAM = "self"
"""What is wanted of wmcb: no kind, and in the module of files."""


def kind_of(field: str) -> Kind:
    kinds: Mapping[str, Kind] = import_module(f"{__name__}.{OF_THE_NODE[field]}").KINDS
    return kinds[field]
