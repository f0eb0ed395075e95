"""A ConfigMap that cannot be used as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.sources.report import Entry


class Refused(Exception):
    """One line: where in it, and what is wrong. Nothing was changed."""


def told(entries: Sequence[Entry]) -> str:
    """The first of them, and how many more there are."""
    more = f" (and {len(entries) - 1} more)" if entries[1:] else ""
    return f"{entries[0].where}: {entries[0].message}{more}"
