"""What kubeadm holds against a JoinConfiguration, and the little more that could only fail later."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.sources import node_names, urls
from agent.sources.kubeadm import runtime_endpoint
from agent.sources.kubeadm.model import PHASES, BootstrapToken, Discovery, JoinConfiguration, NodeRegistration
from agent.sources.report import Place, quoted

Fault = tuple["Place", str]

_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}", re.ASCII)
_HASH = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII | re.IGNORECASE)
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_ON_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")

_DISCOVERY = ("discovery",)
_BOOTSTRAP_TOKEN = ("discovery", "bootstrapToken")
_REGISTRATION = ("nodeRegistration",)
_WANTED = (
    "it is no bootstrap token: six characters, a dot and sixteen more, of a to z and digits; "
    "`kubeadm token create` on a control-plane machine makes one"
)


def faults(configuration: JoinConfiguration) -> Iterator[Fault]:
    yield from _discovery(configuration.discovery)
    yield from _node_registration(configuration.node_registration)
    path = configuration.ca_cert_path
    if not is_absolute(path) or not path.endswith(".crt"):
        yield ("caCertPath",), f"{quoted(path)} has to be an absolute path that ends in .crt"


def _discovery(discovery: Discovery) -> Iterator[Fault]:
    token = discovery.bootstrap_token
    if token is None and discovery.file is None:
        yield _DISCOVERY, "bootstrapToken or file has to be there: nothing says how to find the cluster"
    if token is not None and discovery.file is not None:
        yield _DISCOVERY, "there are bootstrapToken and file; one of them has to go"
    if token is not None:
        yield from _bootstrap_token(token)
    if discovery.file is not None:
        yield from _file(discovery.file)
    own = discovery.tls_bootstrap_token
    # The same one is judged already.
    if own and (token is None or token.token != own) and not _TOKEN.fullmatch(own):
        yield (*_DISCOVERY, "tlsBootstrapToken"), _WANTED


def _bootstrap_token(token: BootstrapToken) -> Iterator[Fault]:
    if not token.ca_cert_hashes and not token.unsafe_skip_ca_verification:
        yield (
            (*_BOOTSTRAP_TOKEN, "caCertHashes"),
            (
                "it is missing: anybody who knows the token could pass for the cluster. Give the hash of its "
                "CA (sha256:..., as `kubeadm token create --print-join-command` tells it), or do "
                "without it (unsafeSkipCAVerification, --discovery-token-unsafe-skip-ca-verification)"
            ),
        )
    for number, pin in enumerate(token.ca_cert_hashes):
        if not _HASH.fullmatch(pin):
            yield (
                (*_BOOTSTRAP_TOKEN, "caCertHashes", number),
                "it is no hash of a public key: sha256: and 64 hexadecimal digits were expected",
            )
    if not _TOKEN.fullmatch(token.token):
        yield (*_BOOTSTRAP_TOKEN, "token"), _WANTED
    if fault := endpoint_fault(token.api_server_endpoint):
        yield (*_BOOTSTRAP_TOKEN, "apiServerEndpoint"), fault


def endpoint_fault(endpoint: str) -> str | None:
    """HOST:PORT as Go splits it, neither of them empty, and the port a number."""
    if not endpoint:
        return "HOST:PORT of the cluster's API server was expected, such as 10.0.0.1:6443"
    if _TOKEN.fullmatch(endpoint):
        return "it is a bootstrap token, which goes behind --token; HOST:PORT was expected, as 10.0.0.1:6443"
    scheme, slashes, _ = endpoint.partition("://")
    if slashes:
        return f"{quoted(endpoint)} is no HOST:PORT: leave {scheme}:// out"
    host, colon, port = endpoint.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return f"{quoted(endpoint)} is no HOST:PORT: an address of IPv6 stands in brackets"
    if not colon or not host or re.search(r"[][]", host):
        return f"{quoted(endpoint)} is no HOST:PORT, such as 10.0.0.1:6443"
    if re.search(r"[^A-Za-z0-9._:%-]", host):
        return f"{quoted(endpoint)} names a host that none can be called"
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 1 << 16):
        return f"{quoted(endpoint)} has no port between 1 and 65535 behind its last colon"
    return None


def _file(path: str) -> Iterator[Fault]:
    place = (*_DISCOVERY, "file", "kubeConfigPath")
    if _ON_A_DRIVE.match(path):
        return
    url = urls.parse(path)
    if not path or url is None or "\0" in path:
        yield place, "the path of a kubeconfig or an https URL was expected"
    elif url.scheme not in ("", "https"):
        yield place, f"a URL has to begin with https://, not {quoted(url.scheme + ':')}"


def _node_registration(registration: NodeRegistration) -> Iterator[Fault]:
    if registration.name and (fault := node_names.fault(registration.name)):
        yield (*_REGISTRATION, "name"), fault
    if registration.cri_socket and (fault := runtime_endpoint.fault(registration.cri_socket)):
        yield (*_REGISTRATION, "criSocket"), fault
    for number, argument in enumerate(registration.kubelet_extra_args):
        if not argument.name:
            yield (*_REGISTRATION, "kubeletExtraArgs", number), "an argument has to have a name"
    if fault := pull_policy_fault(registration.image_pull_policy):
        yield (*_REGISTRATION, "imagePullPolicy"), fault


def ignored_checks_fault(checks: tuple[str, ...]) -> str | None:
    """Of ignorePreflightErrors and --ignore-preflight-errors together. Capitals do not count."""
    if len({check.lower() for check in checks}) > 1 and "all" in map(str.lower, checks):
        return "all ignores every check: name it alone, or leave it out"
    return None


def ignored_checks_faults(checks: tuple[str, ...], place: Place) -> Iterator[Fault]:
    """Yield what is wrong with the list at this place, where no option is beside its file."""
    if fault := ignored_checks_fault(checks):
        yield place, fault


def pull_policy_fault(policy: str) -> str | None:
    """Return what is wrong with imagePullPolicy; an empty one is the usual one."""
    if not policy or policy in _PULL_POLICIES:
        return None
    return f"{quoted(policy)} is none of {', '.join(_PULL_POLICIES)}"


def is_absolute(path: str) -> bool:
    """Return whether kubeadm.exe regards the path as absolute: on a drive, or from a drive's top."""
    return path[:1] in ("/", "\\") or bool(_ON_A_DRIVE.match(path))


@dataclass(frozen=True, slots=True)
class Phases:
    """Of one command."""

    names: Sequence[str]
    needed: str
    """The one that is done whatever is skipped."""
    reason: str

    def fault(self, phase: str) -> str | None:
        """Return why this phase cannot be skipped."""
        # Of phases inside of phases kubeadm has names such as addon/coredns.
        if phase.partition("/")[0] not in self.names:
            return f"there is no such phase; kubeadm has {', '.join(self.names)}"
        if phase == self.needed:
            return f"this phase cannot be left out here: {self.reason}"
        return None

    def faults(self, skipped: Iterable[str], place: Place) -> Iterator[Fault]:
        """Yield a fault for each phase of the list at this place that cannot be skipped."""
        for number, phase in enumerate(skipped):
            if fault := self.fault(phase):
                yield (*place, number), f"{quoted(phase)}: {fault}"


PREFLIGHT = "preflight"
_ALL = "it is all that is done"
OF_JOIN = Phases(PHASES, "kubelet-start", "all else comes of it")
OF_RESET = Phases((PREFLIGHT, "remove-etcd-member", "cleanup-node"), "cleanup-node", _ALL)
OF_UPGRADE = Phases(
    (PREFLIGHT, "control-plane", "kubeconfig", "kubelet-config", "addon", "post-upgrade"),
    "kubelet-config",
    _ALL,
)
