"""The way to a server: direct or through a proxy, with TLS where the URL says so."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.fetch import authorities, mistrust
from agent.fetch.failure import Failed
from agent.fetch.messages import Headers, basic, begun, described, request_head
from agent.fetch.wire import Tls, connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.fetch.address import Address
    from agent.fetch.deadline import Deadline
    from agent.fetch.wire import Wire

    Trust = Callable[[], ssl.SSLContext]
    """Made when it is needed: reading the system's authorities takes longer than many a request."""

CONNECT_SECONDS = 30.0
HANDSHAKE_SECONDS = 10.0
_TUNNEL_SECONDS = 30.0
"""The proxy has to connect as well."""

_OK = 200
_PROXY_CREDENTIALS_WANTED = 407
_SERVER_ERRORS = 500


@dataclass(frozen=True, slots=True)
class Route:
    there: Address
    proxy: Address | None
    trust: Trust
    """Who is to vouch for the server."""
    trust_in_proxy: Trust
    name: str = ""
    """That the server's certificate is to be for, where it is not the host's."""

    def opened(self, deadline: Deadline) -> Wire:
        """Raises Failed."""
        first = self.proxy or self.there
        place = self._told(first)
        with deadline.within(CONNECT_SECONDS, f"no connection to {place}"):
            wire: Wire = connected(first, place, deadline, called="of the proxy " if self.proxy else "")
        try:
            if self.proxy and self.proxy.secure:
                wire = self._secured(wire, self.proxy, self.trust_in_proxy, deadline)
            if self.proxy and self.there.secure:
                self._tunnelled(wire, self.proxy, deadline)
            return self._secured(wire, self.there, self.trust, deadline) if self.there.secure else wire
        except BaseException:
            wire.close()
            raise

    @property
    def target(self) -> str:
        """How the request line names what is wanted."""
        absolute = self.proxy and not self.there.secure
        return f"http://{self.there.named}{self.there.target}" if absolute else self.there.target

    @property
    def headers_for_proxy(self) -> Headers:
        """What a request has to tell the proxy, where that is who reads it."""
        return basic("Proxy-Authorization", self.proxy) if self.proxy and not self.there.secure else ()

    def _told(self, place: Address) -> str:
        return f"the proxy {place.place}" if place is self.proxy else place.place

    def _secured(self, wire: Wire, there: Address, trust: Trust, deadline: Deadline) -> Tls:
        place = self._told(there)
        context = trust()
        with deadline.within(HANDSHAKE_SECONDS, f"TLS with {place} does not come about"):
            try:
                return Tls(wire, context, self._name_of(there), place)
            except ssl.SSLCertVerificationError as fault:
                refused = fault
            except ssl.SSLError as fault:
                raise mistrust.of_session(fault, place) from None
        raise mistrust.of_certificate(refused, place, context, lambda: self._shown(there, deadline))

    def _name_of(self, there: Address) -> str:
        return self.name if self.name and there is self.there else there.host

    def _shown(self, there: Address, deadline: Deadline) -> list[bytes]:
        """The certificates that the server shows; asked again, since Python forgets those that it refused."""
        proxy = None if there is self.proxy else self.proxy
        name = self._name_of(there)
        again = Route(there, proxy, authorities.trusting_anybody, self.trust_in_proxy, name)
        with deadline.within(HANDSHAKE_SECONDS, "no second look at the certificate"):
            wire = again.opened(deadline)
        try:
            return wire.shown() if isinstance(wire, Tls) else []
        finally:
            wire.close()

    def _tunnelled(self, wire: Wire, proxy: Address, deadline: Deadline) -> None:
        place = self._told(proxy)
        headers = (("Host", self.there.place), *basic("Proxy-Authorization", proxy))
        with deadline.within(_TUNNEL_SECONDS, f"no answer from {place}"):
            wire.send(request_head("CONNECT", self.there.place, headers))
            answer = begun(wire, "CONNECT", place)
        status = answer.status
        if status == _PROXY_CREDENTIALS_WANTED:
            raise Failed(f"{place} wants credentials, or others than it was given (407)", status=status)
        if status != _OK:
            why = f"{place} does not connect to {self.there.place}: it answers {described(status)}"
            raise Failed(why, transient=status >= _SERVER_ERRORS, status=status)
