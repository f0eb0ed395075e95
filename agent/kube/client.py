"""The API, as far as a node needs it."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from random import random
from typing import Self

from agent.fetch.deadline import Clock, Deadline, SystemClock, TimeIsUp
from agent.fetch.proxies import DIRECT, Proxies
from agent.fetch.retries import RetryPolicy
from agent.kube.access import Access
from agent.kube.answers import Json, Object, at, items_at, of_status, read_object, refusal, text_at
from agent.kube.failure import Failed, NotAnApiServer, NotFound, Refused, Unreachable
from agent.kube.transport import Asked, ConnectionPool, Limits, Transport

_TOO_MANY_REQUESTS = 429
NODES = "/api/v1/nodes"
_MERGE_PATCH = "application/merge-patch+json"
_PAGE = "100"
"""Objects in an answer. A Node has some ten kilobytes."""


@dataclass(frozen=True, slots=True)
class Listed:
    items: tuple[Object, ...]
    version: str
    """To watch from."""


def whole(thing: Object) -> Object:
    return thing


def node(name: str) -> str:
    return f"{NODES}/{name}"


def config_map(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


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


class Client:
    """Asks one API server, over connections that are kept. Every method raises Failed; any thread may call.

    What may pass is asked again within the limits' patience, as the server wishes or at longer and longer
    intervals: no answer, an answer cut off, too many requests, an error of the server's. A creation is only
    where the server cannot have begun it.

    Each path is as Kubernetes' documentation has it, with names as they are: nothing in it is quoted. A
    selector is written as kubectl takes it: `metadata.name=win1`.
    """

    def __init__(
        self,
        access: Access,
        *,
        proxies: Proxies = DIRECT,
        limits: Limits | None = None,
        notice: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
        pool: ConnectionPool | None = None,
    ) -> None:
        """`notice` is told, in a line for a person, of each failure after which it is asked again.

        `pool`: connections that this client shares with others.
        """
        self._clock = clock or SystemClock()
        self._transport = Transport(access, proxies, self._clock, pool)
        self.limits = limits or Limits()
        self._notice = notice
        self.ahead: float | None = None
        """By how many seconds this machine's clock was ahead of the server's when it answered last."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections that nobody is using, but for those that others may use."""
        self._transport.close()

    @property
    def place(self) -> str:
        """Host and port."""
        return self._transport.place

    def get(self, path: str) -> Object:
        return self._done(Asked("GET", path))

    def find(self, path: str) -> Object | None:
        """None where there is no such object."""
        try:
            return self.get(path)
        except NotFound:
            return None

    def list(
        self,
        path: str,
        *,
        fields: str = "",
        limits: Limits | None = None,
        keep: Callable[[Object], Object] = whole,
    ) -> Listed:
        """Of the objects in a collection those that `fields` selects, and of each what `keep` leaves.

        Where no field chooses, page by page: all of them, whole, may take more memory than all else here.
        """
        query = {"fieldSelector": fields, "limit": "" if fields else _PAGE}
        items: list[Object] = []
        most = limits or self.limits
        for _ in range(most.pages):
            found = self._done(Asked("GET", path, query), limits)
            items += [keep(item) for item in items_at(found, "items") if isinstance(item, dict)]
            if len(items) > most.objects:
                raise Unreachable(f"{self.place} lists more than {most.objects:,} objects at {path}")
            further = text_at(found, "metadata", "continue")
            if not further:
                return Listed(tuple(items), text_at(found, "metadata", "resourceVersion"))
            query["continue"] = further
        raise Unreachable(f"{self.place} lists more than {most.pages:,} pages of objects at {path}")

    def watch(self, path: str, version: str, *, fields: str = "") -> Watch:
        """What happens in a collection after `version`; asked once, when the first event is waited for.

        `following` goes on where one ends.
        """
        return Watch(self._transport, self.limits, path, version, fields)

    def create(self, path: str, thing: Mapping[str, object], *, limits: Limits | None = None) -> Object:
        return self._done(Asked("POST", path, body=_encoded(thing), repeatable=False), limits)

    def patch(self, path: str, change: Mapping[str, object]) -> Object:
        """Lists are replaced. Done twice it is as done once."""
        return self._done(Asked("PATCH", path, body=_encoded(change), content=_MERGE_PATCH))

    def delete(self, path: str, *, only_try: bool = False) -> None:
        """With `only_try` the server says whether it would, and does not."""
        self._done(Asked("DELETE", path, {"dryRun": "All" if only_try else ""}))

    def _done(self, asked: Asked, limits: Limits | None = None) -> dict[str, Json]:
        limits = limits or self.limits
        retries = RetryPolicy(self._clock, limits.patience, self._notice)
        while True:
            try:
                return self._attempt(asked, limits, retries)
            except Failed as fault:
                retries.back_off(self._transport.explained(fault))

    def _attempt(self, asked: Asked, limits: Limits, retries: RetryPolicy) -> dict[str, Json]:
        reply = self._transport.reply(asked, limits, retries.share)
        self.ahead = reply.ahead if reply.ahead is not None else self.ahead
        if reply.status < _ERRORS:
            return read_object(reply.body, self.place)
        fault = refusal(self.place, asked.described, reply.status, reply.body, reply.wait)
        fault.transient = fault.transient and (asked.repeatable or _was_not_begun(fault))
        raise fault


def _encoded(thing: Mapping[str, object]) -> bytes:
    return json.dumps(thing, separators=(",", ":")).encode()


def _was_not_begun(fault: Refused) -> bool:
    """Kubernetes turns away what it has no room for before it looks at it, and says when to come again."""
    return fault.status == _TOO_MANY_REQUESTS or fault.wait > 0
