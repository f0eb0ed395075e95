"""Where contents are fetched: said when the service is installed, kept in its command line."""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MIRROR, ARTIFACTS = "--mirror", "--artifacts"


def in_arguments(arguments: Sequence[str], name: str) -> tuple[str, ...]:
    """As they were given, with the option's name before each."""
    return tuple(word for option, value in pairwise(arguments) if option == name for word in (name, value))
