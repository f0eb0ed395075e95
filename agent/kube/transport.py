"""The way to one API server: whom it leads to, who asks, and the connections that are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from agent.fetch import address, authorities
from agent.fetch.failure import Failed as FetchFailed
from agent.fetch.route import Route
from agent.kube import explanations
from agent.kube.answers import plain
from agent.kube.connection import Connection, Request
from agent.kube.failure import Failed, NotTrusted, NotUsable, Unauthorized, Unreachable
from agent.kube.kept import Kept, Way
from agent.release import RELEASE
from agent.secret_fields import registers_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent.fetch.address import Address
    from agent.fetch.deadline import Clock
    from agent.fetch.proxies import Proxies
    from agent.kube.access import Access
    from agent.kube.connection import Reply
    from agent.kube.limits import Limits

JSON = "application/json"
_USER_AGENT = f"wmcb/{RELEASE}"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    """What is empty is left out."""
    body: bytes = field(default=b"", repr=False)
    content: str = JSON
    repeatable: bool = True
    """Done twice it is as done once."""

    @property
    def target(self) -> str:
        query = urlencode({name: value for name, value in self.query.items() if value})
        return f"{quote(self.path)}?{query}" if query else quote(self.path)

    @property
    def described(self) -> str:
        return f"{self.method} {plain(self.path)}"


class Transport:
    """Any thread may use it."""

    def __init__(self, access: Access, proxies: Proxies, clock: Clock, kept: Kept | None = None) -> None:
        """What is kept open is its own, unless it is given where others keep theirs."""
        self._access = access
        self._proxies = proxies
        self._clock = clock
        self._there = address.parse(access.server)
        self._kept = kept or Kept()
        self._shares = kept is not None

    @property
    def place(self) -> str:
        """Host and port."""
        return self._there.place

    def close(self) -> None:
        """Ends the connections that nobody is using, but for those that others may use."""
        if not self._shares:
            self._kept.close()

    def reply(self, asked: Asked, limits: Limits, share: Callable[[float], float]) -> Reply:
        """By a connection that is there, if the server has not closed it since, or else by a new one. `share`
        tells how much of so many seconds there is. Raises Failed.
        """
        request = self.request(asked)
        while asked.repeatable and (connection := self._kept.take(self._way)):
            try:
                return self._over(connection, request, limits, share)
            except Unreachable as fault:
                if not fault.transient:
                    raise
        connection = self.connected(share(limits.attempt))
        try:
            return self._over(connection, request, limits, share)
        except Unreachable as fault:
            fault.transient = fault.transient and asked.repeatable
            raise

    def connected(self, seconds: float) -> Connection:
        """A new one. Raises Failed."""
        return Connection(self._route, self.place, self._clock, seconds)

    def request(self, asked: Asked) -> Request:
        """Raises NotUsable."""
        headers = {
            "Host": self._there.named,
            "User-Agent": _USER_AGENT,
            "Accept": JSON,
            "Accept-Encoding": "identity",
            **dict(self._access.headers()),
        }
        if asked.method != "GET":
            headers |= {"Content-Type": asked.content, "Content-Length": str(len(asked.body))}
        # The server's URL may have a path of its own, where one address stands for many clusters.
        before = self._there.target.partition("?")[0].rstrip("/")
        return Request(asked.method, before + asked.target, tuple(headers.items()), asked.body)

    def explained(self, fault: Failed) -> Failed:
        """With what to do about it, where that depends on who asks and who is trusted."""
        if isinstance(fault, NotTrusted):
            return explanations.of_mistrust(fault, self._access, self.place)
        if isinstance(fault, Unauthorized):
            return explanations.of_unauthorized(fault, self._access, self.place, self._clock)
        return fault

    def _over(
        self, connection: Connection, request: Request, limits: Limits, share: Callable[[float], float]
    ) -> Reply:
        try:
            return connection.ask(request, limits, share(limits.attempt_at(request.method)))
        finally:
            if connection.open:
                self._kept.put(self._way, connection)
            else:
                connection.close()

    @cached_property
    def _way(self) -> Way:
        access = self._access
        return Way(
            self.place,
            self._proxy,
            access.authorities,
            access.server_name,
            access.insecure,
            access.certificate,
            access.key,
        )

    @cached_property
    def _route(self) -> Route:
        context = self._access.context()
        given = (self._access.authorities,) if self._access.authorities else ()
        return Route(
            self._there,
            self._proxy,
            lambda: context,
            lambda: authorities.trusting(given),
            self._access.server_name,
        )

    @cached_property
    def _proxy(self) -> Address | None:
        if self._access.proxy:
            return address.parse(self._access.proxy)
        try:
            return self._proxies.proxy(self._there)
        except FetchFailed as fault:
            raise NotUsable(str(fault)) from None
