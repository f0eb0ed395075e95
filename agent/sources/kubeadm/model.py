"""What a JoinConfiguration says, in either of its versions, with its defaults."""

from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent.redaction import register_name
from agent.secret_fields import registers_secrets
from agent.sources.node_names import canonical

PULL_POLICY = "IfNotPresent"
CA_CERTIFICATE = "C:/etc/kubernetes/pki/ca.crt"

PHASES = (
    "preflight", "control-plane-prepare", "check-etcd", "kubelet-start", "etcd-join",
    "kubelet-wait-bootstrap", "control-plane-join", "wait-control-plane",
)  # fmt: skip
"""Of `kubeadm join`, in its order. A worker has only preflight and the two of the kubelet."""


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        """As the kubelet's flag takes it."""
        value = f"={self.value}" if self.value else ""
        if not self.effect:
            return f"{self.key}{value}:" if value else self.key
        return f"{self.key}{value}:{self.effect}"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Argument:
    """Of the kubelet, beside those that kubeadm gives it."""

    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NodeRegistration:
    name: str = ""
    """In lower case; empty for the machine's own."""
    cri_socket: str = ""
    """As it was given; empty if the container runtime is to be looked for."""
    taints: tuple[Taint, ...] | None = None
    """None where nothing is said; a worker has none of its own, so that is the same as no taints."""
    kubelet_extra_args: tuple[Argument, ...] = ()
    ignore_preflight_errors: tuple[str, ...] = ()
    image_pull_policy: str = PULL_POLICY
    is_whole: bool = False
    """Of a node that has joined: the kubelet gets `kubelet_extra_args` and no other arguments."""

    def extra_argument(self, name: str) -> str | None:
        """The last one of that name."""
        found = [argument.value for argument in self.kubelet_extra_args if argument.name == name]
        return found[-1] if found else None


@registers_secrets
@dataclass(frozen=True, slots=True)
class BootstrapToken:
    token: str = field(repr=False)
    api_server_endpoint: str
    """HOST:PORT"""
    ca_cert_hashes: tuple[str, ...] = ()
    """sha256:HEX, of public keys; one of them has to be that of the cluster's CA."""
    unsafe_skip_ca_verification: bool = False


@registers_secrets
@dataclass(frozen=True, slots=True)
class Discovery:
    """By a token or by a file: exactly one of them is there."""

    bootstrap_token: BootstrapToken | None = None
    file: str | None = None
    """A kubeconfig's path on this machine, or its https URL."""
    tls_bootstrap_token: str = field(default="", repr=False)
    """What the kubelet gets its first certificate with; may be empty if the file has credentials."""

    @property
    def file_is_url(self) -> bool:
        return self.file is not None and self.file[:6].lower() == "https:"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds."""

    kubelet_health_check: float = 240.0
    kubernetes_api_call: float = 60.0
    tls_bootstrap: float = 300.0
    discovery: float = 300.0


@dataclass(frozen=True, slots=True)
class JoinConfiguration:
    discovery: Discovery
    node_registration: NodeRegistration = field(default_factory=NodeRegistration)
    ca_cert_path: str = CA_CERTIFICATE
    timeouts: Timeouts = field(default_factory=Timeouts)
    patches_directory: str = ""
    skip_phases: tuple[str, ...] = ()
    dry_run: bool = False


def node_name(registration: NodeRegistration, host_name: str) -> str:
    """What the node is called.

    In this order: `hostname-override` of nodeRegistration.kubeletExtraArgs, nodeRegistration.name (or
    --node-name), the machine's own DNS host name. Each in lower case, as the kubelet makes it. Windows cuts
    the NetBIOS name to 15 characters, but not the DNS host name: that one counts, without the DNS suffix.
    """
    override = registration.extra_argument("hostname-override")
    name = canonical(override or "") or registration.name or canonical(host_name)
    register_name(name)
    return name


KUBERNETES = PureWindowsPath(r"C:\etc\kubernetes")
KUBELET_CONF = KUBERNETES / "kubelet.conf"
BOOTSTRAP_KUBELET_CONF = KUBERNETES / "bootstrap-kubelet.conf"
LIBRARY = PureWindowsPath(r"C:\var\lib\kubelet")
CERTIFICATES = LIBRARY / "pki"
CONFIGURATION = LIBRARY / "config.yaml"
INSTANCE_CONFIGURATION = LIBRARY / "instance-config.yaml"
