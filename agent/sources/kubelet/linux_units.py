"""What other units of a Linux worker would have written before its kubelet starts, and Windows' answer.

A machine config leaves gaps for what only the machine itself knows: units that run earlier fill them with
environment files and drop-ins. They do not run on Windows, so what they would have written is given here, or
whoever needs it is told which of them is missing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agent.sources.kubelet.decisions import About, Decision, Outcome
from agent.sources.kubelet.node import Node
from agent.sources.systemd.environment import read_file

_NODE_IP = "nodeip-configuration.service"
_NODE_SIZE = "kubelet-auto-node-size.service"
_NODE_NAME = "the platform's kubelet-nodename.service"

WRITTEN_BY = {
    "KUBELET_NODE_IP": _NODE_IP,
    "KUBELET_NODE_IPS": _NODE_IP,
    "KUBELET_NODE_NAME": _NODE_NAME,
    "KUBELET_PROVIDERID": "the platform's kubelet-providerid.service",
    "SYSTEM_RESERVED_CPU": _NODE_SIZE,
    "SYSTEM_RESERVED_ES": _NODE_SIZE,
    "SYSTEM_RESERVED_MEMORY": _NODE_SIZE,
    "CUSTOM_KUBELET_LABELS": "an administrator in /etc/kubernetes/kubelet-env",
    "KUBELET_LOG_LEVEL": "the drop-in 20-logging.conf",
    "KUBELET_CRIO_IMAGE_CREDENTIAL_PROVIDER_FLAGS": "a drop-in for CRI-O's credential provider",
    "ID": "/etc/os-release",
    "VERSION_ID": "/etc/os-release",
}

_OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")
_SIZING = "/etc/node-sizing.env"
_SIZING_INPUT = "/etc/node-sizing-enabled.env"
WRITTEN_LATER = (
    *_OS_RELEASE,
    _SIZING,
    "/etc/kubernetes/node.env",
    "/run/kubelet-alibaba.env",
    "/run/kubens/env",
)
"""Environment files that no document carries, since a unit or the system itself writes them."""

_RESERVED = {
    "SYSTEM_RESERVED_CPU": "cpu",
    "SYSTEM_RESERVED_ES": "ephemeral-storage",
    "SYSTEM_RESERVED_MEMORY": "memory",
}
_ANY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 (compared with, not listened on)


@dataclass(slots=True)
class Answers:
    variables: dict[str, str]
    """The environment as the units and the node together make it."""
    asked: frozenset[str]
    """The variables that the command line names; the others need no answer."""
    decisions: list[Decision] = field(default_factory=list)

    def give(self, name: str, value: str, reason: str) -> None:
        before = self.variables.get(name)
        if name not in self.asked or before == value:
            return
        outcome = Outcome.ADDED if before is None else Outcome.CHANGED
        decision = Decision(About.VARIABLE, name, outcome, reason, before or "", value)
        self.decisions.append(decision)
        self.variables[name] = value


def why_unset(name: str) -> str:
    """For whatever is dropped because nobody has set the variable."""
    by = WRITTEN_BY.get(name)
    return f"{name} has no value here; on Linux {by} sets it" if by else f"{name} has no value"


def answer(
    variables: Mapping[str, str],
    asked: frozenset[str],
    read: frozenset[str],
    carried: Mapping[str, bytes],
    node: Node,
) -> Answers:
    """`variables` is what the unit and the carried files set, `read` the environment files it names."""
    answers = Answers(dict(variables), asked)
    if read.intersection(_OS_RELEASE):
        answers.give("ID", "Windows", "as /etc/os-release would say")
        if node.os_version:
            answers.give("VERSION_ID", node.os_version, "as /etc/os-release would say")
    if _SIZING in read:
        for name, amount in reserved(carried, node):
            if not answers.variables.get(name):
                answers.give(name, amount, f"in place of {_NODE_SIZE}")
    _addresses(answers, node)
    if node.name:
        answers.give("KUBELET_NODE_NAME", node.name, f"in place of {_NODE_NAME}")
    if node.provider_id:
        answers.give(
            "KUBELET_PROVIDERID", node.provider_id, f"in place of {WRITTEN_BY['KUBELET_PROVIDERID']}"
        )
    return answers


def _addresses(answers: Answers, node: Node) -> None:
    for name in ("KUBELET_NODE_IP", "KUBELET_NODE_IPS"):
        before = answers.variables.get(name, "")
        found = node.addresses or (node.found_addresses if before in _ANY_ADDRESS else ())
        # Where the document says ::, the node's first address is to be the one of IPv6.
        ordered = sorted(found, key=lambda address: ":" not in address) if before == "::" else list(found)
        if ordered:
            value = ordered[0] if name == "KUBELET_NODE_IP" else ",".join(ordered)
            answers.give(name, value, f"in place of {_NODE_IP}")


def reserved(carried: Mapping[str, bytes], node: Node) -> Iterator[tuple[str, str]]:
    """Each variable of node-sizing.env, as far as its value is known.

    On Linux a script may work it out from the machine's size; here it is what that script is given to start
    from, and at least what Windows itself needs.
    """
    given = {name: variable for name, variable in _sizing(carried).items() if variable}
    for name, resource in _RESERVED.items():
        if amount := given.get(name, node.reserved.get(resource, "")):
            yield name, amount


def _sizing(carried: Mapping[str, bytes]) -> dict[str, str]:
    if _SIZING_INPUT not in carried:
        return {}
    variables, _ = read_file(_SIZING_INPUT, carried[_SIZING_INPUT])
    return {variable.name: variable.value for variable in variables}


def sizing_drop_in(carried: Mapping[str, bytes], node: Node) -> dict[str, str]:
    """What newer machine configs' script writes into the drop-in 20-auto-sizing.conf: systemReserved."""
    if _SIZING_INPUT not in carried:
        return {}
    return {_RESERVED[name]: amount for name, amount in reserved(carried, node)}
