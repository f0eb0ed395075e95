"""Which proxy a request goes through: by the rules of Go, as for Ignition and everything of Kubernetes."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.fetch import address
from agent.fetch.address import Address
from agent.fetch.failure import Failed
from agent.secret_fields import registers_secrets

IP = ipaddress.IPv4Address | ipaddress.IPv6Address

_HOST_AND_PORT = re.compile(r"\[([^\[\]]*)\]:([^:]*)|([^:\[\]]*):([^:]*)")
_NETWORK = re.compile(r"[^/]+/\d{1,3}")


@registers_secrets
@dataclass(frozen=True, slots=True)
class Proxies:
    http: str = field(default="", repr=False)
    """For http URLs; empty for none."""
    https: str = field(default="", repr=False)
    """For https URLs. The one for http is not used for them."""
    bypass: tuple[str, ...] = ()
    """What is reached directly: addresses, networks, names with all below them; `*` for everything."""

    def proxy(self, there: Address) -> Address | None:
        """None where `there` is reached directly, as this machine itself always is. Raises Failed."""
        text = self.https if there.secure else self.http
        if not text or self._is_direct(there):
            return None
        try:
            return address.parse(text if "://" in text else f"http://{text}")
        except Failed:
            kind = "https" if there.secure else "http"
            raise Failed(f"the proxy for {kind} is no http or https URL") from None

    def _is_direct(self, there: Address) -> bool:
        ip = _ip(there.host)
        if there.host == "localhost" or (ip is not None and ip.is_loopback):
            return True
        return any(_covers(entry.strip().lower(), there, ip) for entry in self.bypass)


DIRECT = Proxies()


def of_environment(variables: Mapping[str, str]) -> Proxies:
    """As HTTP_PROXY, HTTPS_PROXY and NO_PROXY say, or else their namesakes in lower case."""

    def value(name: str) -> str:
        return variables.get(name) or variables.get(name.lower()) or ""

    return Proxies(value("HTTP_PROXY"), value("HTTPS_PROXY"), tuple(value("NO_PROXY").split(",")))


def _covers(entry: str, there: Address, ip: IP | None) -> bool:
    if entry == "*":
        return True
    if _NETWORK.fullmatch(entry):
        try:
            return ip is not None and ip in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            pass  # then it is a name that no host has
    found = _HOST_AND_PORT.fullmatch(entry)
    name, port = (found[1] or found[3], found[2] or found[4]) if found else (entry, "")
    if not name or (port and port != str(there.port)):
        return False
    numeric = _ip(name)
    if numeric is not None or ip is not None:
        return numeric == ip
    return _is_within(there.host, name)


def _is_within(host: str, name: str) -> bool:
    """example.com is itself and all below it; .example.com and *.example.com are what is below it."""
    below = name.removeprefix("*") if name.startswith("*.") else name
    name = below.removeprefix(".")
    try:
        name = name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError:
        return False
    return host.endswith(f".{name}") or (host == name and not below.startswith("."))


def _ip(text: str) -> IP | None:
    try:
        ip = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip
