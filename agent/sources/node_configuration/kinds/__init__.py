"""The fields that say what is wanted of a node: each in a module of its name, its form and what comes of it.

A new one is a new module here and its line in OF_THE_NODE. Its module is loaded by the first document that
has the field, so it imports nothing that others would pay for.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.sources.node_configuration.kinds.kind import Kind


OF_THE_NODE = (
    "directories", "files", "artifacts", "environmentVariables", "pathEntries", "registryValues", "proxy",
    "hostName", "dnsSuffixes", "timeService", "windowsFeatures", "defenderExclusions", "trustedCertificates",
    "firewallRules", "networks", "routes", "podNetwork", "containerPrograms", "services", "eventSources",
    "commands", "containerdConfiguration", "cniConfigurations",
)  # fmt: skip
"""In the order in which the published schema has them."""
OWN_PROGRAM = "self"
"""What is wanted of wmcb: no kind, but in a module of its own (own_program) as well."""


@cache
def kind_of(field: str) -> Kind:
    module = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", field)
    kind: Kind = import_module(f"{__name__}.{module}").KIND
    return kind
