"""What has no time-out of its own ends with the deadline, and at once where that is stopped."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from agent.fetch import address, connection, dialer, trust
from agent.fetch.connection import Server as Asked
from agent.fetch.connection import Waits
from agent.fetch.deadline import Deadline, SystemClock, TimeIsUp
from agent.fetch.dialer import Stream
from agent.fetch.failure import Failed, NotTrusted
from agent.fetch.session import Session
from unit.fetch.authority import issue, serving
from unit.fetch.servers import Server, ok

LEAF = issue("server")
CERT_E_UNTRUSTEDROOT = 0x800B0109
CRYPT_E_ASN1_BADTAG = 0x8009310B - (1 << 32)
"""As ctypes has it."""


class Judging:
    """A context that judges until the test ends it, and then trusts or refuses."""

    def __init__(self, fault: OSError | None = None) -> None:
        self.begun, self.over = threading.Event(), threading.Event()
        self.ended = False
        self._fault = fault
        if fault:
            self.over.set()

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_hostname: str
    ) -> ssl.SSLObject:
        made = trust.unverified().wrap_bio(incoming, outgoing, server_hostname=server_hostname)
        handshake = made.do_handshake

        def judged() -> None:
            handshake()
            self.begun.set()
            self.over.wait(20)
            self.ended = True
            if self._fault:
                raise self._fault

        made.do_handshake = judged  # type: ignore[method-assign]
        return made

    def get_ca_certs(self, *, binary_form: bool) -> list[bytes]:
        raise NotImplementedError  # as truststore's


def ask(url: str, deadline: Deadline, judging: Judging | None = None) -> None:
    contexts = [cast("ssl.SSLContext", judging)] if judging else []
    asked = Session(Asked(address.parse(url), None, lambda: contexts, tuple))
    asked.ask("GET", "/", (), Waits(deadline, 60, 60))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(ok(), context=serving(tmp_path, LEAF)) as server:
        yield server


def test_a_judgement_ends_with_the_deadline(server: Server) -> None:
    judging, deadline = Judging(), Deadline(SystemClock())
    with pytest.raises(Failed, match=r"^too slow within 1 second$"), deadline.within(1, "too slow"):
        ask(server.url(), deadline, judging)
    assert judging.begun.is_set()
    assert not judging.ended
    judging.over.set()


def test_a_refusal_counts_also_where_no_time_is_left_to_look_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    dial = dialer.dial
    dialled: list[bool] = []

    def dial_once(*given: Any, **named: Any) -> Stream:
        if dialled:
            raise TimeIsUp
        dialled.append(True)
        return dial(*given, **named)

    monkeypatch.setattr(connection, "dial", dial_once)
    fault = ssl.SSLCertVerificationError("refused")
    fault.verify_code, fault.verify_message = CERT_E_UNTRUSTEDROOT, "refused"
    judging = Judging(fault)
    deadline = Deadline(SystemClock())
    refused = pytest.raises(NotTrusted, match="Windows' error 0x800b0109")
    with refused, deadline.within(5, "too slow"):
        ask(server.url(), deadline, judging)


def test_a_certificate_that_windows_cannot_read_is_refused(server: Server) -> None:
    """In the server's chain, say: CryptoAPI answers with an error and no judgement."""
    unreadable = OSError(22, "whatever language this is in")
    unreadable.winerror = CRYPT_E_ASN1_BADTAG  # type: ignore[attr-defined, unused-ignore]
    with pytest.raises(NotTrusted, match=r"is not trusted \(Windows' error 0x8009310b\)$"):
        ask(server.url(), Deadline(SystemClock()), Judging(unreadable))


@contextmanager
def stopped_at(begun: threading.Event, url: str, judging: Judging | None = None) -> Iterator[None]:
    """The request has ended by `stop`, which was called once it had `begun`, before anything else ends it."""
    deadline, ended = Deadline(SystemClock()), threading.Event()

    def run() -> None:
        with deadline.stoppable():
            try:
                ask(url, deadline, judging)
            except TimeIsUp:
                ended.set()

    asking = threading.Thread(target=run, daemon=True)
    asking.start()
    assert begun.wait(20)
    deadline.stop()
    assert ended.wait(10)  # less than anything here lasts
    yield
    asking.join(20)


class TestStop:
    def test_while_a_name_is_looked_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        begun, over = threading.Event(), threading.Event()

        def look_up(*_: object, **__: object) -> list[object]:
            begun.set()
            over.wait(20)
            return []

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        with stopped_at(begun, "http://node.example/"):
            over.set()

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses what a full queue has no room for")
    def test_while_connecting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        begun = threading.Event()
        connect = dialer.Stream.connect_ex

        def connect_ex(stream: Stream, place: Any) -> int:
            begun.set()
            return connect(stream, place)

        monkeypatch.setattr(dialer.Stream, "connect_ex", connect_ex)
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            port = listener.getsockname()[1]
            waiting = [socket.socket() for _ in range(8)]
            for each in waiting:  # they fill the listener's queue
                each.setblocking(False)
                each.connect_ex(("127.0.0.1", port))
            with stopped_at(begun, f"http://127.0.0.1:{port}/"):
                for each in waiting:
                    each.close()

    def test_while_a_certificate_is_judged(self, server: Server) -> None:
        judging = Judging()
        with stopped_at(judging.begun, server.url(), judging):
            judging.over.set()

    def test_while_something_is_sent(self) -> None:
        ours, theirs = socket.socketpair()
        deadline, begun, ended = Deadline(SystemClock()), threading.Event(), threading.Event()
        with dialer.Stream(fileno=ours.detach()) as stream, theirs:
            stream.deadline = deadline
            stream.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    stream.send(bytes(1 << 16))  # until nothing more finds room

            def send() -> None:
                with deadline.stoppable(), suppress(TimeIsUp):
                    begun.set()
                    stream.sendall(b"more")
                ended.set()

            threading.Thread(target=send, daemon=True).start()
            assert begun.wait(20)
            deadline.stop()
            assert ended.wait(10)


def test_a_connection_without_a_limit_gets_one_again() -> None:
    ours, theirs = socket.socketpair()
    deadline = Deadline(SystemClock())
    with dialer.Stream(fileno=ours.detach()) as stream, theirs:
        stream.deadline = deadline
        stream.sendall(b"without a limit")
        with pytest.raises(Failed, match=r"^too slow within 0\.2 seconds$"), deadline.within(0.2, "too slow"):
            stream.recv(1)
