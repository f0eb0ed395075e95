"""A URL, taken apart as far as a request needs it, and the proxy on the way there."""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urljoin, urlsplit

from agent.fetch.failure import Failed
from agent.secret_fields import registers_secrets

Headers = tuple[tuple[str, str], ...]

_PORTS = {"http": 80, "https": 443}
_LONGEST_LABEL = 63
_NOT_IN_A_REQUEST_LINE = re.compile(r"[^\x21-\x7e]")
IP = ipaddress.IPv4Address | ipaddress.IPv6Address

_HOST_AND_PORT = re.compile(r"\[([^\[\]]*)\]:([^:]*)|([^:\[\]]*):([^:]*)")
_NETWORK = re.compile(r"[^/]+/\d{1,3}")


@registers_secrets
@dataclass(frozen=True, slots=True)
class Address:
    scheme: str
    """http or https"""
    host: str
    """As DNS has it, in lower case; an address without brackets."""
    port: int
    target: str = field(repr=False)
    """Path and query."""
    credentials: str | None = field(repr=False)
    """user:password"""

    @property
    def place(self) -> str:
        """Host and port."""
        return f"{self._bracketed}:{self.port}"

    @property
    def named(self) -> str:
        """As the Host header has it."""
        return self._bracketed if self.port == _PORTS[self.scheme] else self.place

    @property
    def _bracketed(self) -> str:
        return f"[{self.host.partition('%')[0]}]" if ":" in self.host else self.host

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    def joined(self, location: str) -> Address:
        """Where `location`, found in an answer from here, leads."""
        here = f"{self.scheme}://{self.place}{self.target}"
        try:
            return parse(urljoin(here, location))
        except ValueError:
            raise Failed("it is no http or https URL") from None

    def is_trusted_by(self, origin: Address) -> bool:
        """Whether what was meant for `origin` may be sent here too."""
        if self.host != origin.host:
            return False
        upgraded = (origin.scheme, origin.port, self.scheme, self.port) == ("http", 80, "https", 443)
        return upgraded or (self.port == origin.port and self.scheme == origin.scheme)


def parse(url: str) -> Address:
    """Raises Failed for what is no http or https URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
        host = _ascii(unquote(parts.hostname or ""))
    except ValueError:
        raise Failed("it is no http or https URL") from None
    if parts.scheme not in _PORTS or not host:
        raise Failed("it is no http or https URL")
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    user, at, _ = parts.netloc.rpartition("@")
    return Address(
        parts.scheme,
        host,
        _PORTS[parts.scheme] if port is None else port,
        _NOT_IN_A_REQUEST_LINE.sub(_escaped, target),
        unquote(user) if at else None,
    )


def _ascii(host: str) -> str:
    name = host.lower()
    if ":" not in name:
        # Python's codec loads tables of all letters there are, for what is ASCII already as well.
        name = _judged(name) if name.isascii() else name.encode("idna").decode("ascii")
    if _NOT_IN_A_REQUEST_LINE.search(name):
        raise ValueError(host)
    return name


def _judged(name: str) -> str:
    """Raises ValueError for what the look-up would stumble over."""
    labels = name.split(".")
    if not all(labels[:-1]) or any(len(label) > _LONGEST_LABEL for label in labels):
        raise ValueError(name)
    return name


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def basic(header: str, there: Address | None) -> Headers:
    """Return the header with the credentials that a URL had in it, if it had any."""
    if there is None or there.credentials is None:
        return ()
    user, _, password = there.credentials.partition(":")
    return ((header, f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"),)


@registers_secrets
@dataclass(frozen=True, slots=True)
class Proxies:
    """By the rules of Go, as for Ignition and everything of Kubernetes."""

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
            return parse(text if "://" in text else f"http://{text}")
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
