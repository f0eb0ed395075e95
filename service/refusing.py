"""A ConfigMap that cannot be used as it is."""

from collections.abc import Sequence

from agent.sources.report import Entry


class Refused(Exception):
    """One line: where in it, and what is wrong. Nothing was changed."""


def told(entries: Sequence[Entry], most: int = 1) -> str:
    """The first `most` of them, and how many more there are."""
    more = f" (and {len(entries) - most} more)" if entries[most:] else ""
    return "; ".join(f"{each.where}: {each.message}" for each in entries[:most]) + more
