"""How one thing that is wanted names another."""

from collections.abc import Iterator
from pathlib import PureWindowsPath

from agent.documents import Value
from agent.sources.forms import Fields, items, mapping, text
from agent.sources.node_configuration.kinds import values
from agent.spec import Key

_FORMS = {
    "file": values.path_form("The file of this path."),
    "directory": values.path_form("The folder of this path."),
    "service": values.service_name_form("The service of this name."),
    "environmentVariable": values.VARIABLE,
    "command": values.name_form("The command of this name."),
    "network": values.name_form("The container network of this name."),
    "containerdConfiguration": values.path_form("containerd's configuration file of this path."),
    "windowsFeature": values.FEATURE,
}
_KINDS = {
    "environmentVariable": "environment_variable",
    "network": "hns_network",
    "containerdConfiguration": "containerd_configuration",
    "windowsFeature": "windows_feature",
}
"""Of the specification, where its name is another."""
_BY_PATH = ("file", "directory", "containerdConfiguration")

REFERENCE = Fields(_FORMS, "Something else that is wanted of the node.", exactly_one=tuple(_FORMS))


def references(given: Value) -> Iterator[Key]:
    for reference in map(mapping, items(given)):
        for field, value in reference.items():
            name = text(value)
            yield Key(_KINDS.get(field, field), str(PureWindowsPath(name)) if field in _BY_PATH else name)
