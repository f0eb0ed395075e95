"""The lists of a firewall rule in one spelling, since Windows gives them back in another than it was given.

10.0.0.0/8 comes back as 10.0.0.0/255.0.0.0, one address with the mask 255.255.255.255, anything as `*`.
"""

import ipaddress
from collections.abc import Iterable, Iterator

ANY = "*"
WORDS = ("LocalSubnet", "DefaultGateway", "DHCP", "DNS", "WINS")
"""That Windows has for addresses which it looks up."""
PROFILES = ("domain", "private", "public")

_WORDS = {word.lower(): word for word in WORDS}


def addresses(said: Iterable[str]) -> tuple[str, ...]:
    """Empty for any. What is no address stays as it is: Windows will say so."""
    return tuple(sorted({_address(each) for each in _parts(said)}))


def ports(said: Iterable[str]) -> tuple[str, ...]:
    """Empty for any."""
    return tuple(sorted({_port(each) for each in _parts(said)}, key=_number))


def profiles(said: Iterable[str]) -> tuple[str, ...]:
    """All of them where none is said."""
    chosen = frozenset(said)
    return tuple(each for each in PROFILES if each in chosen) or PROFILES


def _parts(said: Iterable[str]) -> Iterator[str]:
    for text in said:
        for part in text.split(","):
            if (bare := part.strip()) and bare != ANY:
                yield bare


def _port(text: str) -> str:
    first, dash, last = text.partition("-")
    return first if dash and first == last else text


def _number(port: str) -> tuple[int, str]:
    first = port.partition("-")[0]
    return (int(first) if first.isdecimal() else 1 << 16, port)


def _address(text: str) -> str:
    if word := _WORDS.get(text.lower()):
        return word
    try:
        if "-" in text:
            first, last = map(ipaddress.ip_address, text.split("-"))
            # One that is a whole network is told as such.
            networks = list(ipaddress.summarize_address_range(first, last))
            return f"{first}-{last}" if networks[1:] else _network(networks[0])
        return _network(ipaddress.ip_network(text, strict=False))
    except (ValueError, TypeError):
        return text


def _network(network: object) -> str:
    text, _, length = str(network).partition("/")
    whole = "128" if ":" in text else "32"
    return text if length == whole else str(network)
