"""Every flag of the kubelets since Kubernetes 1.11, and what becomes of it on Windows.

A kubelet ends at once over a flag that it does not know, and a Windows kubelet does not know all that a Linux
one does. So each row says from which release to which it is known, and why it is kept, changed or dropped.
"""

import enum
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from agent.secret_patterns import is_secret_name


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
    """What becomes of a field, or of a flag."""

    KEEP = "kept"
    PATH = "its path mapped to C:"
    FOLDER = "its path mapped to C:, where a folder will be"
    CONFIGURE = "moved into the configuration, where the rules for Windows are"
    """A flag."""
    RULE = "has a rule of its own"
    SIGNALS = "without the signals that Windows does not have"
    AFFINITY = "kept where Windows can do it"
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
KEEP, PATH, FOLDER, CONFIGURE, RULE, _, _, DROP = Treatment

SHORTHANDS = {"v": "v", "h": "help"}

_SAME = "means the same on Windows"
_CADVISOR = "of cAdvisor, which a Windows kubelet does not have; it does not know the flag"
_AFFINITY = "Windows has it only with the feature gate WindowsCPUAndMemoryAffinity"
_SIGNALS = "not every signal of Linux exists on Windows"
_RUNTIME = "Windows runs containers with containerd"

_LISTED = {
    (PATH, "the same file, on C:"): """
        TEXT azure-container-registry-config:..29 bootstrap-kubeconfig client-ca-file cloud-config:..33
            google-json-key:..12 kubeconfig tls-cert-file tls-private-key-file
    """,
    (FOLDER, "the same folder, on C:"): """
        TEXT bootstrap-checkpoint-path:..18 cert-dir dynamic-config-dir:..23 pod-manifest-path root-dir
            volume-plugin-dir
    """,
    (KEEP, _SAME): """
        SWITCH allow-privileged:..14 anonymous-auth authentication-token-webhook contention-profiling
            enable-cadvisor-json-endpoints:..20 enable-controller-attach-detach enable-debugging-handlers
            enable-server experimental-allocatable-ignore-eviction
            experimental-check-node-capabilities-before-mount:..23 experimental-logging-sanitization:20..23
            keep-terminated-pod-volumes:..30 local-storage-capacity-isolation:25.. log-json-split-stream:23..
            log-text-split-stream:30.. really-crash-for-testing:..23 redirect-container-streaming:..21
            register-node register-schedulable:..33 rotate-certificates rotate-server-certificates
            serialize-image-pulls
        TEXT address authorization-mode cluster-domain container-log-max-size healthz-bind-address
            kube-api-content-type log-json-info-buffer-size:23.. log-text-info-buffer-size:30..
            logging-format:19.. manifest-url master-service-namespace:..26 pod-cidr tls-min-version vmodule
        DURATION authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
            authorization-webhook-cache-unauthorized-ttl eviction-pressure-transition-period
            file-check-frequency http-check-frequency log-flush-frequency minimum-container-ttl-duration
            minimum-image-ttl-duration node-status-update-frequency runtime-request-timeout
            streaming-connection-idle-timeout sync-frequency volume-stats-agg-period
        NUMBER cadvisor-port:..11 container-log-max-files event-burst event-qps eviction-max-pod-grace-period
            healthz-port image-gc-high-threshold image-gc-low-threshold kube-api-burst kube-api-qps max-pods
            maximum-dead-containers maximum-dead-containers-per-container node-status-max-images pods-per-core
            port read-only-port registry-burst registry-qps
        LIST host-ipc-sources:..14 host-network-sources:..14 host-pid-sources:..14 tls-cipher-suites
        FRACTION chaos-chance:..21
    """,
    (KEEP, "Windows' own"): "TEXT windows-priorityclass:20..",
    (DROP, "Windows keeps its name servers in the registry, not in a file"): "TEXT resolv-conf",
    (DROP, "a Windows service stays"): "SWITCH runonce",
    (DROP, "images come from the same containerd"): "TEXT image-service-endpoint",
    (DROP, "an image for Linux; containerd names its own"): "TEXT pod-infra-container-image:..34",
    (DROP, "Windows has no control groups"): """
        TEXT cgroup-driver cgroup-root kube-reserved-cgroup kubelet-cgroups runtime-cgroups system-cgroups
            system-reserved-cgroup
        LIST enforce-node-allocatable
        PAIRS qos-reserved
        SWITCH cgroups-per-qos cpu-cfs-quota experimental-kernel-memcg-notification:..24 fail-cgroupv1:31..
            kernel-memcg-notification:19..
        DURATION cpu-cfs-quota-period
        NUMBER pod-max-pids
    """,
    (DROP, "where the log goes is for wmcb to decide, and newer kubelets do not know the flag"): """
        SWITCH add-dir-header:18..25 alsologtostderr:..25 logtostderr:..25 one-output:20..25 skip-headers:..25
            skip-log-headers:..25
        TEXT log-backtrace-at:..25 log-dir:..25 log-file:..25 stderrthreshold:..25
        NUMBER log-file-max-size:..25
    """,
    (DROP, "the kubelet would only print its help"): "SWITCH help",
    (DROP, "the kubelet would only print its version"): "SWITCH version",
    (DROP, "about the Linux kernel"): """
        LIST allowed-unsafe-sysctls
        SWITCH experimental-fail-swap-on:..13 protect-kernel-defaults seccomp-default:22..
        NUMBER max-open-files oom-score-adj
        TEXT seccomp-profile-root:..22
    """,
    (DROP, "for a kubelet inside a Linux container"): "SWITCH containerized:..15",
    (DROP, "the service control manager starts one kubelet and no other"): """
        SWITCH exit-on-lock-contention
        TEXT lock-file
    """,
    (DROP, "a mount program for Linux"): "TEXT experimental-mounter-path",
    (DROP, "a kubelet on Windows does not look at the page file"): "SWITCH fail-swap-on",
    (DROP, "about a Linux bridge"): "TEXT hairpin-mode",
    (DROP, "Windows has no iptables"): """
        NUMBER iptables-drop-bit:..30 iptables-masquerade-bit:..30
        SWITCH make-iptables-util-chains
    """,
    (DROP, "for Docker, which kubelets no longer run containers with"): """
        TEXT cni-bin-dir:..23 cni-cache-dir:16..23 cni-conf-dir:..23 docker-endpoint:..23
            experimental-dockershim-root-directory:..23 network-plugin:..23 non-masquerade-cidr:..23
        SWITCH docker-disable-shared-pid:..11 experimental-dockershim:..18
        DURATION image-pull-progress-deadline:..23
        NUMBER network-plugin-mtu:..23
    """,
    (DROP, _CADVISOR): """
        NUMBER application-metrics-count-limit
        TEXT boot-id-file container-hints containerd containerd-namespace:20..
            docker-env-metadata-whitelist:..23 docker-root:..23 docker-tls-ca:..23 docker-tls-cert:..23
            docker-tls-key:..23 docker:..23 event-storage-age-limit event-storage-event-limit machine-id-file
            storage-driver-db storage-driver-host storage-driver-table storage-driver-user
        SWITCH docker-only:..23 docker-tls:..23 enable-load-reader log-cadvisor-usage storage-driver-secure
        DURATION global-housekeeping-interval housekeeping-interval storage-driver-buffer-duration
    """,
}
"""Flags by what becomes of them and why. A kind comes before its flags. Behind a flag's name are the minor
releases that take it, FIRST..LAST, where that is not all of them."""
_ROWS = (
    Flag("cloud-provider", TEXT, RULE, _SAME),
    Flag("config", TEXT, RULE, "the configuration made right for Windows"),
    Flag("config-dir", TEXT, RULE, "its files are merged into the one configuration", first=28),
    Flag("experimental-bootstrap-kubeconfig", TEXT, RULE, "an old name of --bootstrap-kubeconfig", last=22),
    Flag("hostname-override", TEXT, RULE, "the name of this node"),
    Flag("node-ip", TEXT, RULE, "the addresses of this node"),
    Flag("node-labels", PAIRS, RULE, "the labels that this kubelet may give its node"),
    Flag("provider-id", TEXT, RULE, "the id of this machine"),
    Flag("register-with-taints", TAINTS, CONFIGURE, "pods for Linux stay away", "registerWithTaints"),
    Flag("windows-service", SWITCH, RULE, "the kubelet answers the service control manager"),
    Flag("cluster-dns", LIST, CONFIGURE, "the command line may say otherwise", "clusterDNS"),
    Flag("manifest-url-header", TEXT, KEEP, _SAME, secret=True),
    Flag("container-runtime", TEXT, RULE, _RUNTIME, last=26),
    Flag("container-runtime-endpoint", TEXT, RULE, _RUNTIME),
    Flag("image-credential-provider-bin-dir", TEXT, RULE, "the plug-ins have to be there", first=20),
    Flag("image-credential-provider-config", TEXT, RULE, "its plug-ins are .exe files", first=20),
    Flag("cpu-manager-policy", TEXT, CONFIGURE, _AFFINITY, "cpuManagerPolicy"),
    Flag("cpu-manager-policy-options", PAIRS, CONFIGURE, _AFFINITY, "cpuManagerPolicyOptions", first=22),
    Flag("cpu-manager-reconcile-period", DURATION, CONFIGURE, _AFFINITY, "cpuManagerReconcilePeriod"),
    Flag("eviction-hard", THRESHOLDS, CONFIGURE, _SIGNALS, "evictionHard"),
    Flag("eviction-minimum-reclaim", PAIRS, CONFIGURE, _SIGNALS, "evictionMinimumReclaim"),
    Flag("eviction-soft", THRESHOLDS, CONFIGURE, _SIGNALS, "evictionSoft"),
    Flag("eviction-soft-grace-period", PAIRS, CONFIGURE, _SIGNALS, "evictionSoftGracePeriod"),
    Flag("kube-reserved", PAIRS, CONFIGURE, "beside what the system needs", "kubeReserved"),
    Flag("memory-manager-policy", TEXT, CONFIGURE, _AFFINITY, "memoryManagerPolicy", first=21),
    Flag("reserved-cpus", TEXT, CONFIGURE, _AFFINITY, "reservedSystemCPUs", first=17),
    Flag("reserved-memory", RESERVATIONS, CONFIGURE, _AFFINITY, "reservedMemory", first=21),
    Flag("system-reserved", PAIRS, CONFIGURE, "Windows itself needs more memory", "systemReserved"),
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
    Flag("v", NUMBER, RULE, "how much the kubelet logs"),
    Flag("feature-gates", SWITCHES, CONFIGURE, "not every kubelet knows every gate", "featureGates"),
    Flag("storage-driver-password", TEXT, DROP, _CADVISOR, secret=True),
)
"""Flags of which there is more to say."""


def _listed() -> Iterator[Flag]:
    for (treatment, reason), listed in _LISTED.items():
        kind = Kind.TEXT
        for word in listed.split():
            if word in Kind.__members__:
                kind = Kind[word]
                continue
            name, _, releases = word.partition(":")
            first, _, last = releases.partition("..")
            until = int(last) if last else None
            yield Flag(name, kind, treatment, reason, first=int(first or 0), last=until)


FLAGS = (*_listed(), *_ROWS)


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
