"""The KubeletConfiguration of a cluster (ConfigMap kube-system/kubelet-config), made that of a Windows node.

As kubeadm does it: its defaults go into what the cluster says, patches apply to that, and the node's own
container runtime has the last word. What a kubelet on Windows has no use for goes only after the patches, so
that a patch finds all that it would find with kubeadm; what it says for this node stays, where Windows can.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.documents import Value
from agent.sources.forms import mapping
from agent.sources.kubeadm import kubeadm_defaults
from agent.sources.kubeadm.cluster import Cluster
from agent.sources.kubeadm.parts import parts
from agent.sources.kubeadm.patches import Patches, patched
from agent.sources.kubelet import configuration
from agent.sources.kubelet.configuration import API_VERSION, KIND, Configuration
from agent.sources.kubelet.decisions import About, Decision, Outcome
from agent.sources.kubelet.documents import NotReadable
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.kubelet.paths import Reference
from agent.sources.report import Entry, Report, Severity, quoted

CONFIG_MAP = "kubelet-config"
KEY = "kubelet"
_NAME = f"ConfigMap kube-system/{CONFIG_MAP}"
_PATCHED = "the kubelet's configuration"

_GROUP = API_VERSION.partition("/")[0]


@dataclass(frozen=True, slots=True)
class NodesOwn:
    """The configuration of this node's kubelet. Not to be used if the report is fatal."""

    report: Report
    value: Mapping[str, Value]
    decisions: tuple[Decision, ...] = ()
    references: tuple[Reference, ...] = ()
    flags: tuple[str, ...] = ()
    """What this kubelet is too old to take from a configuration."""


def nodes_own(
    contents: bytes, cluster: Cluster, patches: Patches, node: Node, kubelet: Kubelet, ca_certificate: str
) -> NodesOwn:
    """`contents` is the ConfigMap's key kubelet, `ca_certificate` where the node has the cluster's CA."""
    try:
        given = given_by_cluster(contents)
    except NotReadable as fault:
        return NodesOwn(Report((fault.entry,)), {})
    on_linux = kubeadm_defaults.with_defaults(given, cluster)
    before = kubeadm_defaults.on_windows_paths(on_linux)
    after, report = patched(before, patches)
    report = patches.report + report
    if report.fatal:
        return NodesOwn(report, {})
    touched = {
        place
        for place in kubeadm_defaults.PATHS
        if kubeadm_defaults.get(before, place) != kubeadm_defaults.get(after, place)
    }
    after = kubeadm_defaults.without_empty_values(after)
    for place in kubeadm_defaults.PATHS:
        if place not in touched:
            # The rules for Windows start from the path on Linux, and tell what became of it.
            kubeadm_defaults.put(after, place, kubeadm_defaults.get(on_linux, place))
    documents, faults = configuration.read_all([(_PATCHED, json.dumps(after).encode())])
    report += faults
    if report.fatal:
        return NodesOwn(report, {})
    node = _asking_no_more_than(node, before, after)
    made = configuration.for_windows(documents, {}, node, kubelet, carries_client_ca=True, is_all=False)
    if kubeadm_defaults.CLIENT_CA not in touched:
        made = _with_our_ca(made, ca_certificate)
    return NodesOwn(report + made.report, made.value, made.decisions, made.references, made.flags)


def given_by_cluster(contents: bytes) -> dict[str, Value]:
    """Raises NotReadable."""
    for part in parts(_NAME, contents):
        if part.group != _GROUP:
            continue
        if part.api != API_VERSION:
            message = f"it is of {quoted(part.api)}; {API_VERSION} is read"
            raise NotReadable(part.document.entry(Severity.ERROR, ("apiVersion",), message))
        if part.kind == KIND:
            return part.document.value
    raise NotReadable(Entry(Severity.ERROR, f"there is no {KIND} in it", _NAME))


def _asking_no_more_than(node: Node, before: Mapping[str, Value], after: Mapping[str, Value]) -> Node:
    """Where a patch says what this node reserves for its system, that is enough."""
    said, now = mapping(before.get("systemReserved")), mapping(after.get("systemReserved"))
    reserved = {name: least for name, least in node.reserved.items() if said.get(name) == now.get(name)}
    return replace(node, reserved=reserved, keeps_linux_pods_away=False)


def _with_our_ca(made: Configuration, ca_certificate: str) -> Configuration:
    """The cluster's CA lies where this join puts it."""
    there = kubeadm_defaults.get(made.value, kubeadm_defaults.CLIENT_CA)
    if there == ca_certificate:
        return made
    value = copy.deepcopy(dict(made.value))
    kubeadm_defaults.put(value, kubeadm_defaults.CLIENT_CA, ca_certificate)
    name = ".".join(kubeadm_defaults.CLIENT_CA)
    shown = there if isinstance(there, str) else ""
    reason = "where this node has the cluster's CA"
    decision = Decision(About.CONFIGURATION, name, Outcome.CHANGED, reason, shown, ca_certificate)
    return replace(
        made,
        value=value,
        decisions=(*(each for each in made.decisions if each.name != name), decision),
        references=tuple(each for each in made.references if each.by != name),
    )
