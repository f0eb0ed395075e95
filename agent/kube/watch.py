"""One request that the API server answers for minutes: a line for each change, as it happens."""

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from random import random

from agent.fetch.deadline import Deadline, TimeIsUp
from agent.kube.answers import Json, at, of_status, read_object, text_at
from agent.kube.failure import Failed, NotAnApiServer
from agent.kube.limits import Limits
from agent.kube.transport import Asked, Transport

_SHORTEST, _LONGEST = 300, 600
"""Seconds until the server ends it: not the same for all, so that they do not come again together."""
_SILENCE = 150.0
"""Seconds. The API server sends a bookmark about every minute: with two missing, nobody is there any more."""
_ERRORS, _INTERNAL_ERROR, _NO_STATUS = 300, 500, 600


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    """ADDED, MODIFIED, DELETED; BOOKMARK, of whose object only the version counts."""
    thing: dict[str, Json]

    @property
    def version(self) -> str:
        return text_at(self.thing, "metadata", "resourceVersion")


class Watch:
    def __init__(self, transport: Transport, limits: Limits, path: str, version: str, fields: str) -> None:
        self._transport = transport
        self._limits = limits
        self._path = path
        self._version = version
        self._fields = fields
        self._deadline = Deadline(transport.clock)

    def events(self, seconds: float = math.inf) -> Iterator[Event]:
        """Ends when the server ends it, and after `seconds`. Raises Failed; Gone for a version too old."""
        asked = self._asked(seconds)
        try:
            limits = replace(self._limits, silence=_SILENCE)
            lines = self._transport.lines(asked, limits, seconds, self._deadline)
            with self._deadline.stoppable(), closing(lines):
                for line in lines:
                    yield self._event(line, asked)
        except TimeIsUp:
            pass  # by `stop`
        except Failed as fault:
            if not self._deadline.stopped:
                raise self._transport.explained(fault) from None

    def stop(self) -> None:
        """From any thread: ends the events, also while they are waited for."""
        self._deadline.stop()

    def _asked(self, seconds: float) -> Asked:
        chosen = _SHORTEST + round((_LONGEST - _SHORTEST) * random())  # noqa: S311 - no secret
        most = min(chosen, max(math.ceil(min(seconds, _LONGEST)), 1))
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(most),
            "fieldSelector": self._fields,
        }
        return Asked("GET", self._path, query)

    def _event(self, line: bytes, asked: Asked) -> Event:
        try:
            told = read_object(line, self._transport.place)
        except NotAnApiServer as fault:
            fault.transient = True  # whoever began a watch is an API server
            raise
        kind, thing = text_at(told, "type"), at(told, "object")
        if not isinstance(thing, dict):
            thing = {}
        if kind == "ERROR":
            code = at(thing, "code")
            status = code if isinstance(code, int) and _ERRORS <= code < _NO_STATUS else _INTERNAL_ERROR
            raise of_status(self._transport.place, asked.described, status, thing)
        return Event(kind, thing)
