"""A connection: TCP, and TLS over whatever there is. Every wait of it ends by its deadline."""

from __future__ import annotations

import math
import socket
import ssl
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from agent.fetch.failure import Failed, broken, of_connection, of_name
from agent.fetch.mistrust import of_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from agent.fetch.address import Address
    from agent.fetch.deadline import Deadline

    T = TypeVar("T")

_ATTEMPT_SECONDS = 2.0
"""For each of a name's addresses at least: the first may be of a network that leads nowhere."""
_RECORD = 1 << 16
_DIGITS = "0123456789."


class Wire(Protocol):
    def send(self, data: bytes) -> None: ...
    def receive(self, size: int) -> bytes:
        """What there is, at most `size` bytes; nothing at the end."""

    def abort(self) -> None:
        """From any thread: whoever waits for it finds it cut off."""

    def close(self) -> None: ...


class Tcp:
    def __init__(self, connected: socket.socket, place: str, deadline: Deadline) -> None:
        self._socket = connected
        self._place = place
        self._deadline = deadline
        self._waits: float | None = None
        """Seconds that it was last told to wait at most."""

    def send(self, data: bytes) -> None:
        self._wait_within_limits()
        self._guarded(lambda: self._socket.sendall(data))

    def receive(self, size: int) -> bytes:
        self._wait_within_limits()
        return self._guarded(lambda: self._socket.recv(size))

    def _wait_within_limits(self) -> None:
        """To a hundredth: to tell a socket asks the system once more, and takes as long as to receive."""
        left = _finite(self._deadline.left())
        if left is None or self._waits is None or abs(left - self._waits) > self._waits / 100:
            self._socket.settimeout(left)
            self._waits = left

    def abort(self) -> None:
        # Closed under somebody who waits for it, a socket would keep him waiting on some systems.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _guarded(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except TimeoutError:
            raise
        except OSError as fault:
            raise broken(self._place, "by the other side", fault) from None


class Tls:
    """TLS in memory over another wire, so that it works alike over TCP and inside a proxy's own TLS."""

    def __init__(self, inner: Wire, context: ssl.SSLContext, host: str, place: str) -> None:
        """Raises ssl.SSLError where the two sides do not agree, or this side does not trust the other."""
        self._inner = inner
        self._place = place
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        # Neither a zone nor a name's last dot is ever in a certificate.
        name = host.partition("%")[0].rstrip(".")
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=_for_socket(name))
        self._until_done(self._tls.do_handshake)

    def send(self, data: bytes) -> None:
        try:
            self._until_done(lambda: self._tls.write(data))
        except ssl.SSLError as fault:
            raise of_session(fault, self._place) from None

    def receive(self, size: int) -> bytes:
        try:
            return self._until_done(lambda: self._tls.read(size))
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as fault:
            # With TLS 1.3 the server judges a client only after the client takes TLS for agreed on.
            raise of_session(fault, self._place) from None

    def abort(self) -> None:
        self._inner.abort()

    def close(self) -> None:
        self._inner.close()

    def shown(self) -> list[bytes]:
        """The certificates that the other side showed, its own first, in DER."""
        own = self._tls.getpeercert(binary_form=True)
        chain = getattr(self._tls, "get_unverified_chain", None)  # from Python 3.13 on
        return list(chain()) if chain else [own] if own else []

    def _until_done(self, step: Callable[[], T]) -> T:
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                self._flush()
                self._feed()
            except ssl.SSLError:
                self._flush()  # the other side is told why
                raise
            else:
                self._flush()
                return result

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._inner.send(self._outgoing.read())

    def _feed(self) -> None:
        data = self._inner.receive(_RECORD)
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()


class _Found(NamedTuple):
    """An address that a name stands for, as the system tells it."""

    family: int
    kind: int
    protocol: int
    name: str
    place: tuple[object, ...]


def connected(there: Address, place: str, deadline: Deadline, *, called: str = "") -> Tcp:
    """`place` is what a person is told of `there`, and `called` whose name it has. Raises Failed, or
    TimeoutError when the time is over.
    """
    first: Exception | None = None
    addresses = _addresses(there, place, deadline, called)
    for index, found in enumerate(addresses):
        left = deadline.left()
        seconds = max(left / (len(addresses) - index), min(_ATTEMPT_SECONDS, left))
        try:
            return Tcp(_opened(found, seconds), place, deadline)
        except TimeoutError as fault:
            first = first or fault
        except OSError as fault:
            first = first or of_connection(place, fault)
    raise first or Failed(f"the name {called}{there.host} has no address", transient=True)


def _opened(found: _Found, seconds: float) -> socket.socket:
    opened = socket.socket(found.family, found.kind, found.protocol)
    try:
        opened.settimeout(_finite(seconds))
        opened.connect(found.place)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        opened.close()
        raise
    return opened


def _addresses(there: Address, place: str, deadline: Deadline, called: str) -> list[_Found]:
    """What the name stands for."""
    try:
        if ":" in there.host or not there.host.strip(_DIGITS):
            return _looked_up(there)  # of an address nobody is asked
        return _looked_up_in_time(there, deadline)
    except socket.gaierror as fault:
        raise of_name(f"{called}{there.host}", fault) from None
    except TimeoutError:
        raise
    except OSError as fault:
        raise of_connection(place, fault) from None


def _looked_up(there: Address) -> list[_Found]:
    found = socket.getaddrinfo(_for_socket(there.host), there.port, type=socket.SOCK_STREAM)
    return [_Found(*one) for one in found]


def _looked_up_in_time(there: Address, deadline: Deadline) -> list[_Found]:
    """Looking up knows no time-out, so it is left behind when its time is over."""
    import queue

    answers: queue.SimpleQueue[list[_Found] | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(_looked_up(there))
        except OSError as fault:
            answers.put(fault)

    threading.Thread(target=look_up, name=f"look up {there.host}", daemon=True).start()
    try:
        answer = answers.get(timeout=_finite(deadline.left()))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _for_socket(name: str) -> str | bytes:
    """For text Python loads its tables of international names, whatever is in it."""
    return name.encode() if name.isascii() else name


def _finite(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds
