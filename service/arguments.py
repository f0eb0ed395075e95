"""What the resident service is told when it is installed, kept in its command line.

Which ConfigMap it follows, and on which port it answers for metrics.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

METRICS_PORT = "--metrics-port"
_LARGEST_PORT = 65_535


class NoPort(ValueError):
    """The text names none."""


def port(text: str) -> int | None:
    """Return the port for metrics; None where nothing is to be told. Raises NoPort."""
    if not (text.isascii() and text.isdigit()) or int(text) > _LARGEST_PORT:
        raise NoPort(f"expected a port, 1 to {_LARGEST_PORT}, or 0 for none")
    return int(text) or None


def metrics_arguments(port: int | None) -> tuple[str, ...]:
    """Of the service's command line."""
    return () if port is None else (METRICS_PORT, str(port))


def metrics_port_in(arguments: Sequence[str]) -> int | None:
    for name, value in pairwise(arguments):
        if name == METRICS_PORT:
            with suppress(NoPort):
                return port(value)
    return None


CONFIG_MAP = "--config-map"
PUBLIC_KEY = "--public-key"

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAMES = re.compile(rf"({_LABEL})/({_LABEL}(\.{_LABEL})*)")
_LONGEST_NAME = 253


class NoConfigMap(ValueError):
    """The text names none."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The ConfigMap that the resident service follows."""

    namespace: str
    name: str
    key: str = ""
    """minisign's public key, by whose holder it has to be signed; empty where anybody may write it."""

    def __str__(self) -> str:
        return f"ConfigMap {self.place}"

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}"

    def arguments(self) -> tuple[str, ...]:
        key = (PUBLIC_KEY, self.key) if self.key else ()
        return (CONFIG_MAP, self.place, *key)


def followed(place: str, key: str = "") -> Followed:
    """Raises NoConfigMap."""
    found = _NAMES.fullmatch(place)
    if found is None or len(found[3]) > _LONGEST_NAME:
        raise NoConfigMap("expected its namespace and name, such as kube-system/windows-nodes")
    return Followed(found[1], found[3], key)


def followed_in(arguments: Sequence[str]) -> Followed | None:
    """Of a service's command line; None where that has none that can be followed."""
    given = dict(pairwise(arguments))
    with suppress(NoConfigMap):
        return followed(given.get(CONFIG_MAP, ""), given.get(PUBLIC_KEY, ""))
    return None
