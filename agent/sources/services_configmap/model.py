"""What a services ConfigMap says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent.secret_fields import registers_secrets
from agent.sources.report import Place
from agent.sources.services_configmap.json_path import JsonPath

NAME_PREFIX = "windows-services-"
"""Of the ConfigMap's name; the version follows that a Node's annotation asks for."""
DESIRED_VERSION = "windowsmachineconfig.openshift.io/desired-version"
VERSION = "windowsmachineconfig.openshift.io/version"
REBOOT_REQUIRED = "windowsmachineconfig.openshift.io/reboot-required"
MANAGED = "OpenShift managed"
"""In the description of each service, by which the operator and its clean-up know their own."""


@dataclass(frozen=True, slots=True)
class NodeVariable:
    name: str
    """In the command: each place where it stands becomes the value."""
    path: JsonPath
    place: Place
    """Where it was said."""


@dataclass(frozen=True, slots=True)
class PreScript:
    text: str
    """A file or any other text that PowerShell takes as a command."""
    variable: str
    """Becomes what the script prints; empty where that is of no use."""
    arguments: tuple[NodeVariable, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class WindowsService:
    name: str
    command: str
    node_variables: tuple[NodeVariable, ...]
    pre_scripts: tuple[PreScript, ...]
    dependencies: tuple[str, ...]
    bootstrap: bool
    """Wanted before the machine is a Node; so nothing in its command comes from there."""
    priority: int
    place: Place


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """Put there by somebody else, and to be looked at only."""

    path: PureWindowsPath
    sha256: str


@registers_secrets
@dataclass(frozen=True, slots=True)
class ServicesConfigMap:
    name: str
    services: tuple[WindowsService, ...] = ()
    """In the order in which they are to start."""
    files: tuple[ExpectedFile, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    watched: tuple[str, ...] = ()
    """Names of the variables that are the operator's, whether they have a value now or not."""

    @property
    def absent(self) -> tuple[str, ...]:
        """Return the watched variables without a value: the machine is not to have them."""
        have = {name.upper() for name in self.environment}
        return tuple(name for name in self.watched if name.upper() not in have)

    def bootstrap_services(self) -> tuple[WindowsService, ...]:
        return tuple(service for service in self.services if service.bootstrap)
