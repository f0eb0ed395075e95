"""The options of all commands: those that say what node is wanted, and which cluster to join.

The latter have kubeadm's own names.
"""

from agent.cli.arguments import OUTPUT, Option, Request

IGNITION = Option("--ignition", "the worker Ignition, or the pointer to one", "FILE")
KUBEADM_CONFIG = Option("--kubeadm-config", "a kubeadm JoinConfiguration", "FILE")
USER_DATA = Option("--user-data", "cloud-config, as Cluster API writes it", "FILE")
META_DATA = Option("--metadata", "JSON with the values of its templates", "FILE")
NODE_CONFIG = Option("--node-config", "a NodeConfiguration, carried out first", "FILE")
KUBELET = Option("--kubelet", "kubelet.exe; copied to where programs go", "FILE")
IGNITION_FILE = Option("--ignition-file", "the worker Ignition", "FILE")
KUBELET_PATH = Option("--kubelet-path", "kubelet.exe; copied to where programs go", "FILE")
KUBERNETES_VERSION = Option("--kubernetes-version", "whose kubelet.exe is fetched", "V")
FOR_IMAGE = Option("--for-image", "leave nothing that is one machine's alone")
IMAGE = Option("--image", "instead: whether it is fit to be an image")
INSTALL_DIRECTORY = Option("--install-dir", r"where programs go (C:\k)", "DIR")
LICENSES = Option("--licenses", "instead: the licences of all parts of it")
KUBELET_VERSION = Option("--kubelet-version", "of a kubelet.exe that cannot be run here", "V")
NODE_NAME = Option("--node-name", "in place of this machine's host name", "NAME")
NODE_IP = Option("--node-ip", "the node's address, or two: IPv4,IPv6", "IP[,IP]")
CLUSTER_DNS = Option("--cluster-dns", "the cluster's name server, or several", "IP[,IP]")
PLATFORM = Option("--platform-type", "aws, azure, gcp, vsphere, none ...", "NAME")
VERBOSITY = Option("--kubelet-verbosity", "of the kubelet's log (as given, or 3)", "N")
CONTAINER_RUNTIME = Option("--runtime-service", "needed by the kubelet (containerd), or none", "NAME")
RUNTIME_ENDPOINT = Option("--container-runtime-endpoint", "where containerd listens, if elsewhere", "URL")
MAX_TIME = Option("--max-time", "seconds for each URL, repeats included", "N")
ALLOW_PLAIN_HTTP = Option("--allow-plain-http", "fetch without TLS or digest")
MAX_FILE_SIZE = Option("--max-file-size", "of an Ignition's file, unpacked (256Mi)", "SIZE")
START_TIMEOUT = Option("--start-timeout", "seconds for kubelet's start (60; join: 240)", "N")
LOG_RUNNER = Option("--log-runner", "kube-log-runner.exe, if not beside kubelet", "FILE")
IGNORE = Option("--ignore-preflight-errors", "go on in spite of these: ID,ID or all", "IDS")
FORGET = Option("--forget", "leave all as it is; only forget it")
FIX = Option("--fix", "put right what can be, as any other run")
FORCE = Option("--force", "refused: nobody is asked here", short="-f")
DELETE_NODE = Option("--delete-node", "also the Node in the cluster")
DELETE_AS = Option("--kubeconfig", "of somebody who may delete the Node", "FILE")
END_PODS = Option("--end-pods", "also end what containerd runs of its pods")
ALL_HNS = Option("--all-hns", "also container networks that others made")
FEATURES = Option("--features", "also the features of Windows it switched on")
KEEP_PREPARED = Option("--keep-prepared", "not what prepare and --node-config made")
CLEAN_TMP = Option("--cleanup-tmp-dir", r"also C:\etc\kubernetes\tmp of kubeadm's")
AS_KUBEADM = Option("--kubeadm", "also as kubeadm.exe, which takes its lines")
CONFIG_MAP = Option("--config-map", "follow this ConfigMap's node.yaml", "NAMESPACE/NAME")
PUBLIC_KEY = Option("--public-key", "minisign's; the ConfigMap has to be signed", "KEY|FILE")
OPERATOR_KUBECONFIG = Option("--kubeconfig", "by which it asks the cluster", "FILE")
NAMESPACE = Option("--namespace", "of the operator's ConfigMaps", "NAME")
DESIRED_VERSION = Option("--desired-version", "of the services ConfigMap", "V")
WINDOWS_SERVICE = Option("--windows-service", "Windows has started it")
LOG_DIR = Option("--log-dir", "where it says what it does", "DIR")
LOG_SIZE = Option("--log-file-max-size", "of that log, in MB, or 5; 0: any size", "N")
CA_BUNDLE = Option("--ca-bundle", "certificates that Windows is to believe", "FILE")
CERT_DIR = Option("--cert-dir", "not heeded: it asks by the kubeconfig", "DIR")
CERT_DURATION = Option("--cert-duration", "not heeded, as --cert-dir", "1h")
METRICS_PORT = Option("--metrics-port", "tell Prometheus on 127.0.0.1:N; 0: do not", "N")
START = Option("--start", "and start it, if it does not run")
UNFOLLOW = Option("--unfollow", "follow none, and take away what it made")
ALLOW_REBOOT = Option("--allow-reboot", "restart Windows if need be, and go on")
DRY_RUN = Option("--dry-run", "show what would be done, and do nothing")
RECURSIVE = Option("--recursive", "also the fields of fields, by name")
MIRROR = Option(
    "--mirror", "fetch URLs that begin with FROM from TO", "FROM=TO", repeated=True, ended_by_none=True
)
ARTIFACTS = Option("--artifacts", "a folder of artifacts, by name or digest", "DIR", ended_by_none=True)
FOR = Option("--for", "go on by itself after this time", "2h")
ROLLBACK = Option("--rollback", "only take back what an interrupted run did")

DOCUMENTS = (IGNITION, KUBEADM_CONFIG, USER_DATA)
"""Each says what the whole node is: one of them is given, and no two. agent.cli.inputs goes on from there."""

NODE = (
    *(*DOCUMENTS, META_DATA, KUBELET, INSTALL_DIRECTORY, KUBELET_VERSION, NODE_NAME, NODE_IP, CLUSTER_DNS),
    *(PLATFORM, VERBOSITY, CONTAINER_RUNTIME, RUNTIME_ENDPOINT, START_TIMEOUT, MAX_TIME, ALLOW_PLAIN_HTTP),
    *(MAX_FILE_SIZE, LOG_RUNNER, OUTPUT),
)

OF_CONTENTS = (MIRROR, ARTIFACTS)
"""Where contents are had that a document names and does not hold."""
CONFIGURATION = (NODE_CONFIG, *OF_CONTENTS)

OF_USER_DATA = (USER_DATA, META_DATA)
FORESEEABLE = tuple(option for option in NODE if option not in OF_USER_DATA)
"""User data's commands may change what comes after them."""

BOOTSTRAPPER = (
    *(IGNITION_FILE, KUBELET_PATH, INSTALL_DIRECTORY, NODE_IP, CLUSTER_DNS, PLATFORM, VERBOSITY),
    *(KUBELET_VERSION, CONTAINER_RUNTIME, ALLOW_PLAIN_HTTP, IGNORE),
)
"""What OpenShift's Windows Machine Config Bootstrapper knows, and what a refusal may ask for."""

# Which cluster to join

CONFIG = Option("--config", "a JoinConfiguration, in place of options", "FILE")
TOKEN = Option("--token", "for both discovery and the first certificate", "TOKEN")
DISCOVERY_TOKEN = Option("--discovery-token", "proves the cluster's address and CA", "TOKEN")
CA_HASH = Option("--discovery-token-ca-cert-hash", "of the cluster's CA: sha256:HEX", "HASH", repeated=True)
JOIN_START_TIMEOUT = Option("--start-timeout", "seconds for the kubelet to be well (240)", "N")
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
JOIN_UNLISTED = (ADVERTISE_ADDRESS, BIND_PORT)
"""Options of a join that its help does not list."""

CLUSTER = (
    *(TOKEN, DISCOVERY_TOKEN, CA_HASH, UNVERIFIED_CA, DISCOVERY_FILE, BOOTSTRAP_TOKEN, NODE_NAME),
    *(CRI_SOCKET, PATCHES, SKIP_PHASES, CONFIG),
)
"""What a JoinConfiguration can say as well."""

UPGRADE = (
    *(KUBELET, KUBELET_VERSION, PATCHES, CORDON, DRAIN, DRAIN_TIMEOUT, EMPTY_DIRS, START_TIMEOUT, IGNORE),
    *(OUTPUT, DRY_RUN, ROLLBACK),
)
JOIN = (
    *(*CLUSTER, *CONFIGURATION, NODE_IP, KUBELET, INSTALL_DIRECTORY, KUBELET_VERSION, CONTAINER_RUNTIME),
    *(JOIN_START_TIMEOUT, ALLOW_REBOOT, IGNORE, OUTPUT, DRY_RUN, ROLLBACK, CONTROL_PLANE, CERTIFICATE_KEY),
    KUBEADM_VERBOSITY,
)


def joins(request: Request) -> bool:
    """Whether the node is to be one of a cluster that kubeadm made, and is none yet."""
    return called(request) == "join" or request.has(KUBEADM_CONFIG)


def upgrades(request: Request) -> bool:
    return called(request) == "upgrade"


def called(request: Request) -> str:
    """The command, without what it is to do of it."""
    return request.command.name.partition(" ")[0] if request.command else ""
