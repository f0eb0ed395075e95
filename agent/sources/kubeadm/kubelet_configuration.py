"""The KubeletConfiguration of a cluster (ConfigMap kube-system/kubelet-config), made that of a Windows node.

As kubeadm does it: its defaults go into what the cluster says, patches apply to that, and the node's own
container runtime has the last word. What a kubelet on Windows has no use for goes only after the patches, so
that a patch finds all that it would find with kubeadm; what it says for this node stays, where Windows can.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.documents import Value, mapping
from agent.sources.durations import in_full
from agent.sources.kubeadm.cluster import Cluster
from agent.sources.kubeadm.decoding import parts
from agent.sources.kubeadm.patches import Patches, patched
from agent.sources.kubelet import configuration, fields
from agent.sources.kubelet.configuration import API_VERSION, KIND, Configuration
from agent.sources.kubelet.decisions import About, Decision, Outcome
from agent.sources.kubelet.documents import NotReadable
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.report import Entry, Report, Severity, quoted
from agent.sources.windows_paths import Reference, UnusablePath, path_on_windows

Names = tuple[str, ...]
"""Of a setting: that of the mapping that it is in comes first."""

_MANIFESTS = "/etc/kubernetes/manifests"
CLIENT_CA = ("authentication", "x509", "clientCAFile")
PATHS = (("staticPodPath",), CLIENT_CA)
"""Those that kubeadm maps to Windows."""

_DEFAULTS: tuple[tuple[Names, Value], ...] = (
    (("staticPodPath",), _MANIFESTS),
    (("authentication", "anonymous", "enabled"), False),
    (("authentication", "webhook", "enabled"), True),
    (("authorization", "mode"), "Webhook"),
    (("healthzBindAddress",), "127.0.0.1"),
    (("healthzPort",), 10248),
    (("cgroupDriver",), "systemd"),
)
"""kubeadm's, whatever the cluster is called or looks like."""

_NOTHING = "0s"
_ZERO_SPANS = """
    cpuManagerReconcilePeriod evictionPressureTransitionPeriod fileCheckFrequency httpCheckFrequency
    imageMaximumGCAge imageMinimumGCAge nodeStatusReportFrequency nodeStatusUpdateFrequency
    runtimeRequestTimeout shutdownGracePeriod shutdownGracePeriodCriticalPods streamingConnectionIdleTimeout
    syncFrequency volumeStatsAggPeriod authentication.webhook.cacheTTL
    authorization.webhook.cacheAuthorizedTTL authorization.webhook.cacheUnauthorizedTTL
"""
_EMPTY_VALUES: tuple[tuple[Names, Value], ...] = (
    *((tuple(name.split(".")), _NOTHING) for name in _ZERO_SPANS.split()),
    (("logging", "flushFrequency"), 0),
    (("logging", "options", "json", "infoBufferSize"), "0"),
    (("logging", "options", "text", "infoBufferSize"), "0"),
    (("logging", "verbosity"), 0),
    (("crashLoopBackOff",), {}),
    (("memorySwap",), {}),
    (("containerRuntimeEndpoint",), ""),
)
"""What kubeadm writes for what is not set, since Go has no other way. Patches may look for it; to the kubelet
it says nothing."""


_ALWAYS_WRITTEN = {("resolvConf",), *(place for place, _ in _EMPTY_VALUES)}
_NO_ZERO = frozenset({
    "enableContentionProfiling", "eventBurst", "evictionMaxPodGracePeriod", "kernelMemcgNotification",
    "kubeAPIBurst", "maxOpenFiles", "maxPods", "nodeLeaseDurationSeconds", "podsPerCore", "port",
    "protectKernelDefaults", "readOnlyPort", "registryBurst", "runOnce", "serverTLSBootstrap",
})  # fmt: skip
"""Numbers and switches that are as good as not there when they are zero or false."""


def with_defaults(given: Mapping[str, Value], cluster: Cluster) -> dict[str, Value]:
    """As kubeadm has it on any system when it applies patches: defaulted, written as Go writes it."""
    made = _as_go_writes(given, "")
    of_cluster: tuple[tuple[Names, Value], ...] = (
        (("clusterDNS",), [cluster.dns_address]),
        (("clusterDomain",), cluster.dns_domain),
        (CLIENT_CA, cluster.client_ca),
    )
    for place, value in (*_DEFAULTS, *of_cluster, *_EMPTY_VALUES):
        if get(made, place) in (None, ""):
            put(made, place, value)
    made["rotateCertificates"] = True
    return {name: value for name, value in made.items() if not _is_left_out(name, value)}


def _is_left_out(name: str, value: Value) -> bool:
    """Whether Go writes nothing for such an empty value."""
    if isinstance(value, str | list | dict):
        return not value and (name,) not in _ALWAYS_WRITTEN
    return name in _NO_ZERO and not value


def on_windows_paths(given: Mapping[str, Value]) -> dict[str, Value]:
    """As kubeadm on Windows has it when it applies patches."""
    made = copy.deepcopy(dict(given))
    made["resolvConf"] = ""
    for place in PATHS:
        put(made, place, _mapped(get(made, place)))
    return made


def _mapped(path: Value) -> Value:
    """A path that Windows cannot have is refused later, with all others."""
    try:
        return path_on_windows(path) if isinstance(path, str) and path.startswith("/") else path
    except UnusablePath:
        return path


def _as_go_writes(given: Mapping[str, Value], within: str) -> dict[str, Value]:
    """Null is nothing, and a span of time has its minutes and seconds."""
    made: dict[str, Value] = {}
    for key, value in given.items():
        known = fields.by_name().get(within + key)
        if isinstance(value, dict):
            made[key] = _as_go_writes(value, f"{within}{key}.")
        elif known is not None and known.shape is fields.DURATION and isinstance(value, str):
            made[key] = in_full(value)
        elif value is not None:
            made[key] = value
    return made


def without_empty_values(given: Mapping[str, Value]) -> dict[str, Value]:
    made = copy.deepcopy(dict(given))
    for place, value in _EMPTY_VALUES:
        if get(made, place) == value:
            _remove(made, place)
    return made


def _remove(made: dict[str, Value], place: Names) -> None:
    """And the mappings around it that are empty without it."""
    first, rest = place[0], place[1:]
    inner = made[first]
    if rest and isinstance(inner, dict):
        _remove(inner, rest)
    if not rest or inner == {}:
        del made[first]


def get(value: Mapping[str, Value], place: Names) -> Value:
    found = value.get(place[0])
    for step in place[1:]:
        found = mapping(found).get(step)
    return found


def put(made: dict[str, Value], place: Names, value: Value) -> None:
    for step in place[:-1]:
        inner = made.setdefault(step, {})
        if not isinstance(inner, dict):
            return  # of the wrong shape, which is told later
        made = inner
    made[place[-1]] = copy.deepcopy(value)


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
    on_linux = with_defaults(given, cluster)
    before = on_windows_paths(on_linux)
    after, report = patched(before, patches)
    report = patches.report + report
    if report.fatal:
        return NodesOwn(report, {})
    touched = {place for place in PATHS if get(before, place) != get(after, place)}
    after = without_empty_values(after)
    for place in PATHS:
        if place not in touched:
            # The rules for Windows start from the path on Linux, and tell what became of it.
            put(after, place, get(on_linux, place))
    documents, faults = configuration.read_all([(_PATCHED, json.dumps(after).encode())])
    report += faults
    if report.fatal:
        return NodesOwn(report, {})
    node = _asking_no_more_than(node, before, after)
    made = configuration.for_windows(documents, {}, node, kubelet, carries_client_ca=True, is_all=False)
    if CLIENT_CA not in touched:
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
    there = get(made.value, CLIENT_CA)
    if there == ca_certificate:
        return made
    value = copy.deepcopy(dict(made.value))
    put(value, CLIENT_CA, ca_certificate)
    name = ".".join(CLIENT_CA)
    shown = there if isinstance(there, str) else ""
    reason = "where this node has the cluster's CA"
    decision = Decision(About.CONFIGURATION, name, Outcome.CHANGED, reason, shown, ca_certificate)
    return replace(
        made,
        value=value,
        decisions=(*(each for each in made.decisions if each.name != name), decision),
        references=tuple(each for each in made.references if each.by != name),
    )
