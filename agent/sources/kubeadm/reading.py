"""A JoinConfiguration out of the bytes of a file, out of options, or out of a file with options on top.

With kubeadm's defaults and by its rules.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from agent.documents import Value, items, mapping, text, texts
from agent.secret_fields import registers_secrets
from agent.sources.durations import seconds
from agent.sources.kubeadm import model, validation
from agent.sources.kubeadm.decoding import Kind, decode
from agent.sources.kubeadm.model import BootstrapToken, Discovery, JoinConfiguration, NodeRegistration
from agent.sources.kubeadm.schema import VERSIONS
from agent.sources.kubeadm.validation import OF_JOIN, Fault
from agent.sources.node_names import canonical
from agent.sources.node_names import fault as name_fault
from agent.sources.report import Entry, Outcome, Place, Report, Severity, bounded, quoted

JOIN = Kind("JoinConfiguration", VERSIONS, "a join")
_CONTROL_PLANE = (
    "a Windows machine cannot be part of the control plane; run this join on a Linux machine, or leave "
    "controlPlane out to join as a worker"
)


def read(name: str, contents: bytes, *, strictly: bool = False) -> Outcome[JoinConfiguration]:
    """Strictly is as `kubeadm config validate` reads: unknown and repeated fields are errors, and so is what
    only a command judges, by its options too.
    """
    decoded = decode(JOIN, name, contents, strictly=strictly)
    if decoded.known.get("controlPlane") is not None:
        decoded.entry(Severity.ERROR, ("controlPlane",), _CONTROL_PLANE)
    if decoded.usable is None:
        return Outcome(None, bounded(decoded.entries))
    configuration = _configuration(decoded.known)
    own = _own_faults(configuration) if strictly else ()
    for place, message in (*validation.faults(configuration), *own):
        decoded.entry(Severity.ERROR, place, message)
    report = bounded(decoded.entries)
    return Outcome(None if report.fatal else configuration, report)


def _own_faults(configuration: JoinConfiguration) -> Iterator[Fault]:
    """What a join refuses too, unless options beside the file say otherwise."""
    yield from OF_JOIN.faults(configuration.skip_phases, ("skipPhases",))
    checks = configuration.node_registration.ignore_preflight_errors
    yield from validation.ignored_checks_faults(checks, ("nodeRegistration", "ignorePreflightErrors"))


# From here on all values have their shape.


def _configuration(known: dict[str, Value]) -> JoinConfiguration:
    discovery = mapping(known.get("discovery"))
    return JoinConfiguration(
        _discovery(discovery),
        _node_registration(mapping(known.get("nodeRegistration"))),
        text(known.get("caCertPath")) or model.CA_CERTIFICATE,
        timeouts(mapping(known.get("timeouts")), model.Timeouts(), discovery.get("timeout")),
        text(mapping(known.get("patches")).get("directory")),
        texts(known.get("skipPhases")),
        known.get("dryRun") is True,
    )


def _discovery(known: dict[str, Value]) -> Discovery:
    token, file = known.get("bootstrapToken"), known.get("file")
    given = None if token is None else _bootstrap_token(mapping(token))
    return Discovery(
        given,
        None if file is None else local_path(text(mapping(file).get("kubeConfigPath"))),
        text(known.get("tlsBootstrapToken")) or (given.token if given else ""),
    )


def _bootstrap_token(known: dict[str, Value]) -> BootstrapToken:
    return BootstrapToken(
        text(known.get("token")),
        text(known.get("apiServerEndpoint")),
        texts(known.get("caCertHashes")),
        known.get("unsafeSkipCAVerification") is True,
    )


def local_path(given: str) -> str:
    """Of a file: URL its path."""
    if given[:5].lower() != "file:":
        return given
    try:
        path = unquote(urlsplit(given).path)
    except ValueError:
        return given
    # file:///C:/a names C:/a.
    return path[1:] if path[2:3] == ":" else path


def _node_registration(known: dict[str, Value]) -> NodeRegistration:
    taints = known.get("taints")
    name = text(known.get("name"))
    return NodeRegistration(
        # Blanks alone are no name, and not the machine's own either.
        canonical(name) or name,
        text(known.get("criSocket")),
        None if taints is None else tuple(_taint(mapping(taint)) for taint in items(taints)),
        _arguments(known.get("kubeletExtraArgs")),
        texts(known.get("ignorePreflightErrors")),
        text(known.get("imagePullPolicy")) or model.PULL_POLICY,
    )


def _taint(known: dict[str, Value]) -> model.Taint:
    return model.Taint(text(known.get("key")), text(known.get("value")), text(known.get("effect")))


def _arguments(given: Value) -> tuple[model.Argument, ...]:
    """A map of v1beta3 has no order, and kubeadm sorts it; a list of v1beta4 may name one several times."""
    if isinstance(given, dict):
        return tuple(model.Argument(name, text(value)) for name, value in sorted(given.items()))
    pairs = [mapping(item) for item in items(given)]
    return tuple(model.Argument(text(pair.get("name")), text(pair.get("value"))) for pair in pairs)


def timeouts(known: dict[str, Value], usual: model.Timeouts, discovery: Value = None) -> model.Timeouts:
    """Return those that a node's commands have, and the usual ones where nothing is said.

    `discovery` is where v1beta3 has the one that it has.
    """

    def span(value: Value, otherwise: float) -> float:
        found = seconds(text(value)) if value is not None else None
        return otherwise if found is None else found

    return model.Timeouts(
        span(known.get("kubeletHealthCheck"), usual.kubelet_health_check),
        span(known.get("kubernetesAPICall"), usual.kubernetes_api_call),
        span(known.get("tlsBootstrap"), usual.tls_bootstrap),
        span(known.get("discovery", discovery), usual.discovery),
    )


_OPTIONS: dict[Place, str] = {
    ("discovery",): "HOST:PORT",
    ("discovery", "bootstrapToken", "apiServerEndpoint"): "HOST:PORT",
    ("discovery", "bootstrapToken", "token"): "--token",
    ("discovery", "bootstrapToken", "caCertHashes"): "--discovery-token-ca-cert-hash",
    ("discovery", "file", "kubeConfigPath"): "--discovery-file",
    ("discovery", "tlsBootstrapToken"): "--tls-bootstrap-token",
    ("nodeRegistration", "name"): "--node-name",
    ("nodeRegistration", "criSocket"): "--cri-socket",
}


@registers_secrets
@dataclass(frozen=True, slots=True)
class JoinOptions:
    """As `kubeadm join` takes them. Lists may hold several at once, with commas."""

    endpoint: str = ""
    """HOST:PORT"""
    token: str = field(default="", repr=False)
    """For both of the next, where they are not given."""
    discovery_token: str = field(default="", repr=False)
    tls_bootstrap_token: str = field(default="", repr=False)
    ca_cert_hashes: tuple[str, ...] = ()
    unsafe_skip_ca_verification: bool = False
    discovery_file: str = ""
    node_name: str = ""
    cri_socket: str = ""
    patches_directory: str = ""
    ignore_preflight_errors: tuple[str, ...] = ()
    skip_phases: tuple[str, ...] = ()
    dry_run: bool | None = None


def from_options(options: JoinOptions) -> Outcome[JoinConfiguration]:
    """What kubeadm makes of the same options. An entry's document is the option that it is about."""
    configuration = _of_options(options)
    entries = list(_without_discovery(options))
    if not entries:
        for place, message in validation.faults(configuration):
            entries.append(Entry(Severity.ERROR, message, _option(place)))
    entries += _faults_of_a_join(configuration)
    report = Report(tuple(entries))
    return Outcome(None if report.fatal else configuration, report)


def with_options(configuration: JoinConfiguration, options: JoinOptions) -> Outcome[JoinConfiguration]:
    """As with kubeadm, an option may stand beside --config where it says nothing about the cluster."""
    registration = configuration.node_registration
    name = canonical(options.node_name)
    made = replace(
        configuration,
        node_registration=replace(
            registration,
            name=name or registration.name,
            ignore_preflight_errors=(
                *registration.ignore_preflight_errors,
                *_separated(options.ignore_preflight_errors),
            ),
        ),
        skip_phases=tuple(_separated(options.skip_phases)) or configuration.skip_phases,
        dry_run=configuration.dry_run if options.dry_run is None else options.dry_run,
    )
    message = "it cannot stand beside --config, whose file says this"
    entries = [Entry(Severity.ERROR, message, option) for option in _not_beside_a_file(options)]
    if options.node_name and (fault := name_fault(name)):
        entries.append(Entry(Severity.ERROR, fault, "--node-name"))
    entries += _faults_of_a_join(made)
    report = Report(tuple(entries))
    return Outcome(None if report.fatal else made, report)


def _of_options(options: JoinOptions) -> JoinConfiguration:
    token = options.discovery_token or options.token
    by_token = BootstrapToken(
        token,
        options.endpoint,
        tuple(_separated(options.ca_cert_hashes)),
        options.unsafe_skip_ca_verification,
    )
    given = by_token if options.endpoint else None
    return JoinConfiguration(
        Discovery(
            given,
            local_path(options.discovery_file) if options.discovery_file else None,
            options.tls_bootstrap_token or options.token or (token if given else ""),
        ),
        NodeRegistration(
            name=canonical(options.node_name) or options.node_name,
            cri_socket=options.cri_socket,
            ignore_preflight_errors=tuple(_separated(options.ignore_preflight_errors)),
        ),
        patches_directory=options.patches_directory,
        skip_phases=tuple(_separated(options.skip_phases)),
        dry_run=options.dry_run is True,
    )


def _without_discovery(options: JoinOptions) -> Iterator[Entry]:
    """In the words of the command line, where a file would have fields."""
    if options.endpoint and options.discovery_file:
        message = "it cannot stand beside HOST:PORT: the file says where the cluster is"
        yield Entry(Severity.ERROR, message, "--discovery-file")
    elif not options.endpoint and not options.discovery_file:
        message = (
            "it is missing; `kubeadm token create --print-join-command` on a control-plane machine prints it "
            "with --token and --discovery-token-ca-cert-hash; or give --discovery-file or --config"
        )
        yield Entry(Severity.ERROR, message, "HOST:PORT")
    elif options.endpoint and not (options.token or options.discovery_token):
        message = "it is missing; `kubeadm token create` on a control-plane machine makes one"
        yield Entry(Severity.ERROR, message, "--token")


def _faults_of_a_join(configuration: JoinConfiguration) -> Iterator[Entry]:
    """What kubeadm checks only when it joins, wherever it comes from."""
    if fault := validation.ignored_checks_fault(configuration.node_registration.ignore_preflight_errors):
        yield Entry(Severity.ERROR, fault, "--ignore-preflight-errors")
    for phase in configuration.skip_phases:
        # That one is needed is reported with the field where a file says so.
        if phase != OF_JOIN.needed and (fault := OF_JOIN.fault(phase)):
            yield Entry(Severity.ERROR, f"{quoted(phase)}: {fault}", "--skip-phases")


def _not_beside_a_file(options: JoinOptions) -> Iterator[str]:
    given: dict[str, object] = {
        "HOST:PORT": options.endpoint,
        "--token": options.token,
        "--discovery-token": options.discovery_token,
        "--tls-bootstrap-token": options.tls_bootstrap_token,
        "--discovery-token-ca-cert-hash": options.ca_cert_hashes,
        "--discovery-token-unsafe-skip-ca-verification": options.unsafe_skip_ca_verification,
        "--discovery-file": options.discovery_file,
        "--cri-socket": options.cri_socket,
        "--patches": options.patches_directory,
    }
    yield from (name for name, value in given.items() if value)


def _option(place: Place) -> str:
    while place and place not in _OPTIONS:
        place = place[:-1]
    return _OPTIONS.get(place, "the options")


def _separated(given: Iterable[str]) -> Iterator[str]:
    for item in given:
        yield from filter(None, (part.strip() for part in item.split(",")))
