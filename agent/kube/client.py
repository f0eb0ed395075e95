"""The API, as far as a node needs it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from agent.fetch.deadline import Clock, SystemClock
from agent.fetch.proxies import DIRECT, Proxies
from agent.fetch.retries import RetryPolicy
from agent.kube.access import Access
from agent.kube.answers import Json, Object, items_at, read_object, refusal, text_at
from agent.kube.connection_pool import ConnectionPool
from agent.kube.failure import Failed, NotFound, Refused, Unreachable
from agent.kube.limits import Limits
from agent.kube.transport import Asked, Transport
from agent.kube.watch import Watch

_ERRORS = 300
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
