"""Values of options that a kubelet, or anybody, could not mean: refused before anything is done with them."""

import ipaddress
import re
from pathlib import PureWindowsPath

from agent.cli import options
from agent.cli.arguments import Option, Request
from agent.cli.failure import BadUsage
from agent.redaction import in_quotes, register_name
from agent.sources import node_names
from agent.sources.kubelet.folders import INSTALL_DIRECTORY, install_directory_fault
from agent.sources.kubelet.quantities import quantity

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_WHOLE = re.compile(r"[0-9]{1,5}")
_DECIMAL = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")
_PIPE = re.compile(r"npipe:(////\./|//\./|///)pipe/[^/\\]+", re.IGNORECASE)
_TCP = re.compile(r"tcp://(\[[0-9a-f:.]+\]|[^][/:@?#\s]+):(?P<port>[0-9]{1,5})", re.IGNORECASE)
_LARGEST_PORT = 65535
# kubeadm's criSocket may be written in more ways, and is written anew; this goes to the kubelet as it stands.
_AN_ENDPOINT = "expected npipe:////./pipe/NAME or tcp://HOST:PORT"


def check(request: Request) -> None:
    """All that are given, before anything is fetched, or a cluster is waited for."""
    for each in (options.START_TIMEOUT, options.MAX_TIME):
        seconds(request, each, 0)
    for verbosity in (options.VERBOSITY, options.KUBEADM_VERBOSITY):
        number(request, verbosity, "")
    if request.has(options.MAX_FILE_SIZE):
        largest_file(request, 0)
    node_addresses(request, options.NODE_IP)
    addresses(request, options.CLUSTER_DNS)
    endpoint(request, options.RUNTIME_ENDPOINT, "")
    install_directory(request)


def number(request: Request, option: Option, otherwise: str) -> str:
    """A whole one. Raises BadUsage, as all of these do."""
    given = request.value(option, otherwise)
    if request.has(option) and not _WHOLE.fullmatch(given):
        raise BadUsage.of(option.name, given, "expected a number, such as 2")
    return given


def seconds(request: Request, option: Option, otherwise: float) -> float:
    """More than none."""
    if not request.has(option):
        return otherwise
    given = request.value(option, "")
    if not _DECIMAL.fullmatch(given):
        raise BadUsage.of(option.name, given, "expected a number of seconds, such as 60")
    if not float(given):
        raise BadUsage.of(option.name, given, "nothing is done in no time; expected seconds, such as 60")
    return float(given)


def addresses(request: Request, option: Option) -> tuple[str, ...]:
    """Any number of them."""
    return tuple(str(address) for address in _addresses(request, option))


def node_addresses(request: Request, option: Option) -> tuple[str, ...]:
    """What a kubelet takes for the addresses of its node."""
    given = request.value(option, "")
    found = _addresses(request, option)
    families = {address.version for address in found}
    if len(found) > len(families):
        raise BadUsage.of(option.name, given, "a node has one address, or one of IPv4 and one of IPv6")
    for address in found:
        if fault := _why_no_node_has(address, alone=len(found) == 1):
            raise BadUsage.of(option.name, given, fault)
    return tuple(map(str, found))


def node_name(request: Request, option: Option, otherwise: str) -> str:
    """What an API server takes for the name of a node."""
    name = request.value(option, otherwise)
    if request.has(option) and (fault := node_names.fault(name.lower())):
        raise BadUsage.of(option.name, name, fault)
    register_name(name.lower())
    return name


def largest_file(request: Request, otherwise: int) -> int:
    """Of an Ignition, unpacked; in bytes."""
    option = options.MAX_FILE_SIZE
    if not request.has(option):
        return otherwise
    given = request.value(option, "")
    found = quantity(given)
    if found is None or found < 1:
        raise BadUsage.of(option.name, given, "expected a size, such as 500Mi or 1Gi")
    return int(found)


def endpoint(request: Request, option: Option, otherwise: str) -> str:
    """Where a kubelet for Windows can reach its container runtime."""
    given = request.value(option, otherwise)
    tcp = _TCP.fullmatch(given)
    is_tcp = tcp is not None and 0 < int(tcp["port"]) <= _LARGEST_PORT
    if request.has(option) and not (is_tcp or _PIPE.fullmatch(given)):
        raise BadUsage.of(option.name, given, _AN_ENDPOINT)
    return given


def install_directory(request: Request) -> PureWindowsPath:
    """Where programs go. An upgrade's is where they are: no option is at fault if they cannot be there."""
    option = options.INSTALL_DIRECTORY
    given = PureWindowsPath(request.value(option, str(INSTALL_DIRECTORY)))
    is_option = request.command is not None and option in request.command.options
    if is_option and (fault := install_directory_fault(given)):
        raise BadUsage.of(option.name, request.value(option, ""), fault)
    return given


def _addresses(request: Request, option: Option) -> list[Address]:
    given = request.value(option, "")
    found = []
    for word in given.split(",") if request.has(option) else ():
        try:
            address = ipaddress.ip_address(word.strip())
        except ValueError as fault:
            raise BadUsage.of(option.name, given, f"{in_quotes(word.strip())} is no IP address") from fault
        if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
            raise BadUsage.of(
                option.name, given, f"{in_quotes(word.strip())} has a zone, which no other machine knows"
            )
        found.append(address)
    return found


def _why_no_node_has(address: Address, *, alone: bool) -> str | None:
    kinds = {
        "a loopback address": address.is_loopback,
        "a multicast address": address.is_multicast,
        "a link-local address": address.is_link_local,
        # Alone it asks the kubelet to choose one of that family.
        "every address": address.is_unspecified and not alone,
    }
    kind = next((kind for kind, is_so in kinds.items() if is_so), None)
    return f"{address} is {kind}, at which no node can be reached" if kind else None
