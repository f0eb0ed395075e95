"""On which port metrics are told, if at all: said when the service is installed, kept in its command line."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

METRICS_PORT = "--metrics-port"
_LARGEST_PORT = 65_535


class NoPort(ValueError):
    """The text names none."""


def port(text: str) -> int | None:
    """None where nothing is to be told. Raises NoPort."""
    if not (text.isascii() and text.isdigit()) or int(text) > _LARGEST_PORT:
        raise NoPort(f"expected a port, 1 to {_LARGEST_PORT}, or 0 for none")
    return int(text) or None


def arguments(port: int | None) -> tuple[str, ...]:
    """Of the service's command line."""
    return () if port is None else (METRICS_PORT, str(port))


def in_arguments(arguments: Sequence[str]) -> int | None:
    for name, value in pairwise(arguments):
        if name == METRICS_PORT:
            with suppress(NoPort):
                return port(value)
    return None
