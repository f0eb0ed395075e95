"""Programs of this machine asked by HTTP, against a small server that misbehaves on demand."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from agent.host.errors import BadName, NoAnswer, NotFound, TimedOut
from contract.world import World

SOON = 20.0


@contextlib.contextmanager
def server(answer: Callable[[socket.socket, bytes], object]) -> Iterator[int]:
    """Serves one connection: `answer` gets it and what was asked."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                asked = b""
                while not asked.endswith(b"\r\n\r\n") and (block := connection.recv(1024)):
                    asked += block
                answer(connection, asked)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            thread.join(SOON)
    assert not thread.is_alive()


def says(*pieces: bytes) -> Callable[[socket.socket, bytes], object]:
    def answer(connection: socket.socket, _: bytes) -> None:
        for piece in pieces:
            connection.sendall(piece)

    return answer


ANSWERS: dict[str, tuple[tuple[bytes, ...], int]] = {
    "ok": ((b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",), 200),
    "not well": ((b"HTTP/1.1 500 Internal Server Error\r\n\r\n",), 500),
    "older": ((b"HTTP/1.0 404 Not Found\r\n\r\n",), 404),
    "no reason": ((b"HTTP/1.1 503\r\n\r\n",), 503),
    "elsewhere": ((b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n\r\n",), 302),
    "in pieces": ((b"HT", b"TP/1.1 2", b"04 No Content", b"\r\n\r\n"), 204),
}


@pytest.mark.parametrize(("pieces", "status"), ANSWERS.values(), ids=ANSWERS)
def test_the_status_is_told(world: World, pieces: tuple[bytes, ...], status: int) -> None:
    with server(says(*pieces)) as port:
        assert world.host.loopback.get(port, "/healthz", SOON) == status


def test_what_is_asked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    heard: list[bytes] = []

    def answer(connection: socket.socket, asked: bytes) -> None:
        heard.append(asked)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    with server(answer) as port:
        world.host.loopback.get(port, "/healthz?verbose=1", SOON)
    first, *headers = heard[0].decode().split("\r\n")
    assert first == "GET /healthz?verbose=1 HTTP/1.1"
    assert f"Host: 127.0.0.1:{port}" in headers


def test_a_port_that_nobody_listens_on(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NoAnswer, match=f"127.0.0.1:{port}/healthz") as refused:
        world.host.loopback.get(port, "/healthz", SOON)
    assert refused.value.code == 10061
    assert isinstance(refused.value, NotFound)


@pytest.mark.parametrize(
    ("pieces", "code"),
    [((), 10054), ((b"SSH-2.0-x\r\n",), 13), ((b"x" * 5000,), 13), ((b"HTTP/1.1 2",), 13)],
    ids=["hangs up", "not HTTP", "endless", "half"],
)
def test_an_answer_that_is_none(world: World, pieces: tuple[bytes, ...], code: int) -> None:
    with server(says(*pieces)) as port, pytest.raises(NoAnswer) as refused:
        world.host.loopback.get(port, "/", SOON)
    assert refused.value.code == code


def drip(connection: socket.socket, ended: threading.Event) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 ")
        while not ended.wait(0.05):
            connection.sendall(b"0")


@pytest.mark.parametrize("drips", [False, True], ids=["silent", "dripping"])
def test_an_answer_that_takes_too_long(world: World, drips: bool) -> None:
    ended = threading.Event()
    began = time.monotonic()
    with server(lambda connection, _: drip(connection, ended) if drips else ended.wait(SOON)) as port:
        with pytest.raises(TimedOut, match=r"0\.3 seconds") as refused:
            world.host.loopback.get(port, "/healthz", 0.3)
        ended.set()
    assert refused.value.code == 10060
    assert time.monotonic() - began < SOON / 2


@pytest.mark.parametrize("path", ["", "healthz", "/a b", "/\r\nX: y", "/é"], ids=ascii)
def test_a_path_that_cannot_be_asked_for(world: World, path: str) -> None:
    with pytest.raises(BadName):
        world.host.loopback.get(1, path, SOON)
