"""Which texts are URLs to Ignition and to kubeadm: those that Go's net/url takes.

Python's urllib is more lenient and would let through what neither of them accepts.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import unquote_plus

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USER = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=%:@-]*")
# Anything but ASCII goes in a host name; of ASCII only this, and %25 before the zone of an address.
_HOST = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:\[\]<>\"-]|[^\x00-\x7f]|%25|%[89A-Fa-f][0-9A-Fa-f])*")
_ZONE = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:\[\]<>\"-]|[^\x00-\x7f]|%[0-9A-Fa-f]{2})*")
_PORT = re.compile(r"(?::[0-9]*)?")
_MOST_PARAMETERS = 10_000


@dataclass(frozen=True, slots=True)
class Url:
    scheme: str
    """In lower case; empty where there is none."""
    opaque: str
    """What follows the scheme where that isn't a slash, without query and fragment."""
    query: str

    def parameter(self, name: str) -> str | None:
        """The first value of a query parameter that is there."""
        parts = self.query.split("&")
        if len(parts) > _MOST_PARAMETERS:
            return None
        for part in parts:
            key, _, value = part.partition("=")
            if not part or ";" in part or _BAD_ESCAPE.search(part):
                continue
            if unquote_plus(key) == name:
                return unquote_plus(value)
        return None


def parse(text: str) -> Url | None:
    """None for what is no URL."""
    text, _, fragment = text.partition("#")
    if _CONTROL.search(text) or text.startswith(":") or _BAD_ESCAPE.search(fragment):
        return None
    if text == "*":
        return Url("", "", "")
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    rest = text[found.end() :] if found else text
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        # Without a scheme, a colon before the first slash would be taken for one.
        if not scheme and ":" in rest.partition("/")[0]:
            return None
        if scheme:
            return Url(scheme, rest, query)
    return Url(scheme, "", query) if _hierarchical(scheme, rest) else None


def shown(text: str) -> str:
    """A URL for a person's eyes: nothing of it that may be secret (user, query, data)."""
    if text[:5].lower() == "data:":
        return "data:..."
    url = text.partition("#")[0].partition("?")[0]
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"


def _hierarchical(scheme: str, rest: str) -> bool:
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        if not _authority(scheme, authority):
            return False
        rest = slash + path
    return not _BAD_ESCAPE.search(rest)


def _authority(scheme: str, authority: str) -> bool:
    user, _, host = authority.rpartition("@")
    return bool(_USER.fullmatch(user)) and not _BAD_ESCAPE.search(user) and _host(scheme, host)


def _host(scheme: str, host: str) -> bool:
    bracket = host.rfind("[")
    if bracket > 0:
        return False
    if bracket == 0:
        return _address(host)
    if ":" in host:
        # Go counts further colons as part of the host, except in the schemes of the web.
        place = host.index(":") if scheme in ("http", "https") else host.rindex(":")
        if not _PORT.fullmatch(host, place):
            return False
    return bool(_HOST.fullmatch(host))


def _address(host: str) -> bool:
    """[fe80::1%25eth0]:22623"""
    inside, bracket, port = host[1:].rpartition("]")
    if not bracket or not _PORT.fullmatch(port):
        return False
    address, percent, zone = inside.partition("%25")
    # Python would take an unescaped zone.
    if "%" in address or not _ZONE.fullmatch(zone) or (percent and not zone):
        return False
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True
