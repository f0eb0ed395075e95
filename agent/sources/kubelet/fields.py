"""Every field of the kubelet's configuration, what it may hold, and what becomes of it on Windows."""

import enum
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from agent.sources.durations import seconds
from agent.sources.kubelet.documents import Value
from agent.sources.kubelet.flags import Treatment


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


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    """With the names of the mappings around it, as in authentication.x509.clientCAFile."""
    shape: Shape
    treatment: Treatment = Treatment.KEEP
    reason: str = ""
    secret: bool = False


BOOL, INTEGER, NUMBER, TEXT, DURATION, INTEGERS, TEXTS, OBJECTS, OBJECT, TEXT_MAP, BOOL_MAP, TEXTS_MAP = Shape
KEEP, PATH, FOLDER, CONFIGURE, RULE, SIGNALS, AFFINITY, DROP = Treatment

_CGROUPS = "Windows has no control groups"

_LISTED = {
    (KEEP, ""): """
        TEXT address apiVersion authorization.mode clusterDomain configMapAndSecretChangeDetectionStrategy
            containerLogMaxSize contentType healthzBindAddress imagePullCredentialsVerificationPolicy kind
            podCIDR providerID showHiddenMetricsForVersion staticPodURL tlsMinVersion
        OBJECT authentication authentication.anonymous authentication.webhook authentication.x509
            authorization authorization.webhook crashLoopBackOff logging tracing
        BOOL authentication.anonymous.enabled authentication.webhook.enabled enableContentionProfiling
            enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
            enableProfilingHandler enableServer enableSystemLogHandler localStorageCapacityIsolation
            mergeDefaultEvictionSettings registerNode rotateCertificates serializeImagePulls
            serverTLSBootstrap
        DURATION authentication.webhook.cacheTTL authorization.webhook.cacheAuthorizedTTL
            authorization.webhook.cacheUnauthorizedTTL containerLogMonitorInterval
            crashLoopBackOff.maxContainerRestartPeriod evictionPressureTransitionPeriod fileCheckFrequency
            httpCheckFrequency imageMaximumGCAge imageMinimumGCAge nodeStatusReportFrequency
            nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod
            shutdownGracePeriodCriticalPods streamingConnectionIdleTimeout syncFrequency volumeStatsAggPeriod
        INTEGER containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS
            evictionMaxPodGracePeriod healthzPort imageGCHighThresholdPercent imageGCLowThresholdPercent
            kubeAPIBurst kubeAPIQPS maxParallelImagePulls maxPods nodeLeaseDurationSeconds nodeStatusMaxImages
            podsPerCore port readOnlyPort registryBurst registryPullQPS
        TEXTS preloadedImagesVerificationAllowlist tlsCipherSuites
        INTEGERS tlsCurvePreferences
        OBJECTS shutdownGracePeriodByPodPriority
        TEXT_MAP kubeReserved
    """,
    (PATH, "the same file, on C:"): "TEXT authentication.x509.clientCAFile tlsCertFile tlsPrivateKeyFile",
    (DROP, "a Windows service stays"): "BOOL runOnce",
    (FOLDER, "the same folder, on C:"): "TEXT podLogsDir staticPodPath volumePluginDir",
    (DROP, "images come from the same containerd"): "TEXT imageServiceEndpoint",
    (AFFINITY, "Windows has it only with the feature gate WindowsCPUAndMemoryAffinity"): """
        TEXT cpuManagerPolicy
        TEXT_MAP cpuManagerPolicyOptions
        DURATION cpuManagerReconcilePeriod
        TEXT memoryManagerPolicy
        OBJECTS reservedMemory
        TEXT reservedSystemCPUs topologyManagerPolicy
        TEXT_MAP topologyManagerPolicyOptions
        TEXT topologyManagerScope
    """,
    (SIGNALS, "Windows counts no inodes and no process ids"): """
        TEXT_MAP evictionHard evictionMinimumReclaim evictionSoft evictionSoftGracePeriod
    """,
    (DROP, _CGROUPS): """
        TEXT cgroupDriver cgroupRoot kubeReservedCgroup kubeletCgroups memoryReservationPolicy systemCgroups
            systemReservedCgroup
        BOOL cpuCFSQuota failCgroupV1 kernelMemcgNotification
        DURATION cpuCFSQuotaPeriod
        NUMBER memoryThrottlingFactor
        INTEGER podPidsLimit
        TEXT_MAP qosReserved
    """,
    (DROP, "a kubelet on Windows would not start with it"): "BOOL singleProcessOOMKill OBJECT userNamespaces",
    (DROP, "about the Linux kernel"): """
        TEXTS allowedUnsafeSysctls
        TEXT_MAP defaultPodSysctls
        INTEGER maxOpenFiles oomScoreAdj
        BOOL protectKernelDefaults seccompDefault
    """,
    (DROP, "a kubelet on Windows does not look at the page file"): "BOOL failSwapOn OBJECT memorySwap",
    (DROP, "about a Linux bridge"): "TEXT hairpinMode",
    (DROP, "Windows has no iptables"): """
        INTEGER iptablesDropBit iptablesMasqueradeBit
        BOOL makeIPTablesUtilChains
    """,
}
"""Fields by what becomes of them and why. A shape comes before its fields."""
_ROWS = (
    Field("enableSystemLogQuery", BOOL, RULE, "reads the Event Log on Windows; needs the gate NodeLogQuery"),
    Field("featureGates", BOOL_MAP, RULE, "a kubelet does not start over a gate that it does not know"),
    Field("registerWithTaints", OBJECTS, RULE, "pods for Linux stay away"),
    Field("clusterDNS", TEXTS, RULE, "asked for on the command line"),
    Field("resolvConf", TEXT, RULE, "Windows keeps its name servers in the registry, not in a file"),
    Field("staticPodURLHeader", TEXTS_MAP, secret=True),
    Field("containerRuntimeEndpoint", TEXT, RULE, "Windows runs containers with containerd"),
    Field("systemReserved", TEXT_MAP, RULE, "what Windows itself needs"),
    Field("cgroupsPerQOS", BOOL, RULE, _CGROUPS),
    Field("enforceNodeAllocatable", TEXTS, RULE, _CGROUPS),
)
"""Fields of which there is more to say."""


def _listed() -> Iterator[Field]:
    for (treatment, reason), listed in _LISTED.items():
        shape = Shape.TEXT
        for word in listed.split():
            if word in Shape.__members__:
                shape = Shape[word]
            else:
                yield Field(word, shape, treatment, reason)


FIELDS = (*_listed(), *_ROWS)


@functools.cache
def by_name() -> dict[str, Field]:
    return {field.name: field for field in FIELDS}


@functools.cache
def with_fields_inside() -> frozenset[str]:
    """The mappings whose own fields stand in the table."""
    return frozenset(field.name.rpartition(".")[0] for field in FIELDS if "." in field.name)


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
        return isinstance(value, str) and seconds(value) is not None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return shape is NUMBER or (isinstance(value, int) and _SMALLEST <= value <= _LARGEST)
