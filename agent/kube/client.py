"""The API, as far as a node needs it: requests, watches, and what there is in a collection from now on."""

import json
import math
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from random import random
from typing import Self

from agent.amounts import in_seconds
from agent.fetch.address import DIRECT, Proxies
from agent.fetch.deadline import Clock, Deadline, SystemClock, TimeIsUp
from agent.fetch.retries import RetryPolicy
from agent.kube.access import Access
from agent.kube.answers import Json, Object, at, items_at, of_status, read_object, refusal, text_at
from agent.kube.failure import Failed, Gone, NotAnApiServer, NotFound, NotInTime, Refused, Unreachable
from agent.kube.transport import Asked, ConnectionPool, Limits, Transport

_TOO_MANY_REQUESTS = 429
NODES = "/api/v1/nodes"
_MERGE_PATCH = "application/merge-patch+json"
_PAGE = "100"
"""Objects in an answer. A Node has some ten kilobytes."""
State = Mapping[str, Object]
"""By name, with its namespace before it where it has one: `kube-system/coredns`."""

_LONGEST_PAUSE = 30.0
_SHORTEST_WATCH = 1.0
_GOOD_WATCH = 10.0
"""Seconds. After one that lasted so long whatever failed before it is over, though nothing was said in it."""


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

        `Following` goes on where one ends.
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


class Following:
    """Lists once, and then watches, with bookmarks.

    A watch that ends or breaks off goes on from the last version that was seen; where the server has
    forgotten that (410 Gone), all is listed again. So an object that stays as it is costs a request in five
    to ten minutes.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        *,
        fields: str = "",
        keep: Callable[[Object], Object] = whole,
        notice: Callable[[str], None] = lambda _: None,
        heard: Callable[[], None] = lambda: None,
        clock: Clock | None = None,
    ) -> None:
        """`keep` leaves what counts of an object, with its name: the rest takes no memory, and is no change.

        `notice` is told, in a line for a person, of each failure after which it goes on.
        `heard` is called for each word of the server's, also where nothing has changed.
        """
        self._client = client
        self._path = path
        self._fields = fields
        self._keep = keep
        self._notice = notice
        self._heard = heard
        self._clock = clock or SystemClock()
        self._over = threading.Event()
        self._sleep: Callable[[float], object] = clock.sleep if clock else self._over.wait
        self._watch: Watch | None = None
        self._known: dict[str, Object] | None = None
        self._version = ""

    def states(self, seconds: float = math.inf) -> Generator[State, None, None]:
        """The whole state at first and after each change, until `stop`, or for `seconds`.

        What passes is tried again until then. Raises Failed for the rest: who asks is not known any more, or
        not allowed to; who answers is not trusted.
        """
        end = self._clock.monotonic() + seconds
        retries = self._retries(end)
        while not self._over.is_set() and self._clock.monotonic() < end:
            began, is_listed = self._clock.monotonic(), not self._version
            try:
                if is_listed and self._list(end):
                    yield self._state()
                for event in self._events(end):
                    retries = self._retries(end)
                    self._heard()
                    if self._take(event):
                        yield self._state()
            except Failed as fault:
                if isinstance(fault, Gone):
                    self._version = ""
                    fault.transient = True
                # A server that answers with Gone is back, however long it was away.
                is_back = isinstance(fault, Gone) and not is_listed
                if is_back or self._clock.monotonic() - began >= _GOOD_WATCH:
                    retries = self._retries(end)
                retries.back_off(fault)

    def stop(self) -> None:
        """From any thread: ends the states, also while they are waited for."""
        self._over.set()
        if self._watch:
            self._watch.stop()

    def let_go(self) -> None:
        """Of the connection that the list came over."""
        self._client.close()

    def _retries(self, end: float) -> RetryPolicy:
        left = end - self._clock.monotonic()
        return RetryPolicy(self._clock, left, self._notice, self._sleep, _LONGEST_PAUSE)

    def _state(self) -> State:
        return dict(self._known or {})

    def _list(self, end: float) -> bool:
        """Whether it is another state than before."""
        left = max(end - self._clock.monotonic(), 0.0)
        limits = self._client.limits
        once = replace(limits, patience=0.0, attempt=min(limits.attempt, left))
        listed = self._client.list(self._path, fields=self._fields, limits=once, keep=self._keep)
        self._heard()
        before, self._known = self._known, {_name(thing): thing for thing in listed.items}
        self._version = listed.version
        return before != self._known

    def _events(self, end: float) -> Iterator[Event]:
        began = self._clock.monotonic()
        if began >= end:
            return  # or nobody would be said to answer within no time at all
        watch = self._client.watch(self._path, self._version, fields=self._fields)
        self._watch = watch
        if self._over.is_set():
            return
        some = False
        for event in watch.events(end - began):
            some = True
            yield event
        if not some and self._clock.monotonic() - began < min(_SHORTEST_WATCH, end - began):
            raise Unreachable(f"{self._client.place} ends a watch as soon as it has begun", transient=True)

    def _take(self, event: Event) -> bool:
        """Whether it changes anything."""
        assert self._known is not None
        self._version = event.version or self._version
        name, most = _name(event.thing), self._client.limits.objects
        before = self._known.get(name)
        if event.kind == "DELETED":
            self._known.pop(name, None)
        elif event.kind in ("ADDED", "MODIFIED"):
            self._known[name] = self._keep(event.thing)
            if len(self._known) > most:
                raise Unreachable(f"{self._client.place} tells of more than {most:,} objects at {self._path}")
        return before != self._known.get(name)


def until(following: Following, satisfied: Callable[[State], bool], seconds: float, failing: str) -> State:
    """The first state that will do. Raises Failed: NotInTime, which says `failing`, where there is none."""
    with closing(following.states(seconds)) as states:
        for state in states:
            if satisfied(state):
                return state
    raise NotInTime(f"{failing} within {in_seconds(seconds)}")


def _name(thing: Object) -> str:
    namespace, name = text_at(thing, "metadata", "namespace"), text_at(thing, "metadata", "name")
    return f"{namespace}/{name}" if namespace else name
