"""From the options to the specification of a node."""

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from pathlib import PureWindowsPath

from agent import log_runner as runners
from agent.cli import checking, options, values
from agent.cli.arguments import Request
from agent.cli.asking import Asking, Wishes
from agent.cli.failure import Failure
from agent.cli.given import given_file
from agent.cli.inputs import require_document
from agent.cli.kubelet_program import (
    CHECK,
    HEAD,
    KubeletProgram,
    fault_of_program,
    kubelet_program,
    said_release,
)
from agent.cli.machine import is_sandbox
from agent.cli.run_log import SOURCE
from agent.fetch.failure import Failed
from agent.fetch.fetching import get_metadata
from agent.host.errors import NotFound
from agent.host.port import Host
from agent.sources import platforms
from agent.sources.kubelet.folders import ARGUMENTS_FILE, KUBELET_LOG, LogRunner, Placement
from agent.sources.kubelet.node import RUNTIME_ENDPOINT, Kubelet, Node
from agent.spec import EventSource, Inline, Specification

_OPENSHIFT_DESCRIPTION = "OpenShift managed kubelet"
"""By which OpenShift's other programs know the service as theirs."""

_TCPIP = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"


def wishes(request: Request, host: Host, asking: Asking, program: KubeletProgram | None) -> Wishes:
    """Raises BadUsage. Without a program one is taken for granted where programs go."""
    release = program.release if program else lambda: said_release(request) or Kubelet()
    node, placement = _node(request, host), _placement(request, host, asking, program)
    if asking.is_openshift_layout:
        node = replace(node, install_directory=str(placement.install_directory))
        placement = replace(placement, description=_OPENSHIFT_DESCRIPTION)
    return Wishes(release, node, placement)


def fit_for(request: Request, host: Host, asking: Asking) -> Specification:
    """What is wanted of this machine. Raises BadUsage, and Refused for a machine that is not fit."""
    if not host.access.is_administrator() and checking.ADMINISTRATOR_CHECK not in asking.ignored:
        # Known at once; a document may have to be fetched first.
        checking.refuse_unfit(checking.machine_findings(request, host, asking, None), asking)
    specification = asked_for(request, host, asking, is_run=True)
    checking.refuse_unfit(checking.machine_findings(request, host, asking, specification), asking)
    return specification


def asked_for(request: Request, host: Host, asking: Asking, *, is_run: bool = False) -> Specification:
    """Raises BadUsage, and for a run Refused where the machine is unfit whatever the cluster will say."""
    require_document(request, asking)
    program = kubelet_program(request, host, asking)
    if is_run and asking.join is not None:
        checking.refuse_unfit(checking.errors_beforehand(request, host, asking), asking)
    return wanted_node(request, host, asking, lambda: wishes(request, host, asking, program))


def with_event_source(specification: Specification, placement: Placement) -> Specification:
    """Our log runner stays on the machine, and carries the texts of our own events as well."""
    path = placement.log_runner_path
    if path is None or path.name != runners.NAME:
        return specification
    wants = (*specification.wants, EventSource(SOURCE, path))
    return Specification.of(wants, specification.notes, specification.title)


def wanted_node(request: Request, host: Host, asking: Asking, wish: Callable[[], Wishes]) -> Specification:
    """Raises BadUsage for a document that cannot be meant, Failure for a cluster that does not answer."""
    if asking.join is not None:
        from agent.cli import join  # noqa: PLC0415 - requests, 0.3 s under Wine

        specification, wished = join.node_to_join(request, host, asking, wish)
        return with_event_source(specification, wished.placement)
    from agent.cli import ignition  # noqa: PLC0415 - Ignition's reader, 0.1 s, which no join needs

    specification, wished = ignition.node_of_ignition(request, host, asking, wish)
    return with_event_source(specification, wished.placement)


def _node(request: Request, host: Host) -> Node:
    version = host.facts.windows_version()
    said = Node(
        host_name=host.facts.host_name(),
        os_version=f"{version.major}.{version.minor}.{version.build}",
        name=values.node_name(request, options.NODE_NAME, ""),
        addresses=values.node_addresses(request, options.NODE_IP),
        found_addresses=_found_addresses(host),
        cluster_dns=values.addresses(request, options.CLUSTER_DNS),
        verbosity=values.number(request, options.VERBOSITY, ""),
        runtime_endpoint=values.endpoint(request, options.RUNTIME_ENDPOINT, RUNTIME_ENDPOINT),
    )
    identity = platform_identity(request, host)  # last: it may ask the network
    return replace(said, name=said.name or identity.name, provider_id=identity.provider_id)


def _found_addresses(host: Host) -> tuple[str, ...]:
    """One of each family where there is no choice; with several the kubelet finds out by itself."""
    found = [ipaddress.ip_address(each.address.partition("%")[0]) for each in host.facts.addresses()]
    usable = [address for address in found if not address.is_link_local]
    alone = []
    for version in (4, 6):
        of_family = [address for address in usable if address.version == version]
        alone += of_family if len(of_family) == 1 else []
    return tuple(map(str, alone))


def _placement(request: Request, host: Host, asking: Asking, program: KubeletProgram | None) -> Placement:
    directory = values.install_directory(request)
    file = program.file if program and not program.file.is_at(directory / "kubelet.exe") else None
    runner = log_runner(request, host, asking, program, directory)
    usual = asking.join.timeouts.kubelet_health_check if asking.join else Placement(None).well_within_seconds
    patience = values.seconds(request, options.START_TIMEOUT, usual)
    return Placement(file, runner, directory, checking.runtime_service(request, asking), patience)


def platform_identity(request: Request, host: Host) -> platforms.Identity:
    """What the platform that this machine runs on calls it.

    Raises BadUsage for an unknown platform, Failure where it does not answer.
    """
    platform = request.value(options.PLATFORM, "")
    machine = platforms.Machine(host.facts.host_name(), _domain(host))
    try:
        return platforms.identity(platform, machine, get_metadata)
    except platforms.UnknownPlatform as fault:
        raise options.PLATFORM.misused(f": {fault}") from fault
    except (Failed, platforms.BadAnswer) as fault:
        advice = f"or leave it out and name the node with {options.NODE_NAME.name}"
        text = f"{options.PLATFORM.name} {platform}: {fault}; {advice}"
        raise Failure(text, where=options.PLATFORM.name) from fault


def _domain(host: Host) -> str:
    """The primary DNS suffix."""
    try:
        found = host.registry.read(_TCPIP, "NV Domain")
    except NotFound:
        return ""
    return str(found.data) if found else ""


def log_runner(
    request: Request, host: Host, asking: Asking, program: KubeletProgram | None, directory: PureWindowsPath
) -> LogRunner | None:
    """Which program writes the kubelet's log: Kubernetes' own where it is at hand, otherwise ours.

    None where there is none, as where wmcb runs from source. Raises BadUsage.
    """
    if asking.join is not None:
        # Kubernetes' own reads no file of arguments.
        return _our_own(ARGUMENTS_FILE)
    given = None
    if request.has(options.LOG_RUNNER):
        given = given_file(request, options.LOG_RUNNER, host)
    elif program is not None:
        given = program.file.beside(runners.OF_KUBERNETES)
    if given is None or program is None:
        return _our_own()
    if fault := fault_of_program(given.head(HEAD), of_this_system=is_sandbox(request)):
        asking.object_to(CHECK, given.objection(fault))
    content = None if given.is_at(directory / runners.OF_KUBERNETES) else given
    arguments = runners.arguments_of_kubernetes(KUBELET_LOG, program.release().minor)
    return LogRunner(runners.OF_KUBERNETES, content, arguments)


def _our_own(more: PureWindowsPath | None = None) -> LogRunner | None:
    content = runners.program()
    if content is None:
        return None
    return LogRunner(runners.NAME, Inline(content), runners.arguments(KUBELET_LOG, more), more)
