"""Every flag of the kubelets since Kubernetes 1.11, and what becomes of it on Windows.

A kubelet ends at once over a flag that it does not know, and a Windows kubelet does not know all that a Linux
one does. So each row says from which release to which it is known, and why it is kept, changed or dropped.
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass

from agent.secret_names import is_secret_name


class Kind(enum.Enum):
    """What the kubelet's command line takes for a value."""

    TEXT = "text"
    SWITCH = "true or false"
    NUMBER = "a whole number"
    FRACTION = "a number"
    DURATION = "a duration such as 10s"
    LIST = "a list with commas"
    PAIRS = "a list of NAME=VALUE"
    SWITCHES = "a list of NAME=true and NAME=false"
    THRESHOLDS = "a list of NAME<VALUE"
    TAINTS = "a list of KEY=VALUE:EFFECT"
    RESERVATIONS = "a list of NUMBER:TYPE=AMOUNT,TYPE=AMOUNT with semicolons"


class Treatment(enum.Enum):
    KEEP = "kept"
    PATH = "its path mapped to C:"
    FOLDER = "its path mapped to C:, where a folder will be"
    CONFIGURE = "moved into the configuration, where the rules for Windows are"
    RULE = "has a rule of its own"
    DROP = "dropped"


@dataclass(frozen=True, slots=True)
class Flag:
    name: str
    kind: Kind
    treatment: Treatment
    reason: str
    field: str = ""
    """Of the configuration, where the treatment is CONFIGURE."""
    first: int = 0
    """The minor release of Kubernetes 1 that brought it; 0 if that is long ago."""
    last: int | None = None
    """The last one that takes it; None if they still do."""
    secret: bool = False

    @property
    def accumulates(self) -> bool:
        """Whether giving it again adds to it; of any other flag the last one counts."""
        return self.kind in (Kind.LIST, Kind.PAIRS, Kind.SWITCHES, Kind.THRESHOLDS, Kind.RESERVATIONS)


TEXT, SWITCH, NUMBER, FRACTION, DURATION, LIST, PAIRS, SWITCHES, THRESHOLDS, TAINTS, RESERVATIONS = Kind
KEEP, PATH, FOLDER, CONFIGURE, RULE, DROP = Treatment

SHORTHANDS = {"v": "v", "h": "help"}

_SAME = "means the same on Windows"
_FILE = "the same file, on C:"
_FOLDER = "the same folder, on C:"
_CGROUPS = "Windows has no control groups"
_LINUX_KERNEL = "about the Linux kernel"
_IPTABLES = "Windows has no iptables"
_DOCKERSHIM = "for Docker, which kubelets no longer run containers with"
_CADVISOR = "of cAdvisor, which a Windows kubelet does not have; it does not know the flag"
_LOG_FILES = "where the log goes is for wmcb to decide, and newer kubelets do not know the flag"
_AFFINITY = "Windows has it only with the feature gate WindowsCPUAndMemoryAffinity"
_SIGNALS = "not every signal of Linux exists on Windows"
_RUNTIME = "Windows runs containers with containerd"

FLAGS = (
    # What ties the kubelet to its cluster
    Flag("bootstrap-kubeconfig", TEXT, PATH, _FILE),
    Flag("cert-dir", TEXT, FOLDER, _FOLDER),
    Flag("cloud-config", TEXT, PATH, _FILE, last=33),
    Flag("cloud-provider", TEXT, RULE, _SAME),
    Flag("config", TEXT, RULE, "the configuration made right for Windows"),
    Flag("config-dir", TEXT, RULE, "its files are merged into the one configuration", first=28),
    Flag("dynamic-config-dir", TEXT, FOLDER, _FOLDER, last=23),
    Flag("experimental-bootstrap-kubeconfig", TEXT, RULE, "an old name of --bootstrap-kubeconfig", last=22),
    Flag("hostname-override", TEXT, RULE, "the name of this node"),
    Flag("kubeconfig", TEXT, PATH, _FILE),
    Flag("node-ip", TEXT, RULE, "the addresses of this node"),
    Flag("node-labels", PAIRS, RULE, "the labels that this kubelet may give its node"),
    Flag("provider-id", TEXT, RULE, "the id of this machine"),
    Flag("register-node", SWITCH, KEEP, _SAME),
    Flag("register-schedulable", SWITCH, KEEP, _SAME, last=33),
    Flag("register-with-taints", TAINTS, CONFIGURE, "pods for Linux stay away", "registerWithTaints"),
    Flag("rotate-certificates", SWITCH, KEEP, _SAME),
    Flag("rotate-server-certificates", SWITCH, KEEP, _SAME),
    # Windows' own
    Flag("windows-priorityclass", TEXT, KEEP, "Windows' own", first=20),
    Flag("windows-service", SWITCH, RULE, "the kubelet answers the service control manager"),
    # Its server
    Flag("address", TEXT, KEEP, _SAME),
    Flag("anonymous-auth", SWITCH, KEEP, _SAME),
    Flag("authentication-token-webhook", SWITCH, KEEP, _SAME),
    Flag("authentication-token-webhook-cache-ttl", DURATION, KEEP, _SAME),
    Flag("authorization-mode", TEXT, KEEP, _SAME),
    Flag("authorization-webhook-cache-authorized-ttl", DURATION, KEEP, _SAME),
    Flag("authorization-webhook-cache-unauthorized-ttl", DURATION, KEEP, _SAME),
    Flag("cadvisor-port", NUMBER, KEEP, _SAME, last=11),
    Flag("client-ca-file", TEXT, PATH, _FILE),
    Flag("contention-profiling", SWITCH, KEEP, _SAME),
    Flag("enable-cadvisor-json-endpoints", SWITCH, KEEP, _SAME, last=20),
    Flag("enable-debugging-handlers", SWITCH, KEEP, _SAME),
    Flag("enable-server", SWITCH, KEEP, _SAME),
    Flag("healthz-bind-address", TEXT, KEEP, _SAME),
    Flag("healthz-port", NUMBER, KEEP, _SAME),
    Flag("port", NUMBER, KEEP, _SAME),
    Flag("read-only-port", NUMBER, KEEP, _SAME),
    Flag("streaming-connection-idle-timeout", DURATION, KEEP, _SAME),
    Flag("tls-cert-file", TEXT, PATH, _FILE),
    Flag("tls-cipher-suites", LIST, KEEP, _SAME),
    Flag("tls-min-version", TEXT, KEEP, _SAME),
    Flag("tls-private-key-file", TEXT, PATH, _FILE),
    # Pods and their names
    Flag("cluster-dns", LIST, CONFIGURE, "the command line may say otherwise", "clusterDNS"),
    Flag("cluster-domain", TEXT, KEEP, _SAME),
    Flag("file-check-frequency", DURATION, KEEP, _SAME),
    Flag("http-check-frequency", DURATION, KEEP, _SAME),
    Flag("manifest-url", TEXT, KEEP, _SAME),
    Flag("manifest-url-header", TEXT, KEEP, _SAME, secret=True),
    Flag("master-service-namespace", TEXT, KEEP, _SAME, last=26),
    Flag("max-pods", NUMBER, KEEP, _SAME),
    Flag("pod-cidr", TEXT, KEEP, _SAME),
    Flag("pod-manifest-path", TEXT, FOLDER, _FOLDER),
    Flag("pods-per-core", NUMBER, KEEP, _SAME),
    Flag("resolv-conf", TEXT, DROP, "Windows keeps its name servers in the registry, not in a file"),
    Flag("runonce", SWITCH, DROP, "a Windows service stays"),
    Flag("sync-frequency", DURATION, KEEP, _SAME),
    # The container runtime and its images
    Flag("azure-container-registry-config", TEXT, PATH, _FILE, last=29),
    Flag("container-log-max-files", NUMBER, KEEP, _SAME),
    Flag("container-log-max-size", TEXT, KEEP, _SAME),
    Flag("container-runtime", TEXT, RULE, _RUNTIME, last=26),
    Flag("container-runtime-endpoint", TEXT, RULE, _RUNTIME),
    Flag("image-credential-provider-bin-dir", TEXT, RULE, "the plug-ins have to be there", first=20),
    Flag("image-credential-provider-config", TEXT, RULE, "its plug-ins are .exe files", first=20),
    Flag("image-gc-high-threshold", NUMBER, KEEP, _SAME),
    Flag("image-gc-low-threshold", NUMBER, KEEP, _SAME),
    Flag("image-service-endpoint", TEXT, DROP, "images come from the same containerd"),
    Flag("maximum-dead-containers", NUMBER, KEEP, _SAME),
    Flag("maximum-dead-containers-per-container", NUMBER, KEEP, _SAME),
    Flag("minimum-container-ttl-duration", DURATION, KEEP, _SAME),
    Flag("minimum-image-ttl-duration", DURATION, KEEP, _SAME),
    Flag("pod-infra-container-image", TEXT, DROP, "an image for Linux; containerd names its own", last=34),
    Flag("registry-burst", NUMBER, KEEP, _SAME),
    Flag("registry-qps", NUMBER, KEEP, _SAME),
    Flag("runtime-cgroups", TEXT, DROP, _CGROUPS),
    Flag("runtime-request-timeout", DURATION, KEEP, _SAME),
    Flag("serialize-image-pulls", SWITCH, KEEP, _SAME),
    # Resources and evictions
    Flag("cpu-manager-policy", TEXT, CONFIGURE, _AFFINITY, "cpuManagerPolicy"),
    Flag("cpu-manager-policy-options", PAIRS, CONFIGURE, _AFFINITY, "cpuManagerPolicyOptions", first=22),
    Flag("cpu-manager-reconcile-period", DURATION, CONFIGURE, _AFFINITY, "cpuManagerReconcilePeriod"),
    Flag("enforce-node-allocatable", LIST, DROP, _CGROUPS),
    Flag("eviction-hard", THRESHOLDS, CONFIGURE, _SIGNALS, "evictionHard"),
    Flag("eviction-max-pod-grace-period", NUMBER, KEEP, _SAME),
    Flag("eviction-minimum-reclaim", PAIRS, CONFIGURE, _SIGNALS, "evictionMinimumReclaim"),
    Flag("eviction-pressure-transition-period", DURATION, KEEP, _SAME),
    Flag("eviction-soft", THRESHOLDS, CONFIGURE, _SIGNALS, "evictionSoft"),
    Flag("eviction-soft-grace-period", PAIRS, CONFIGURE, _SIGNALS, "evictionSoftGracePeriod"),
    Flag("experimental-allocatable-ignore-eviction", SWITCH, KEEP, _SAME),
    Flag("kube-reserved", PAIRS, CONFIGURE, "beside what the system needs", "kubeReserved"),
    Flag("kube-reserved-cgroup", TEXT, DROP, _CGROUPS),
    Flag("local-storage-capacity-isolation", SWITCH, KEEP, _SAME, first=25),
    Flag("memory-manager-policy", TEXT, CONFIGURE, _AFFINITY, "memoryManagerPolicy", first=21),
    Flag("qos-reserved", PAIRS, DROP, _CGROUPS),
    Flag("reserved-cpus", TEXT, CONFIGURE, _AFFINITY, "reservedSystemCPUs", first=17),
    Flag("reserved-memory", RESERVATIONS, CONFIGURE, _AFFINITY, "reservedMemory", first=21),
    Flag("system-reserved", PAIRS, CONFIGURE, "Windows itself needs more memory", "systemReserved"),
    Flag("system-reserved-cgroup", TEXT, DROP, _CGROUPS),
    Flag("topology-manager-policy", TEXT, CONFIGURE, _AFFINITY, "topologyManagerPolicy"),
    Flag(
        "topology-manager-policy-options",
        PAIRS,
        CONFIGURE,
        _AFFINITY,
        "topologyManagerPolicyOptions",
        first=26,
    ),
    Flag("topology-manager-scope", TEXT, CONFIGURE, _AFFINITY, "topologyManagerScope", first=20),
    # Volumes and files
    Flag("bootstrap-checkpoint-path", TEXT, FOLDER, _FOLDER, last=18),
    Flag("enable-controller-attach-detach", SWITCH, KEEP, _SAME),
    Flag("keep-terminated-pod-volumes", SWITCH, KEEP, _SAME, last=30),
    Flag("root-dir", TEXT, FOLDER, _FOLDER),
    Flag("volume-plugin-dir", TEXT, FOLDER, _FOLDER),
    Flag("volume-stats-agg-period", DURATION, KEEP, _SAME),
    # Talk with the API server
    Flag("event-burst", NUMBER, KEEP, _SAME),
    Flag("event-qps", NUMBER, KEEP, _SAME),
    Flag("kube-api-burst", NUMBER, KEEP, _SAME),
    Flag("kube-api-content-type", TEXT, KEEP, _SAME),
    Flag("kube-api-qps", NUMBER, KEEP, _SAME),
    Flag("node-status-max-images", NUMBER, KEEP, _SAME),
    Flag("node-status-update-frequency", DURATION, KEEP, _SAME),
    # Its log
    Flag("experimental-logging-sanitization", SWITCH, KEEP, _SAME, first=20, last=23),
    Flag("log-flush-frequency", DURATION, KEEP, _SAME),
    Flag("log-json-info-buffer-size", TEXT, KEEP, _SAME, first=23),
    Flag("log-json-split-stream", SWITCH, KEEP, _SAME, first=23),
    Flag("log-text-info-buffer-size", TEXT, KEEP, _SAME, first=30),
    Flag("log-text-split-stream", SWITCH, KEEP, _SAME, first=30),
    Flag("logging-format", TEXT, KEEP, _SAME, first=19),
    Flag("v", NUMBER, RULE, "how much the kubelet logs"),
    Flag("vmodule", TEXT, KEEP, _SAME),
    Flag("add-dir-header", SWITCH, DROP, _LOG_FILES, first=18, last=25),
    Flag("alsologtostderr", SWITCH, DROP, _LOG_FILES, last=25),
    Flag("log-backtrace-at", TEXT, DROP, _LOG_FILES, last=25),
    Flag("log-dir", TEXT, DROP, _LOG_FILES, last=25),
    Flag("log-file", TEXT, DROP, _LOG_FILES, last=25),
    Flag("log-file-max-size", NUMBER, DROP, _LOG_FILES, last=25),
    Flag("logtostderr", SWITCH, DROP, _LOG_FILES, last=25),
    Flag("one-output", SWITCH, DROP, _LOG_FILES, first=20, last=25),
    Flag("skip-headers", SWITCH, DROP, _LOG_FILES, last=25),
    Flag("skip-log-headers", SWITCH, DROP, _LOG_FILES, last=25),
    Flag("stderrthreshold", TEXT, DROP, _LOG_FILES, last=25),
    # Feature gates and what only tests use
    Flag("chaos-chance", FRACTION, KEEP, _SAME, last=21),
    Flag("feature-gates", SWITCHES, CONFIGURE, "not every kubelet knows every gate", "featureGates"),
    Flag("help", SWITCH, DROP, "the kubelet would only print its help"),
    Flag("really-crash-for-testing", SWITCH, KEEP, _SAME, last=23),
    Flag("version", SWITCH, DROP, "the kubelet would only print its version"),
    # Linux only: control groups
    Flag("cgroup-driver", TEXT, DROP, _CGROUPS),
    Flag("cgroup-root", TEXT, DROP, _CGROUPS),
    Flag("cgroups-per-qos", SWITCH, DROP, _CGROUPS),
    Flag("cpu-cfs-quota", SWITCH, DROP, _CGROUPS),
    Flag("cpu-cfs-quota-period", DURATION, DROP, _CGROUPS),
    Flag("experimental-kernel-memcg-notification", SWITCH, DROP, _CGROUPS, last=24),
    Flag("fail-cgroupv1", SWITCH, DROP, _CGROUPS, first=31),
    Flag("kernel-memcg-notification", SWITCH, DROP, _CGROUPS, first=19),
    Flag("kubelet-cgroups", TEXT, DROP, _CGROUPS),
    Flag("pod-max-pids", NUMBER, DROP, _CGROUPS),
    Flag("system-cgroups", TEXT, DROP, _CGROUPS),
    # Linux only: the rest
    Flag("allow-privileged", SWITCH, KEEP, _SAME, last=14),
    Flag("allowed-unsafe-sysctls", LIST, DROP, _LINUX_KERNEL),
    Flag("containerized", SWITCH, DROP, "for a kubelet inside a Linux container", last=15),
    Flag(
        "exit-on-lock-contention", SWITCH, DROP, "the service control manager starts one kubelet and no other"
    ),
    Flag("experimental-check-node-capabilities-before-mount", SWITCH, KEEP, _SAME, last=23),
    Flag("experimental-fail-swap-on", SWITCH, DROP, _LINUX_KERNEL, last=13),
    Flag("experimental-mounter-path", TEXT, DROP, "a mount program for Linux"),
    Flag("fail-swap-on", SWITCH, DROP, "a kubelet on Windows does not look at the page file"),
    Flag("hairpin-mode", TEXT, DROP, "about a Linux bridge"),
    Flag("host-ipc-sources", LIST, KEEP, _SAME, last=14),
    Flag("host-network-sources", LIST, KEEP, _SAME, last=14),
    Flag("host-pid-sources", LIST, KEEP, _SAME, last=14),
    Flag("iptables-drop-bit", NUMBER, DROP, _IPTABLES, last=30),
    Flag("iptables-masquerade-bit", NUMBER, DROP, _IPTABLES, last=30),
    Flag("lock-file", TEXT, DROP, "the service control manager starts one kubelet and no other"),
    Flag("make-iptables-util-chains", SWITCH, DROP, _IPTABLES),
    Flag("max-open-files", NUMBER, DROP, _LINUX_KERNEL),
    Flag("oom-score-adj", NUMBER, DROP, _LINUX_KERNEL),
    Flag("protect-kernel-defaults", SWITCH, DROP, _LINUX_KERNEL),
    Flag("redirect-container-streaming", SWITCH, KEEP, _SAME, last=21),
    Flag("seccomp-default", SWITCH, DROP, _LINUX_KERNEL, first=22),
    Flag("seccomp-profile-root", TEXT, DROP, _LINUX_KERNEL, last=22),
    # Docker and its network plug-ins
    Flag("cni-bin-dir", TEXT, DROP, _DOCKERSHIM, last=23),
    Flag("cni-cache-dir", TEXT, DROP, _DOCKERSHIM, first=16, last=23),
    Flag("cni-conf-dir", TEXT, DROP, _DOCKERSHIM, last=23),
    Flag("docker-disable-shared-pid", SWITCH, DROP, _DOCKERSHIM, last=11),
    Flag("docker-endpoint", TEXT, DROP, _DOCKERSHIM, last=23),
    Flag("experimental-dockershim", SWITCH, DROP, _DOCKERSHIM, last=18),
    Flag("experimental-dockershim-root-directory", TEXT, DROP, _DOCKERSHIM, last=23),
    Flag("google-json-key", TEXT, PATH, _FILE, last=12),
    Flag("image-pull-progress-deadline", DURATION, DROP, _DOCKERSHIM, last=23),
    Flag("network-plugin", TEXT, DROP, _DOCKERSHIM, last=23),
    Flag("network-plugin-mtu", NUMBER, DROP, _DOCKERSHIM, last=23),
    Flag("non-masquerade-cidr", TEXT, DROP, _DOCKERSHIM, last=23),
    # cAdvisor
    Flag("application-metrics-count-limit", NUMBER, DROP, _CADVISOR),
    Flag("boot-id-file", TEXT, DROP, _CADVISOR),
    Flag("container-hints", TEXT, DROP, _CADVISOR),
    Flag("containerd", TEXT, DROP, _CADVISOR),
    Flag("containerd-namespace", TEXT, DROP, _CADVISOR, first=20),
    Flag("docker", TEXT, DROP, _CADVISOR, last=23),
    Flag("docker-env-metadata-whitelist", TEXT, DROP, _CADVISOR, last=23),
    Flag("docker-only", SWITCH, DROP, _CADVISOR, last=23),
    Flag("docker-root", TEXT, DROP, _CADVISOR, last=23),
    Flag("docker-tls", SWITCH, DROP, _CADVISOR, last=23),
    Flag("docker-tls-ca", TEXT, DROP, _CADVISOR, last=23),
    Flag("docker-tls-cert", TEXT, DROP, _CADVISOR, last=23),
    Flag("docker-tls-key", TEXT, DROP, _CADVISOR, last=23),
    Flag("enable-load-reader", SWITCH, DROP, _CADVISOR),
    Flag("event-storage-age-limit", TEXT, DROP, _CADVISOR),
    Flag("event-storage-event-limit", TEXT, DROP, _CADVISOR),
    Flag("global-housekeeping-interval", DURATION, DROP, _CADVISOR),
    Flag("housekeeping-interval", DURATION, DROP, _CADVISOR),
    Flag("log-cadvisor-usage", SWITCH, DROP, _CADVISOR),
    Flag("machine-id-file", TEXT, DROP, _CADVISOR),
    Flag("storage-driver-buffer-duration", DURATION, DROP, _CADVISOR),
    Flag("storage-driver-db", TEXT, DROP, _CADVISOR),
    Flag("storage-driver-host", TEXT, DROP, _CADVISOR),
    Flag("storage-driver-password", TEXT, DROP, _CADVISOR, secret=True),
    Flag("storage-driver-secure", SWITCH, DROP, _CADVISOR),
    Flag("storage-driver-table", TEXT, DROP, _CADVISOR),
    Flag("storage-driver-user", TEXT, DROP, _CADVISOR),
)


IN_TREE_UNTIL = {"openstack": 25, "aws": 26, "azure": 28, "gce": 28, "vsphere": 28}
"""The last release whose kubelet starts with this cloud provider built in."""


@functools.cache
def by_name() -> dict[str, Flag]:
    return {flag.name: flag for flag in FLAGS}


def why_not_in(flag: Flag, minor: int) -> str | None:
    """Why a kubelet of Kubernetes 1.`minor` does not take it."""
    if flag.last is not None and minor > flag.last:
        return f"no kubelet takes it since Kubernetes 1.{flag.last + 1}"
    if minor < flag.first:
        return f"kubelets take it since Kubernetes 1.{flag.first} only"
    return None


def is_secret(name: str) -> bool:
    """Whether a flag's value is to be shown to nobody; of one that nobody knows its name has to tell."""
    known = by_name().get(name)
    if known is not None:
        return known.secret
    # The rule leaves `key` out for fields: those of taints are called so. Of a flag it may be the key itself.
    return name.lower() == "key" or is_secret_name(name)
