"""The options that say which cluster to join, by kubeadm's own names."""

from agent.cli import options
from agent.cli.arguments import OUTPUT, Option, Request

COMMAND = "join"
CONFIG = Option("--config", "a JoinConfiguration, in place of options", "FILE")
TOKEN = Option("--token", "for both discovery and the first certificate", "TOKEN")
DISCOVERY_TOKEN = Option("--discovery-token", "proves the cluster's address and CA", "TOKEN")
CA_HASH = Option("--discovery-token-ca-cert-hash", "of the cluster's CA: sha256:HEX", "HASH", repeated=True)
START_TIMEOUT = Option("--start-timeout", "seconds for the kubelet to be well (240)", "N")
UNVERIFIED_CA = Option("--discovery-token-unsafe-skip-ca-verification", "trust whoever knows the token")
DISCOVERY_FILE = Option("--discovery-file", "a kubeconfig of the cluster", "FILE|URL")
BOOTSTRAP_TOKEN = Option("--tls-bootstrap-token", "for the kubelet's first certificate", "TOKEN")
CRI_SOCKET = Option("--cri-socket", "where the container runtime listens", "URL")
PATCHES = Option("--patches", "a folder: patches of its configuration", "DIR")
SKIP_PHASES = Option("--skip-phases", "of kubeadm's: not to be done", "NAMES", repeated=True)
CORDON = Option("--cordon", "no new pods for the node meanwhile")
DRAIN = Option("--drain", "the same, and its pods are evicted first")
DRAIN_TIMEOUT = Option("--drain-timeout", "seconds for its pods to be gone (300)", "N")
EMPTY_DIRS = Option("--delete-emptydir-data", "evict also pods that keep data in an emptyDir")
CONTROL_PLANE = Option("--control-plane", "only on Linux")
CERTIFICATE_KEY = Option("--certificate-key", "of the control plane, on Linux", "KEY")
ADVERTISE_ADDRESS = Option("--apiserver-advertise-address", "of the control plane, on Linux", "IP")
BIND_PORT = Option("--apiserver-bind-port", "of the control plane, on Linux", "N")
USUAL_BIND_PORT = "6443"
KUBEADM_VERBOSITY = Option("--v", "kubeadm's; --verbose says more here", "N")

SECRETS = (TOKEN, DISCOVERY_TOKEN, BOOTSTRAP_TOKEN, CERTIFICATE_KEY)
OF_CONTROL_PLANE = (CERTIFICATE_KEY, ADVERTISE_ADDRESS, BIND_PORT)
"""What kubeadm heeds only beside --control-plane."""
UNLISTED = (ADVERTISE_ADDRESS, BIND_PORT)
"""Options of a join that its help does not list."""

CLUSTER = (
    *(TOKEN, DISCOVERY_TOKEN, CA_HASH, UNVERIFIED_CA, DISCOVERY_FILE, BOOTSTRAP_TOKEN, options.NODE_NAME),
    *(CRI_SOCKET, PATCHES, SKIP_PHASES, CONFIG),
)
"""What a JoinConfiguration can say as well."""

UPGRADE = (
    *(options.KUBELET, options.KUBELET_VERSION, PATCHES, CORDON, DRAIN, DRAIN_TIMEOUT, EMPTY_DIRS),
    *(options.START_TIMEOUT, options.IGNORE, OUTPUT, options.DRY_RUN, options.ROLLBACK),
)
JOIN = (
    *(*CLUSTER, *options.CONFIGURATION, options.NODE_IP, options.KUBELET, options.INSTALL_DIRECTORY),
    *(options.KUBELET_VERSION, options.CONTAINER_RUNTIME, START_TIMEOUT, options.ALLOW_REBOOT),
    *(options.IGNORE, OUTPUT, options.DRY_RUN, options.ROLLBACK, CONTROL_PLANE, CERTIFICATE_KEY),
    KUBEADM_VERBOSITY,
)


def joins(request: Request) -> bool:
    """Whether the node is to be one of a cluster that kubeadm made, and is none yet."""
    return called(request) == COMMAND or request.has(options.KUBEADM_CONFIG)


def upgrades(request: Request) -> bool:
    return called(request) == "upgrade"


def called(request: Request) -> str:
    """The command, without what it is to do of it."""
    return request.command.name.partition(" ")[0] if request.command else ""
