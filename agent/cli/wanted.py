"""From the options to the specification of a node."""

from __future__ import annotations

import ipaddress
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli import options
from agent.cli.failure import BadUsage
from agent.cli.given import given_file
from agent.cli.machine import is_sandbox
from agent.cli.program_file import fault_of_program
from agent.cli.streams import tell
from agent.host.errors import HostError

if TYPE_CHECKING:
    from agent.cli.arguments import Option, Request
    from agent.cli.given import GivenFile
    from agent.host.port import Host
    from agent.sources.kubelet.node import Kubelet, Node
    from agent.sources.report import Report
    from agent.sources.worker import LogRunner, Placement
    from agent.spec import Specification

_HEAD = 4096
_SECONDS_FOR_VERSION = 60.0
_MOST_LINES = 20


def wanted_node(request: Request, host: Host) -> Specification:
    """Raises BadUsage; warnings of the documents are told."""
    from agent.cli.fetching import IgnitionFetch
    from agent.sources import ignition, worker

    document = given_file(request, options.IGNITION, host)
    program = given_file(request, options.KUBELET, host)
    if fault := fault_of_program(program.head(_HEAD), of_this_system=is_sandbox(request)):
        raise BadUsage(f"{options.KUBELET.name} {program.shown}: {fault}")
    kubelet, node, placement = (
        _kubelet(request, host, program),
        _node(request, host),
        _placement(request, program),
    )
    fetch = IgnitionFetch()
    outcome = ignition.load(document.shown, document.read(), fetch)
    compiled = worker.compiled(outcome, node, kubelet, placement, fetch)
    _tell(compiled.report)
    assert compiled.specification is not None, "a report without errors comes with a specification"
    return compiled.specification


def _tell(report: Report) -> None:
    for warning in report.warnings[:_MOST_LINES]:
        tell(f"wmcb: {warning}")
    more = len(report.warnings[_MOST_LINES:]) + report.omitted
    if more:
        tell(f"wmcb: and {more} more warnings")
    if report.fatal:
        *others, last = report.errors[:_MOST_LINES]
        for error in others:
            tell(f"wmcb: {error}")
        raise BadUsage(str(last))


def _kubelet(request: Request, host: Host, program: GivenFile) -> Kubelet:
    from agent.sources.kubelet.node import NEWEST, Kubelet

    if request.has(options.KUBELET_VERSION):
        given = request.value(options.KUBELET_VERSION, "")
        known = Kubelet.of_version(given)
        if known is None:
            raise BadUsage(f"{options.KUBELET_VERSION.name} {given}: expected something like 1.{NEWEST}")
        return known
    if is_sandbox(request):
        tell(f"wmcb: warning: a sandbox cannot ask kubelet.exe for its version; 1.{NEWEST} is assumed")
        return Kubelet()
    return _asked(host, program)


def _asked(host: Host, program: GivenFile) -> Kubelet:
    from agent.sources.kubelet.node import Kubelet

    name = f"{options.KUBELET.name} {program.shown}"
    try:
        answer = host.processes.run((program.absolute, "--version"), seconds=_SECONDS_FOR_VERSION)
    except HostError as fault:
        raise BadUsage(f"{name}: {fault}") from fault
    known = Kubelet.of_version(answer.output.decode(errors="replace"))
    if answer.exit_code or known is None:
        raise BadUsage(f"{name}: it does not answer --version as a kubelet does")
    return known


def _node(request: Request, host: Host) -> Node:
    from agent.sources.kubelet.node import Node

    version = host.facts.windows_version()
    return Node(
        host_name=host.facts.host_name(),
        os_version=f"{version.major}.{version.minor}.{version.build}",
        name=request.value(options.NODE_NAME, ""),
        addresses=_addresses(request, options.NODE_IP),
        found_addresses=_found_addresses(host),
        cluster_dns=_addresses(request, options.CLUSTER_DNS),
        verbosity=_verbosity(request),
    )


def _found_addresses(host: Host) -> tuple[str, ...]:
    """One of each family where there is no choice; with several the kubelet finds out by itself."""
    found = [ipaddress.ip_address(each.address.partition("%")[0]) for each in host.facts.addresses()]
    usable = [address for address in found if not address.is_link_local]
    alone = []
    for version in (4, 6):
        of_family = [address for address in usable if address.version == version]
        alone += of_family if len(of_family) == 1 else []
    return tuple(map(str, alone))


def _addresses(request: Request, option: Option) -> tuple[str, ...]:
    given = request.value(option, "")
    addresses = tuple(each.strip() for each in given.split(",")) if given else ()
    for address in addresses:
        try:
            ipaddress.ip_address(address)
        except ValueError as fault:
            raise BadUsage(f"{option.name} {given}: {address!r} is no IP address") from fault
    return addresses


def _verbosity(request: Request) -> str:
    given = request.value(options.VERBOSITY, "")
    if given and not (given.isascii() and given.isdigit() and len(given) < 3):
        raise BadUsage(f"{options.VERBOSITY.name} {given}: expected a number, such as 2")
    return given


def _placement(request: Request, program: GivenFile) -> Placement:
    from agent.sources.worker import Placement

    default = Placement(None)
    directory = PureWindowsPath(request.value(options.INSTALL_DIRECTORY, str(default.install_directory)))
    in_place = program.is_at(directory / "kubelet.exe")
    runtime = request.value(options.CONTAINER_RUNTIME, default.runtime_service)
    return Placement(
        None if in_place else program, _log_runner(), directory, "" if runtime == "none" else runtime
    )


def _log_runner() -> LogRunner | None:
    from agent import log_runner
    from agent.sources.worker import KUBELET_LOG, LogRunner
    from agent.spec import Inline

    content = log_runner.program()
    if content is None:
        return None
    return LogRunner(log_runner.NAME, Inline(content), log_runner.arguments(KUBELET_LOG))
