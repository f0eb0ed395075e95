"""What a cloud tells its machines."""

from __future__ import annotations

import socket

import pytest

from agent.fetch.failure import Failed
from agent.fetch.fetching import get_metadata
from unit.fetch.quick_clock import QuickClock
from unit.fetch.servers import Server, answer, ok, silent


def test_a_value() -> None:
    with Server(ok(b"node-1.internal")) as server:
        assert get_metadata(server.url("/name"), (("Metadata-Flavor", "Google"),)) == b"node-1.internal"
    assert server.heads[0].startswith("GET /name HTTP/1.1\r\n")
    assert server.header("Metadata-Flavor") == "Google"


def test_a_token_that_has_to_be_put() -> None:
    with Server(ok(b"token")) as server:
        headers = (("X-aws-ec2-metadata-token-ttl-seconds", "60"),)
        assert get_metadata(server.url("/latest/api/token"), headers, "PUT") == b"token"
    assert server.heads[0].startswith("PUT /latest/api/token HTTP/1.1\r\n")
    assert server.header("Content-Length") == "0"


def test_what_is_not_there_is_told_by_its_status() -> None:
    with Server(answer("404 Not Found")) as server, pytest.raises(Failed) as caught:
        get_metadata(server.url())
    assert caught.value.status == 404


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_nobody_is_led_elsewhere(method: str) -> None:
    with Server(answer("302 Found", b"", "Location: /there")) as server, pytest.raises(Failed):
        get_metadata(server.url(), method=method)
    assert len(server.heads) == 1


def test_no_proxy_comes_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with Server(ok(b"yes")) as server:
        here = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [here])
        assert get_metadata("http://169.254.169.254/name") == b"yes"


def test_a_service_that_is_starting_is_asked_again() -> None:
    clock = QuickClock()
    with Server(answer("503 Later"), ok(b"now")) as server:
        assert get_metadata(server.url(), clock=clock) == b"now"
    assert clock.slept == [0.2]


def test_one_that_does_not_answer_costs_no_more_than_was_given() -> None:
    with Server(silent) as server, pytest.raises(Failed, match=r"within 0\.2 seconds"):
        get_metadata(server.url(), seconds=0.2)
