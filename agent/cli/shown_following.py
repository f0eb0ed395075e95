"""What became of the ConfigMap that is followed, for people and for programs."""

import time
from collections.abc import Mapping

from agent.host.port import Host
from agent.resources.kind import Value
from service import installation, standing
from service.arguments import Followed, followed_in
from service.standing import Standing, State

Following = tuple["Followed", Standing]


def following(host: Host) -> Following | None:
    """None where none is followed. Raises CannotBeSo."""
    followed = followed_in(installation.arguments(host))
    if followed is None:
        return None
    known = standing.read(host)
    if known is None or known.followed != followed.place:
        known = Standing(followed.place)
    return followed, known


def line(found: Following) -> str:
    followed, known = found
    text = f"follows {followed}: {_TOLD[known.state]}"
    if known.turn is not None:
        text += time.strftime(", its turn comes at %Y-%m-%dT%H:%M:%SZ", time.gmtime(known.turn))
    if known.error:
        text += f": {known.error}"
    if known.unheard:
        text += f"; nothing is heard of it just now: {known.unheard}"
    if known.pause is not None:
        text += f"; it wants a pause{f' ({known.pause})' if known.pause else ''}"
    return text


_TOLD = {
    State.WAITING: "nothing of it has been seen yet",
    State.APPLIED: "applied",
    State.PENDING: "a change is pending",
    State.REFUSED: "refused, and nothing was changed",
    State.FAILED: "failed and taken back, and not tried again until it is changed",
    State.MISSING: "there is none, and what it made stays",
}


def document(found: Following | None) -> Mapping[str, Value] | None:
    if found is None:
        return None
    followed, known = found
    return {
        "config_map": followed.place,
        "is_signed": bool(followed.key),
        "state": known.state.value,
        "error": known.error or None,
        "unheard": known.unheard or None,
        "applied": known.applied or None,
        "resource_version": known.version or None,
        "turn": None if known.turn is None else int(known.turn),
        "pause": known.pause,
    }
