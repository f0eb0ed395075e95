"""What the API server answers: objects, and refusals."""

import json
from collections.abc import Mapping

from agent.fetch.failure import described
from agent.kube import failure
from agent.kube.failure import NotAnApiServer, Refused
from agent.redaction import redacted

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
Object = Mapping[str, Json]

_LONGEST = 400
_LONGEST_WAIT = 3600
_MOST_VALUES = 2_000_000
"""Of an answer: each takes up to 200 bytes of memory, and no more than three of the answer's."""
_CLASSES: dict[int, type[Refused]] = {
    401: failure.Unauthorized,
    403: failure.Forbidden,
    404: failure.NotFound,
    409: failure.Conflict,
    410: failure.Gone,
    422: failure.Invalid,
    429: failure.Busy,
}
_TOO_MANY_REQUESTS, _SERVER_ERRORS = 429, 500


def at(value: Json | Object, *path: str | int) -> Json:
    """What stands there, or None: of what a stranger has said, nothing can be relied on."""
    found: Json = dict(value) if isinstance(value, Mapping) else value
    for step in path:
        if isinstance(found, dict) and isinstance(step, str):
            found = found.get(step)
        elif isinstance(found, list) and isinstance(step, int) and 0 <= step < len(found):
            found = found[step]
        else:
            return None
    return found


def text_at(value: Json | Object, *path: str | int) -> str:
    """The same where it is text, and else nothing."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def items_at(value: Json | Object, *path: str | int) -> list[Json]:
    """The same where it is a list, and else an empty one."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def texts_at(value: Json | Object, *path: str | int) -> dict[str, str]:
    """The same where it is a mapping, each value as text, and else an empty one."""
    found = at(value, *path)
    return {name: str(each) for name, each in found.items()} if isinstance(found, dict) else {}


def is_ready(node: Object) -> bool:
    """Whether the kubelet of this Node is well."""
    conditions = items_at(node, "status", "conditions")
    return any(at(each, "type") == "Ready" and at(each, "status") == "True" for each in conditions)


def read_object(body: bytes, place: str) -> dict[str, Json]:
    # Where one of these stands in a text, it is counted as well: no answer of use has so many.
    if sum(map(body.count, (b",", b"{", b"["))) > _MOST_VALUES:
        raise NotAnApiServer(f"what {place} answers holds more than {_MOST_VALUES:,} values")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NotAnApiServer(f"what {place} answers is no object of Kubernetes'; is it an API server?")
    return value


def refusal(place: str, doing: str, status: int, body: bytes, wait: float) -> Refused:
    """`doing` says what it was asked for."""
    try:
        told = read_object(body, place)
    except NotAnApiServer:
        told = {}
    if at(told, "kind") != "Status":
        told = {}
    return of_status(place, doing, status, told, wait)


def of_status(place: str, doing: str, status: int, told: dict[str, Json], wait: float = 0.0) -> Refused:
    """Of an object of kind Status, or nothing where the answer was something else."""
    reason = plain(text_at(told, "reason"))
    message = plain(text_at(told, "message"))
    seconds = at(told, "details", "retryAfterSeconds")
    if isinstance(seconds, int) and not isinstance(seconds, bool):
        wait = max(wait, min(max(seconds, 0), _LONGEST_WAIT))
    said = f": {message}" if message else ""
    transient = status == _TOO_MANY_REQUESTS or status >= _SERVER_ERRORS
    kind = failure.Busy if status >= _SERVER_ERRORS else _CLASSES.get(status, Refused)
    return kind(
        f"{place} answers {described(status)} to {doing}{said}",
        status,
        reason,
        transient=transient,
        wait=min(wait, _LONGEST_WAIT) if transient else 0.0,
    )


def plain(text: str) -> str:
    """What a stranger wrote, fit for one line of a console."""
    line = redacted(" ".join(redacted(text).split()))
    cut = line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
    return "".join(character if character.isprintable() else "?" for character in cut)
