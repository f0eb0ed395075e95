"""What there is in a collection, now and from now on, whatever becomes of connection and server."""

import math
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace

from agent.amounts import in_seconds
from agent.fetch.deadline import Clock, SystemClock
from agent.fetch.retries import RetryPolicy
from agent.kube.answers import Object, text_at
from agent.kube.client import Client, Event, Watch, whole
from agent.kube.failure import Failed, Gone, NotInTime, Unreachable

State = Mapping[str, Object]
"""By name, with its namespace before it where it has one: `kube-system/coredns`."""

_LONGEST_PAUSE = 30.0
_SHORTEST_WATCH = 1.0
_GOOD_WATCH = 10.0
"""Seconds. After one that lasted so long whatever failed before it is over, though nothing was said in it."""


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
