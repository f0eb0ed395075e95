"""What `kubeadm config validate` finds wrong with a file of configurations."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.sources.kubeadm.parts import Part, parts
from agent.sources.kubeadm.reading import JOIN, read
from agent.sources.kubeadm.reset_configuration import RESET, read_reset
from agent.sources.kubeadm.schema import GROUP
from agent.sources.kubeadm.upgrade_configuration import UPGRADE, read_upgrade
from agent.sources.kubelet.documents import NotReadable
from agent.sources.report import Entry, Outcome, Report, Severity, quoted

_READERS: Mapping[str, Callable[..., Outcome[Any]]] = {
    JOIN.name: read,
    RESET.name: read_reset,
    UPGRADE.name: read_upgrade,
}
_OF_A_CONTROL_PLANE = ("InitConfiguration", "ClusterConfiguration")
_OF_COMPONENTS = {
    "kubelet.config.k8s.io": "KubeletConfiguration",
    "kubeproxy.config.k8s.io": "KubeProxyConfiguration",
}


def validated(name: str, contents: bytes) -> Report:
    """Read each configuration of a node strictly; what is for a control plane is named and not read."""
    try:
        found = parts(name, contents)
    except NotReadable as fault:
        return Report((fault.entry,))
    reports = [
        reader(name, contents, strictly=True).report
        for kind, reader in _READERS.items()
        if any(part.kind == kind for part in found)
    ]
    others = Report(tuple(_others(found)))
    if not reports and not others.fatal:
        kinds = f"{', '.join([*_READERS][:-1])} or {[*_READERS][-1]}"
        return Report((Entry(Severity.ERROR, f"there is no {kinds} in it", name),))
    return sum(reports, start=others)


def _others(found: tuple[Part, ...]) -> Iterator[Entry]:
    for part in found:
        if part.kind in _READERS:
            continue
        if part.group == GROUP and part.kind in _OF_A_CONTROL_PLANE:
            message = f"a {part.kind} is for a control plane; it is not validated here"
            yield part.document.entry(Severity.WARNING, ("kind",), message)
        elif _OF_COMPONENTS.get(part.group) != part.kind:
            message = f"kubeadm knows no kind {quoted(part.kind)} of {quoted(part.api)}"
            yield part.document.entry(Severity.ERROR, ("kind",), message)
