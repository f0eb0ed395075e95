"""A JoinConfiguration made of command-line options, or one from a file with options on top."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from agent.secret_fields import registers_secrets
from agent.sources.kubeadm import validation
from agent.sources.kubeadm.model import BootstrapToken, Discovery, JoinConfiguration, NodeRegistration
from agent.sources.kubeadm.reading import local_path
from agent.sources.kubeadm.validation import OF_JOIN
from agent.sources.node_names import canonical
from agent.sources.node_names import fault as name_fault
from agent.sources.report import Entry, Outcome, Place, Report, Severity, quoted

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
    configuration = _configuration(options)
    entries = list(_without_discovery(options))
    if not entries:
        for place, message in validation.faults(configuration):
            entries.append(Entry(Severity.ERROR, message, _option(place)))
    entries += _own_faults(configuration)
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
    entries += _own_faults(made)
    report = Report(tuple(entries))
    return Outcome(None if report.fatal else made, report)


def _configuration(options: JoinOptions) -> JoinConfiguration:
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


def _own_faults(configuration: JoinConfiguration) -> Iterator[Entry]:
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
