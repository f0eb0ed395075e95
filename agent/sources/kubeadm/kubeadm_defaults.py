"""A KubeletConfiguration as kubeadm has it when it applies patches: defaulted, written as Go writes it."""

import copy
from collections.abc import Mapping

from agent.documents import Value
from agent.sources.forms import mapping
from agent.sources.kubeadm.cluster import Cluster
from agent.sources.kubeadm.durations import in_full
from agent.sources.kubelet import fields
from agent.sources.kubelet.paths import UnusablePath, path_on_windows

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
    """As kubeadm has it on any system."""
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
