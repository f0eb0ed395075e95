"""TCP connections, made and used within a deadline.

urllib3's own wait for a name server without a limit, give each of a name's addresses all of the time, and
bound each wait, never the whole.
"""

import errno
import math
import os
import selectors
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any

from agent.fetch.address import Address
from agent.fetch.deadline import Deadline, TimeIsUp
from agent.fetch.failure import Failed, of_connection, of_name

_ATTEMPT_SECONDS = 2.0
"""For each of a name's addresses at least: the first may be of a network that leads nowhere."""
_DIGITS = "0123456789."
_IN_PROGRESS = {errno.EINPROGRESS, errno.EWOULDBLOCK}
_RECORDS = 1 << 18
"""Bytes that are received at once for TLS; one record, each time, would take as long."""
_Found = tuple[int, int, int, str, tuple[object, ...]]
"""An address that a name stands for, as the system tells it: its family, kind, protocol, name and place."""


class Stream(socket.socket):
    """A connection each of whose waits ends with the deadline of the request that uses it, by TimeIsUp.

    TLS is put over it in memory (urllib3's SSLTransport), which so waits here as well.
    """

    deadline: Deadline
    _limited = 0.0
    """Seconds that the system was last told to wait at most."""

    def settimeout(self, _: float | None) -> None:
        """Ignore what urllib3 says."""

    def limit(self, seconds: float) -> None:
        self._limited = seconds
        super().settimeout(None if math.isinf(seconds) else seconds)

    def sendall(self, data: Any, flags: int = 0) -> None:
        left = memoryview(data).cast("B")
        while left:
            self._wait(selectors.EVENT_WRITE)
            try:
                left = left[super().send(left, flags) :]
            except TimeoutError:
                raise TimeIsUp from None

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive all that has come: TLS asks for a record, and takes more."""
        self._wait(selectors.EVENT_READ)
        try:
            return super().recv(max(size, _RECORDS), flags)
        except TimeoutError:
            raise TimeIsUp from None

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        self._wait(selectors.EVENT_READ)
        try:
            return super().recv_into(buffer, size, flags)
        except TimeoutError:
            raise TimeIsUp from None

    def _wait(self, ready: int) -> None:
        """Wait until it is ready, where `stop` may end that, else let the system's own call wait."""
        left = self._limit_to_deadline()
        if self.deadline.waker and not self.becomes(ready, left):
            raise TimeIsUp

    def becomes(self, ready: int, seconds: float) -> bool:
        """Wait until it is ready to be read or written; False where time ends or the deadline is stopped."""
        with selectors.DefaultSelector() as selector:
            selector.register(self, ready)
            if self.deadline.waker:
                selector.register(self.deadline.waker, selectors.EVENT_READ)
            events = selector.select(None if math.isinf(seconds) else seconds)
        return not self.deadline.stopped and any(key.fileobj is self for key, _ in events)

    def _limit_to_deadline(self) -> float:
        """To a hundredth: to tell the system takes as long as to receive."""
        left = self.deadline.left()
        if math.isinf(self._limited) or abs(left - self._limited) > self._limited / 100:
            self.limit(left)
        return left


def dial(there: Address, place: str, deadline: Deadline, *, called: str = "") -> Stream:
    """Connect to the first address that answers. `place` names `there` in errors, and `called` says whose
    host name it is. Raises Failed, or TimeIsUp.
    """
    first: Exception | None = None
    addresses = _addresses(there, place, deadline, called)
    for index, found in enumerate(addresses):
        left = deadline.left()
        seconds = max(left / (len(addresses) - index), min(_ATTEMPT_SECONDS, left))
        try:
            return _opened(found, seconds, deadline)
        except TimeoutError:
            first = first or TimeIsUp()
        except OSError as fault:
            first = first or of_connection(place, fault)
    raise first or Failed(f"the name {called}{there.host} has no address", transient=True)


def _opened(found: _Found, seconds: float, deadline: Deadline) -> Stream:
    family, kind, protocol, _, place = found
    opened = Stream(family, kind, protocol)
    opened.deadline = deadline
    try:
        opened.limit(0)
        error = opened.connect_ex(place)
        if error in _IN_PROGRESS:
            if not opened.becomes(selectors.EVENT_WRITE, seconds):
                deadline.left()
                raise TimeoutError
            error = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            # On Windows the last is the code, and makes the first of it.
            raise OSError(error, os.strerror(error), None, error)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        opened.close()
        raise
    return opened


def _addresses(there: Address, place: str, deadline: Deadline, called: str) -> Sequence[_Found]:
    try:
        if ":" in there.host or not there.host.strip(_DIGITS):
            return _looked_up(there)  # an address needs no name server
        return deadline.run(partial(_looked_up, there), f"look up {there.host}")
    except socket.gaierror as fault:
        raise of_name(f"{called}{there.host}", fault) from None
    except OSError as fault:
        raise of_connection(place, fault) from None


def _looked_up(there: Address) -> Sequence[_Found]:
    return socket.getaddrinfo(there.host, there.port, type=socket.SOCK_STREAM)
