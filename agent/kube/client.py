"""The API, as far as a node needs it."""

from __future__ import annotations

import enum
import json
import threading
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlencode

from agent.fetch import address, authorities
from agent.fetch.deadline import SystemClock
from agent.fetch.failure import Failed as FetchFailed
from agent.fetch.proxies import DIRECT, Proxies
from agent.fetch.route import Route
from agent.kube import explanations
from agent.kube.answers import items_at, plain, read_object, refusal, text_at
from agent.kube.connection import Connection, Reply, Request
from agent.kube.effort import Effort
from agent.kube.failure import Failed, NotFound, NotTrusted, NotUsable, Refused, Unauthorized, Unreachable
from agent.kube.limits import Limits
from agent.records import field, frozen
from agent.release import RELEASE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from agent.fetch.address import Address
    from agent.fetch.deadline import Clock
    from agent.kube.access import Access
    from agent.kube.answers import Json, Object

_USER_AGENT = f"wmcb/{RELEASE}"
_ERRORS = 300
_TOO_MANY_REQUESTS = 429
_JSON = "application/json"


class Patch(enum.Enum):
    """How a change is written. Done twice, either is as done once."""

    MERGE = "application/merge-patch+json"
    """Lists are replaced."""
    STRATEGIC = "application/strategic-merge-patch+json"
    """Lists of what has a name are merged; for Kubernetes' own kinds alone."""


@frozen
class Listed:
    items: tuple[Object, ...]
    version: str
    """To watch from."""


def node(name: str) -> str:
    return f"/api/v1/nodes/{name}"


def config_map(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


class Client:
    """Asks one API server, over connections that are kept. Every method raises Failed; any thread may call.

    What may pass is asked again within the limits' patience, as the server wishes or at longer and longer
    intervals: no answer, an answer cut off, too many requests, an error of the server's. A creation is only
    where the server cannot have begun it.
    """

    def __init__(
        self,
        access: Access,
        *,
        proxies: Proxies = DIRECT,
        limits: Limits | None = None,
        notice: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        """`notice` is told, in a line for a person, of each failure after which it is asked again."""
        self._access = access
        self._proxies = proxies
        self._limits = limits or Limits()
        self._notice = notice
        self._clock = clock or SystemClock()
        self._there = address.parse(access.server)
        self._kept: list[Connection] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections that nobody is using."""
        with self._lock:
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()

    @property
    def place(self) -> str:
        """Host and port."""
        return self._there.place

    # Each path is as Kubernetes' documentation has it, with names as they are: nothing in it is quoted.

    def get(self, path: str) -> Object:
        return self._done(_Asked("GET", path))

    def find(self, path: str) -> Object | None:
        """None where there is no such object."""
        try:
            return self.get(path)
        except NotFound:
            return None

    def list(self, path: str, *, fields: str = "", labels: str = "") -> Listed:
        """Of the objects in a collection those that both selectors choose: `metadata.name=win1`."""
        query = {"fieldSelector": fields, "labelSelector": labels}
        found = self._done(_Asked("GET", path, {name: value for name, value in query.items() if value}))
        items = tuple(item for item in items_at(found, "items") if isinstance(item, dict))
        return Listed(items, text_at(found, "metadata", "resourceVersion"))

    def create(self, path: str, thing: Object) -> Object:
        return self._done(_Asked("POST", path, body=_encoded(thing), repeatable=False))

    def patch(self, path: str, change: Object, kind: Patch = Patch.MERGE) -> Object:
        return self._done(_Asked("PATCH", path, body=_encoded(change), content=kind.value))

    def _done(self, asked: _Asked) -> dict[str, Json]:
        effort = Effort(self._clock, self._limits.patience, self._notice)
        while True:
            try:
                return self._attempt(asked, effort)
            except Failed as fault:
                effort.again(self._explained(fault))

    def _attempt(self, asked: _Asked, effort: Effort) -> dict[str, Json]:
        reply = self._reply(asked, effort)
        if reply.status < _ERRORS:
            return read_object(reply.body, self.place)
        fault = refusal(self.place, asked.described, reply.status, reply.body, reply.wait)
        if not asked.repeatable and not _was_not_begun(fault):
            fault.transient = False
        raise fault

    def _reply(self, asked: _Asked, effort: Effort) -> Reply:
        """By a connection that is there, if the server has not closed it since, or else by a new one."""
        request = self._request(asked)
        if asked.repeatable:
            while connection := self._taken():
                with suppress(Unreachable):
                    return self._over(connection, request, effort)
        connection = self._connected(effort.share(self._limits.attempt))
        try:
            return self._over(connection, request, effort)
        except Unreachable as fault:
            fault.transient = fault.transient and asked.repeatable
            raise

    def _over(self, connection: Connection, request: Request, effort: Effort) -> Reply:
        try:
            return connection.ask(request, self._limits, effort.share(self._limits.attempt))
        finally:
            if connection.open:
                with self._lock:
                    self._kept.append(connection)
            else:
                connection.close()

    def _taken(self) -> Connection | None:
        with self._lock:
            return self._kept.pop() if self._kept else None

    def _connected(self, seconds: float) -> Connection:
        return Connection(self._route, self.place, self._clock, seconds)

    @cached_property
    def _route(self) -> Route:
        context = self._access.context()
        given = (self._access.authorities,) if self._access.authorities else ()
        return Route(
            self._there,
            self._proxy(),
            lambda: context,
            lambda: authorities.trusting(given),
            self._access.server_name,
        )

    def _proxy(self) -> Address | None:
        if self._access.proxy:
            return address.parse(self._access.proxy)
        try:
            return self._proxies.proxy(self._there)
        except FetchFailed as fault:
            raise NotUsable(str(fault)) from None

    def _request(self, asked: _Asked) -> Request:
        headers = {
            "Host": self._there.named,
            "User-Agent": _USER_AGENT,
            "Accept": _JSON,
            "Accept-Encoding": "identity",
            **dict(self._access.headers()),
        }
        if asked.method != "GET":
            headers |= {"Content-Type": asked.content, "Content-Length": str(len(asked.body))}
        # The server's URL may have a path of its own, where one address stands for many clusters.
        before = self._there.target.partition("?")[0].rstrip("/")
        return Request(asked.method, before + asked.target, tuple(headers.items()), asked.body)

    def _explained(self, fault: Failed) -> Failed:
        if isinstance(fault, NotTrusted):
            return explanations.of_mistrust(fault, self._access, self.place)
        if isinstance(fault, Unauthorized):
            return explanations.of_unauthorized(fault, self._access, self.place, self._clock)
        return fault


@frozen
class _Asked:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", shown=False)
    content: str = _JSON
    repeatable: bool = True
    """Done twice it is as done once."""

    @property
    def target(self) -> str:
        query = f"?{urlencode(self.query)}" if self.query else ""
        return quote(self.path) + query

    @property
    def described(self) -> str:
        return f"{self.method} {plain(self.path)}"


def _encoded(thing: Object) -> bytes:
    return json.dumps(thing, separators=(",", ":")).encode()


def _was_not_begun(fault: Refused) -> bool:
    """Kubernetes turns away what it has no room for before it looks at it, and says when to come again."""
    return fault.status == _TOO_MANY_REQUESTS or fault.wait > 0
