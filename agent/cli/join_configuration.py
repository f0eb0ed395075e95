"""Which cluster is to be joined, and as whom: what a join has to know before it asks anybody."""

import re
from collections.abc import Callable

from agent.cli import options
from agent.cli.arguments import Option, Request
from agent.cli.asking import Asking, Notice, usable
from agent.cli.failure import BadUsage
from agent.cli.given import GivenFile, given_file, named_file, refuse_another_kind
from agent.host.port import Host
from agent.sources.kubeadm.model import Discovery, JoinConfiguration, NodeRegistration, node_name
from agent.sources.kubeadm.reading import JoinOptions, from_options, read, with_options
from agent.sources.node_names import fault as name_fault

START = "kubelet-start"
"""A phase of kubeadm's."""
_ENDINGS_OF_DOCUMENTS = (".yaml", ".yml", ".json", ".conf")


def configuration_of(request: Request, host: Host, asking: Asking) -> JoinConfiguration:
    """Raises BadUsage for one that cannot be meant."""
    given, file = _join_options(request), _file_option(request)
    if request.operand.lower().endswith(_ENDINGS_OF_DOCUMENTS):
        text = f"HOST:PORT is expected here; {options.CONFIG.name} FILE takes a JoinConfiguration"
        raise BadUsage(f"{request.operand}: {text}", where="HOST:PORT")
    if file is None:
        outcome = from_options(given)
    else:
        document = given_file(request, file, host)
        refuse_another_kind(document, options.KUBEADM_CONFIG, host)
        found = read(document.shown, document.read())
        outcome = with_options(usable(found.configuration, found.report, asking), given)
    configuration = usable(outcome.configuration, outcome.report, asking)
    _refuse_without_start(request, configuration)
    return configuration


def _refuse_without_start(request: Request, configuration: JoinConfiguration) -> None:
    """Raises BadUsage where the one phase is to be skipped that is needed."""
    if START in configuration.skip_phases:
        where = options.SKIP_PHASES.name if request.has(options.SKIP_PHASES) else "skipPhases"
        raise BadUsage.of(where, START, "this phase cannot be left out here: all else comes of it")


def check_options(request: Request) -> None:
    """Raises BadUsage for options that are wrong whatever a file beside them says. Reads no file."""
    given = _join_options(request)
    of_file = JoinConfiguration(Discovery(), NodeRegistration())
    outcome = from_options(given) if _file_option(request) is None else with_options(of_file, given)
    _refuse_without_start(request, usable(outcome.configuration, outcome.report, Asking()))


def name_of(configuration: JoinConfiguration, host: Host) -> str:
    """Raises BadUsage for one that no node can have."""
    name = node_name(configuration.node_registration, host.facts.host_name())
    if fault := name_fault(name):
        raise BadUsage.of(options.NODE_NAME.name, name, fault)
    return name


def discovery_file(request: Request, host: Host) -> Callable[[str], GivenFile]:
    def file(given: str) -> GivenFile:
        where, place = named(request, options.DISCOVERY_FILE, "discovery.file.kubeConfigPath", given)
        return named_file(request, where, place, host)

    return file


def named(request: Request, option: Option, place: str, given: str) -> tuple[str, str]:
    """What names a file or a folder, and its path: in a document one of Linux is the same path on C:."""
    if request.has(option):
        return option.name, given
    is_rooted = given[:1] in ("/", "\\") and given[1:2] not in ("/", "\\")
    return place, f"C:{given}" if is_rooted else given


def _file_option(request: Request) -> Option | None:
    return next((each for each in (options.KUBEADM_CONFIG, options.CONFIG) if request.has(each)), None)


def _join_options(request: Request) -> JoinOptions:
    def listed(option: Option) -> tuple[str, ...]:
        return (request.value(option, ""),) if request.has(option) else ()

    return JoinOptions(
        endpoint=request.operand,
        token=request.value(options.TOKEN, ""),
        discovery_token=request.value(options.DISCOVERY_TOKEN, ""),
        tls_bootstrap_token=request.value(options.BOOTSTRAP_TOKEN, ""),
        ca_cert_hashes=listed(options.CA_HASH),
        unsafe_skip_ca_verification=request.has(options.UNVERIFIED_CA),
        discovery_file=request.value(options.DISCOVERY_FILE, ""),
        node_name=request.value(options.NODE_NAME, ""),
        cri_socket=request.value(options.CRI_SOCKET, ""),
        patches_directory=request.value(options.PATCHES, ""),
        ignore_preflight_errors=listed(options.IGNORE),
        skip_phases=listed(options.SKIP_PHASES),
        dry_run=False if request.is_off(options.DRY_RUN) else None,
    )


def as_worker(request: Request, notice: Notice) -> Request:
    """Return the request without the options that kubeadm heeds only beside --control-plane.

    Raises BadUsage for --control-plane itself, and for such options beside --config, as kubeadm does.
    """
    if request.has(options.CONTROL_PLANE):
        fault = "a Windows machine cannot be part of the control plane; leave it out"
        raise options.CONTROL_PLANE.misused(f": {fault}")
    for option in options.OF_CONTROL_PLANE:
        if request.has(option):
            _check_of_control_plane(request, option)
            if request.value(option, "") not in ("", options.USUAL_BIND_PORT):
                alone = f"has no effect without {options.CONTROL_PLANE.name}"
                notice(f"warning: {option.name} {alone}: this machine joins as a worker")
    ignored = {option.name for option in options.OF_CONTROL_PLANE}
    return request.with_values({name: value for name, value in request.values.items() if name not in ignored})


def _check_of_control_plane(request: Request, option: Option) -> None:
    """Raises BadUsage."""
    value = request.value(option, "")
    if request.has(options.CONFIG):
        raise option.misused(f": it cannot stand beside {options.CONFIG.name}, whose file says this")
    if option is options.BIND_PORT and not re.fullmatch("[0-9]{1,9}", value):
        raise BadUsage.of(option.name, value, "expected the number of a port, such as 6443")
