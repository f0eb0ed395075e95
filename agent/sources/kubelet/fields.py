"""Every field of the kubelet's configuration, what it may hold, and what becomes of it on Windows."""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass

from agent.sources.kubelet.documents import Value


class Shape(enum.Enum):
    BOOL = "true or false"
    INTEGER = "a whole number"
    NUMBER = "a number"
    TEXT = "text"
    DURATION = "a duration such as 10s"
    INTEGERS = "a list of whole numbers"
    TEXTS = "a list of texts"
    OBJECTS = "a list of mappings"
    OBJECT = "a mapping"
    TEXT_MAP = "a mapping of texts"
    BOOL_MAP = "a mapping of true and false"
    TEXTS_MAP = "a mapping of lists of texts"


class Treatment(enum.Enum):
    KEEP = "kept"
    PATH = "its path mapped to C:"
    FOLDER = "its path mapped to C:, where a folder will be"
    RULE = "has a rule of its own"
    SIGNALS = "without the signals that Windows does not have"
    AFFINITY = "kept where Windows can do it"
    DROP = "dropped"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    """With the names of the mappings around it, as in authentication.x509.clientCAFile."""
    shape: Shape
    treatment: Treatment = Treatment.KEEP
    reason: str = ""
    secret: bool = False


BOOL, INTEGER, NUMBER, TEXT, DURATION, INTEGERS, TEXTS, OBJECTS, OBJECT, TEXT_MAP, BOOL_MAP, TEXTS_MAP = Shape
KEEP, PATH, FOLDER, RULE, SIGNALS, AFFINITY, DROP = Treatment

_FILE = "the same file, on C:"
_FOLDER = "the same folder, on C:"
_CGROUPS = "Windows has no control groups"
_LINUX_KERNEL = "about the Linux kernel"
_IPTABLES = "Windows has no iptables"
_SWAP = "a kubelet on Windows does not look at the page file"
_REFUSED = "a kubelet on Windows would not start with it"
_AFFINITY = "Windows has it only with the feature gate WindowsCPUAndMemoryAffinity"
_SIGNALS = "Windows counts no inodes and no process ids"

FIELDS = (
    Field("apiVersion", TEXT),
    Field("kind", TEXT),
    # Its server, and who may talk to it
    Field("address", TEXT),
    Field("authentication", OBJECT),
    Field("authentication.anonymous", OBJECT),
    Field("authentication.anonymous.enabled", BOOL),
    Field("authentication.webhook", OBJECT),
    Field("authentication.webhook.cacheTTL", DURATION),
    Field("authentication.webhook.enabled", BOOL),
    Field("authentication.x509", OBJECT),
    Field("authentication.x509.clientCAFile", TEXT, PATH, _FILE),
    Field("authorization", OBJECT),
    Field("authorization.mode", TEXT),
    Field("authorization.webhook", OBJECT),
    Field("authorization.webhook.cacheAuthorizedTTL", DURATION),
    Field("authorization.webhook.cacheUnauthorizedTTL", DURATION),
    Field("enableContentionProfiling", BOOL),
    Field("enableDebugFlagsHandler", BOOL),
    Field("enableDebuggingHandlers", BOOL),
    Field("enableProfilingHandler", BOOL),
    Field("enableServer", BOOL),
    Field("enableSystemLogHandler", BOOL),
    Field("enableSystemLogQuery", BOOL, RULE, "reads the Event Log on Windows; needs the gate NodeLogQuery"),
    Field("healthzBindAddress", TEXT),
    Field("healthzPort", INTEGER),
    Field("port", INTEGER),
    Field("readOnlyPort", INTEGER),
    Field("rotateCertificates", BOOL),
    Field("serverTLSBootstrap", BOOL),
    Field("streamingConnectionIdleTimeout", DURATION),
    Field("tlsCertFile", TEXT, PATH, _FILE),
    Field("tlsCipherSuites", TEXTS),
    Field("tlsCurvePreferences", INTEGERS),
    Field("tlsMinVersion", TEXT),
    Field("tlsPrivateKeyFile", TEXT, PATH, _FILE),
    # The node
    Field("configMapAndSecretChangeDetectionStrategy", TEXT),
    Field("contentType", TEXT),
    Field("eventBurst", INTEGER),
    Field("eventRecordQPS", INTEGER),
    Field("featureGates", BOOL_MAP, RULE, "a kubelet does not start over a gate that it does not know"),
    Field("kubeAPIBurst", INTEGER),
    Field("kubeAPIQPS", INTEGER),
    Field("nodeLeaseDurationSeconds", INTEGER),
    Field("nodeStatusMaxImages", INTEGER),
    Field("nodeStatusReportFrequency", DURATION),
    Field("nodeStatusUpdateFrequency", DURATION),
    Field("providerID", TEXT),
    Field("registerNode", BOOL),
    Field("registerWithTaints", OBJECTS, RULE, "pods for Linux stay away"),
    Field("showHiddenMetricsForVersion", TEXT),
    Field("shutdownGracePeriod", DURATION),
    Field("shutdownGracePeriodByPodPriority", OBJECTS),
    Field("shutdownGracePeriodCriticalPods", DURATION),
    # Pods
    Field("clusterDNS", TEXTS, RULE, "asked for on the command line"),
    Field("clusterDomain", TEXT),
    Field("crashLoopBackOff", OBJECT),
    Field("crashLoopBackOff.maxContainerRestartPeriod", DURATION),
    Field("fileCheckFrequency", DURATION),
    Field("httpCheckFrequency", DURATION),
    Field("maxPods", INTEGER),
    Field("podCIDR", TEXT),
    Field("podsPerCore", INTEGER),
    Field("resolvConf", TEXT, RULE, "Windows keeps its name servers in the registry, not in a file"),
    Field("runOnce", BOOL, DROP, "a Windows service stays"),
    Field("staticPodPath", TEXT, FOLDER, _FOLDER),
    Field("staticPodURL", TEXT),
    Field("staticPodURLHeader", TEXTS_MAP, secret=True),
    Field("syncFrequency", DURATION),
    # The container runtime, images, logs, volumes
    Field("containerLogMaxFiles", INTEGER),
    Field("containerLogMaxSize", TEXT),
    Field("containerLogMaxWorkers", INTEGER),
    Field("containerLogMonitorInterval", DURATION),
    Field("containerRuntimeEndpoint", TEXT, RULE, "Windows runs containers with containerd"),
    Field("enableControllerAttachDetach", BOOL),
    Field("imageGCHighThresholdPercent", INTEGER),
    Field("imageGCLowThresholdPercent", INTEGER),
    Field("imageMaximumGCAge", DURATION),
    Field("imageMinimumGCAge", DURATION),
    Field("imagePullCredentialsVerificationPolicy", TEXT),
    Field("imageServiceEndpoint", TEXT, DROP, "images come from the same containerd"),
    Field("localStorageCapacityIsolation", BOOL),
    Field("logging", OBJECT),
    Field("maxParallelImagePulls", INTEGER),
    Field("podLogsDir", TEXT, FOLDER, _FOLDER),
    Field("preloadedImagesVerificationAllowlist", TEXTS),
    Field("registryBurst", INTEGER),
    Field("registryPullQPS", INTEGER),
    Field("runtimeRequestTimeout", DURATION),
    Field("serializeImagePulls", BOOL),
    Field("tracing", OBJECT),
    Field("volumePluginDir", TEXT, FOLDER, _FOLDER),
    Field("volumeStatsAggPeriod", DURATION),
    # Resources and evictions
    Field("cpuManagerPolicy", TEXT, AFFINITY, _AFFINITY),
    Field("cpuManagerPolicyOptions", TEXT_MAP, AFFINITY, _AFFINITY),
    Field("cpuManagerReconcilePeriod", DURATION, AFFINITY, _AFFINITY),
    Field("evictionHard", TEXT_MAP, SIGNALS, _SIGNALS),
    Field("evictionMaxPodGracePeriod", INTEGER),
    Field("evictionMinimumReclaim", TEXT_MAP, SIGNALS, _SIGNALS),
    Field("evictionPressureTransitionPeriod", DURATION),
    Field("evictionSoft", TEXT_MAP, SIGNALS, _SIGNALS),
    Field("evictionSoftGracePeriod", TEXT_MAP, SIGNALS, _SIGNALS),
    Field("kubeReserved", TEXT_MAP),
    Field("memoryManagerPolicy", TEXT, AFFINITY, _AFFINITY),
    Field("mergeDefaultEvictionSettings", BOOL),
    Field("reservedMemory", OBJECTS, AFFINITY, _AFFINITY),
    Field("reservedSystemCPUs", TEXT, AFFINITY, _AFFINITY),
    Field("systemReserved", TEXT_MAP, RULE, "what Windows itself needs"),
    Field("topologyManagerPolicy", TEXT, AFFINITY, _AFFINITY),
    Field("topologyManagerPolicyOptions", TEXT_MAP, AFFINITY, _AFFINITY),
    Field("topologyManagerScope", TEXT, AFFINITY, _AFFINITY),
    # Linux only: control groups
    Field("cgroupDriver", TEXT, DROP, _CGROUPS),
    Field("cgroupRoot", TEXT, DROP, _CGROUPS),
    Field("cgroupsPerQOS", BOOL, RULE, _CGROUPS),
    Field("cpuCFSQuota", BOOL, DROP, _CGROUPS),
    Field("cpuCFSQuotaPeriod", DURATION, DROP, _CGROUPS),
    Field("enforceNodeAllocatable", TEXTS, RULE, _CGROUPS),
    Field("failCgroupV1", BOOL, DROP, _CGROUPS),
    Field("kernelMemcgNotification", BOOL, DROP, _CGROUPS),
    Field("kubeReservedCgroup", TEXT, DROP, _CGROUPS),
    Field("kubeletCgroups", TEXT, DROP, _CGROUPS),
    Field("memoryReservationPolicy", TEXT, DROP, _CGROUPS),
    Field("memoryThrottlingFactor", NUMBER, DROP, _CGROUPS),
    Field("podPidsLimit", INTEGER, DROP, _CGROUPS),
    Field("qosReserved", TEXT_MAP, DROP, _CGROUPS),
    Field("singleProcessOOMKill", BOOL, DROP, _REFUSED),
    Field("systemCgroups", TEXT, DROP, _CGROUPS),
    Field("systemReservedCgroup", TEXT, DROP, _CGROUPS),
    # Linux only: the rest
    Field("allowedUnsafeSysctls", TEXTS, DROP, _LINUX_KERNEL),
    Field("defaultPodSysctls", TEXT_MAP, DROP, _LINUX_KERNEL),
    Field("failSwapOn", BOOL, DROP, _SWAP),
    Field("hairpinMode", TEXT, DROP, "about a Linux bridge"),
    Field("iptablesDropBit", INTEGER, DROP, _IPTABLES),
    Field("iptablesMasqueradeBit", INTEGER, DROP, _IPTABLES),
    Field("makeIPTablesUtilChains", BOOL, DROP, _IPTABLES),
    Field("maxOpenFiles", INTEGER, DROP, _LINUX_KERNEL),
    Field("memorySwap", OBJECT, DROP, _SWAP),
    Field("oomScoreAdj", INTEGER, DROP, _LINUX_KERNEL),
    Field("protectKernelDefaults", BOOL, DROP, _LINUX_KERNEL),
    Field("seccompDefault", BOOL, DROP, _LINUX_KERNEL),
    Field("userNamespaces", OBJECT, DROP, _REFUSED),
)


@functools.cache
def by_name() -> dict[str, Field]:
    return {field.name: field for field in FIELDS}


@functools.cache
def with_fields_inside() -> frozenset[str]:
    """The mappings whose own fields stand in the table."""
    return frozenset(field.name.rpartition(".")[0] for field in FIELDS if "." in field.name)


_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_LONGEST_DURATION = 100
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def has_shape(value: Value, shape: Shape) -> bool:
    """Whether the kubelet takes such a value there. Null is no value and fits everywhere."""
    if value is None:
        return True
    if shape in _OF_LISTS:
        return isinstance(value, list) and all(has_shape(item, _OF_LISTS[shape]) for item in value)
    if shape in _OF_MAPS:
        return isinstance(value, dict) and all(has_shape(item, _OF_MAPS[shape]) for item in value.values())
    return _is_plain(value, shape)


_OF_LISTS = {INTEGERS: INTEGER, TEXTS: TEXT, OBJECTS: OBJECT}
_OF_MAPS = {TEXT_MAP: TEXT, BOOL_MAP: BOOL, TEXTS_MAP: TEXTS}


def _is_plain(value: Value, shape: Shape) -> bool:
    if shape is BOOL:
        return isinstance(value, bool)
    if shape is OBJECT:
        return isinstance(value, dict)
    if shape is TEXT:
        return isinstance(value, str)
    if shape is DURATION:
        return isinstance(value, str) and is_duration(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return shape is NUMBER or (isinstance(value, int) and _SMALLEST <= value <= _LARGEST)


def is_duration(text: str) -> bool:
    """As Go reads it: 1h30m, 1.5s, 0."""
    return len(text) <= _LONGEST_DURATION and bool(_DURATION.fullmatch(text))
