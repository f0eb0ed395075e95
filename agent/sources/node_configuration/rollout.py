"""Whose turn it is. Each node finds that out by itself: there is nobody to ask."""

import hashlib
from dataclasses import dataclass

from agent.sources.node_configuration.model import Rollout


@dataclass(frozen=True, slots=True)
class Turn:
    has_come: bool
    at: float | None = None
    """When it comes, or came, in seconds since 1970; None for a node that does not take part, and where no
    time is given."""


def turn(node: str, rollout: Rollout | None, now: float) -> Turn:
    """Of a change. The same for a node's name at each call, on each machine and in each release.

    A node that has nothing yet has nothing to wait with: its daemon does not ask.
    """
    if rollout is None:
        return Turn(has_come=True)
    # Two points: when more nodes take part, those that did so before keep their time.
    if _point("member", node) * 100 >= rollout.percentage:
        return Turn(has_come=False)
    if rollout.start is None:
        return Turn(has_come=True)
    at = rollout.start + rollout.window * _point("time", node)
    return Turn(has_come=now >= at, at=at)


def _point(what: str, node: str) -> float:
    """From 0 to 1, without it: nodes lie evenly."""
    digest = hashlib.sha256(f"{what} {node.lower()}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53
