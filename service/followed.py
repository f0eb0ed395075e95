"""Which ConfigMap the resident service follows: said when it is installed, kept in its command line."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

CONFIG_MAP = "--config-map"
PUBLIC_KEY = "--public-key"
PART = "followed"
"""Of what is on the machine, what its ConfigMap wants."""

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAMES = re.compile(rf"({_LABEL})/({_LABEL}(\.{_LABEL})*)")
_LONGEST_NAME = 253


class NoConfigMap(ValueError):
    """The text names none."""


@dataclass(frozen=True, slots=True)
class Followed:
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


def in_arguments(arguments: Sequence[str]) -> Followed | None:
    """Of a service's command line; None where that has none that can be followed."""
    given = dict(pairwise(arguments))
    with suppress(NoConfigMap):
        return followed(given.get(CONFIG_MAP, ""), given.get(PUBLIC_KEY, ""))
    return None
