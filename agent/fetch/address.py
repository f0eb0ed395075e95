"""A URL, taken apart as far as a request needs it."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urljoin, urlsplit

from agent.fetch.failure import Failed
from agent.secret_fields import registers_secrets

Headers = tuple[tuple[str, str], ...]

_PORTS = {"http": 80, "https": 443}
_LONGEST_LABEL = 63
_NOT_IN_A_REQUEST_LINE = re.compile(r"[^\x21-\x7e]")


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
