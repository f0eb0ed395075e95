"""Bodies, repetitions, redirects and limits, against servers on loopback."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import NamedTuple

import pytest

from agent.fetch.address import Proxies
from agent.fetch.failure import Failed
from agent.fetch.fetching import BLOCK, Fetcher, Limits, Request
from unit.fetch.quick_clock import QuickClock, StillClock
from unit.fetch.servers import Reply, Server, after, answer, closed_port, ok, raw, reset, silent

PASSES = True
TELLTALE = "/worker/config?token=hidden-in-query#hidden-in-fragment"
IMPATIENT = Limits(patience=0)


def fetched(url: str, limits: Limits = IMPATIENT, clock: QuickClock | None = None) -> bytes:
    return Fetcher(clock or QuickClock()).body(Request(url), limits)


class Body(NamedTuple):
    name: str
    reply: bytes
    body: bytes


BODIES = [
    Body("of known length", ok(b"x" * 100_000), b"x" * 100_000),
    Body("empty", ok(), b""),
    Body("no content", raw("HTTP/1.1 204 No Content"), b""),
    Body(
        "in chunks",
        raw("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"),
        b"hello!",
    ),
    Body("until the connection ends", raw("HTTP/1.0 200 OK", body=b"all of it"), b"all of it"),
    Body("more than was told", raw("HTTP/1.1 200 OK", "Content-Length: 3", body=b"abcdef"), b"abc"),
    Body("gzip stays gzip", ok(b"\x1f\x8b\x08\x00", "Content-Encoding: gzip"), b"\x1f\x8b\x08\x00"),
    Body("after a 100", raw("HTTP/1.1 100 Continue") + ok(b"body"), b"body"),
]


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.name)
def test_a_body(case: Body) -> None:
    with Server(case.reply) as server:
        assert fetched(server.url()) == case.body


class Broken(NamedTuple):
    name: str
    reply: Reply
    says: str
    passes: bool = False
    seconds: float = 10.0
    """For the server to say something in."""


BROKEN = [
    Broken("not found", answer("404 Not Found", b"secret page"), "{place} answers 404 Not Found"),
    Broken("words of the server's own", answer("404 \x1b[31mPwned"), "{place} answers 404 Not Found"),
    Broken("a status nobody knows", answer("499 What"), "{place} answers 499"),
    Broken(
        "credentials wanted",
        answer("401 Unauthorized"),
        "{place} answers 401 Unauthorized: it wants credentials, or others than it was given",
    ),
    Broken("an unasked part", answer("206 Partial Content", b"x"), "{place} answers 206 Partial Content"),
    Broken("a server's failure", answer("500 Oops"), "{place} answers 500 Internal Server Error", PASSES),
    Broken("a proxy's failure", answer("502 Bad Gateway"), "{place} answers 502 Bad Gateway", PASSES),
    Broken("too much asked", answer("429 Slow down"), "{place} answers 429 Too Many Requests", PASSES),
    Broken("cut off at once", reset, "the connection to {place} is cut off by the other side", PASSES),
    Broken("no answer at all", lambda *_: None, "{place} ends the connection without an answer", PASSES),
    Broken("not http", b"220 mail ready\r\n", "what {place} answers is not http"),
    Broken("endless headers", raw("HTTP/1.1 200 OK", *["X: y"] * 1000), "what {place} answers is not http"),
    Broken(
        "an endless header", raw("HTTP/1.1 200 OK", "X: " + "y" * 100_000), "what {place} answers is not http"
    ),
    Broken(
        "a body cut short",
        raw("HTTP/1.1 200 OK", "Content-Length: 10", body=b"abc"),
        "{place} breaks off after 3 of 10 bytes",
        PASSES,
    ),
    Broken(
        "chunks cut short",
        raw("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"3\r\nabc\r\n"),
        "{place} breaks off after 3 bytes",
        PASSES,
    ),
    Broken(
        "a chunk cut short",
        raw("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"9\r\nabc"),
        "{place} breaks off after 3 bytes",
        PASSES,
    ),
    Broken("larger than allowed, and says so", ok(b"x" * 1001), "the answer is larger than 1,000 bytes"),
    Broken(
        "larger than allowed, unsaid",
        raw("HTTP/1.0 200 OK", body=b"x" * 1001),
        "the answer is larger than 1,000 bytes",
    ),
    Broken("a redirect to nowhere", answer("302 Found"), "{place} redirects without saying where to"),
    Broken(
        "a redirect to a file",
        answer("302 Found", b"", "Location: file:///etc/shadow"),
        "{place} redirects to what is no http or https URL",
    ),
    Broken(
        "a redirect to itself",
        answer("302 Found", b"", "Location: /"),
        "{place} redirects more than 10 times",
    ),
    Broken("no answer in time", silent, "no answer from {place} within 0.3 seconds", PASSES, 0.3),
    Broken(
        "an answer in drops",
        after(b"HTTP/1.1 200 OK\r\n"),
        "no answer from {place} within 0.3 seconds",
        PASSES,
        0.3,
    ),
    Broken(
        "a body that stands still",
        after(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
        "{place} sends nothing more after 3 bytes within 0.3 seconds",
        PASSES,
        0.3,
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_what_goes_wrong_is_told_in_a_line(case: Broken) -> None:
    limits = replace(IMPATIENT, size=1000, answer=case.seconds, silence=case.seconds)
    with Server(case.reply) as server, pytest.raises(Failed) as caught:
        fetched(server.url(TELLTALE), limits)
    assert str(caught.value) == case.says.format(place=server.place)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_what_passes_is_asked_for_again_and_nothing_else(case: Broken) -> None:
    limits = Limits(size=1000, answer=case.seconds, silence=case.seconds)
    clock = QuickClock()
    with Server(case.reply, ok(b"at last")) as server:
        if case.passes:
            assert fetched(server.url(), limits, clock) == b"at last"
            assert clock.slept == [0.2]
            return
        server.say_first(case.reply)
        with suppress(Failed):
            fetched(server.url(), limits, clock)
        assert clock.slept == []


def test_nothing_is_told_of_a_url_but_its_host() -> None:
    told: list[str] = []
    with Server(answer("503 Later")) as server, pytest.raises(Failed) as caught:
        url = f"http://user:hidden-password@{server.place}{TELLTALE}"
        Fetcher(QuickClock(), told.append).body(Request(url, (("X-Token", "hidden"),)), Limits())
    assert told
    assert "hidden" not in " ".join((*told, repr(caught.value), repr(Request(url, (("X-Token", "hidden"),)))))


def test_patience_is_what_the_caller_gives() -> None:
    clock = StillClock()
    told: list[str] = []
    with Server(answer("503 Later")) as server, pytest.raises(Failed) as caught:
        Fetcher(clock, told.append).body(Request(server.url()), Limits(patience=20))
    assert clock.slept == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 5, 5])
    says = rf"{server.place} answers 503 Service Unavailable \(asked 8 times in 16 seconds\)"
    assert re.fullmatch(says, str(caught.value))
    assert caught.value.status == 503
    again = f"{server.place} answers 503 Service Unavailable; asking again for 20 seconds"
    assert told == [again], "once, however often it comes"


def test_a_server_that_does_not_listen_yet_is_asked_again() -> None:
    port = closed_port()
    clock = QuickClock()
    with pytest.raises(Failed) as caught:
        fetched(f"http://127.0.0.1:{port}/", Limits(patience=5), clock)
    refused = f"127.0.0.1:{port} refuses the connection: nothing listens there"
    assert str(caught.value).startswith(f"{refused} (asked ")
    assert len(clock.slept) >= 1


class Wait(NamedTuple):
    name: str
    header: str
    slept: float


IN_50_MINUTES = format_datetime(datetime.fromtimestamp(StillClock.START + 3000, UTC), usegmt=True)
WAITS = [
    Wait("in seconds", "Retry-After: 7", 7),
    Wait("until a date", f"Retry-After: {IN_50_MINUTES}", 3000),
    Wait("until a date gone by", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", 0.2),
    Wait("less than our own pause", "Retry-After: 0", 0.2),
    Wait("nonsense", "Retry-After: tomorrow", 0.2),
    Wait("a negative number", "Retry-After: -5", 0.2),
]


@pytest.mark.parametrize("case", WAITS, ids=lambda case: case.name)
def test_a_server_is_left_alone_for_as_long_as_it_asks(case: Wait) -> None:
    clock = StillClock()
    limits = Limits(patience=5000, total=5000)
    with Server(answer("429 Slow", b"", case.header), ok(b"now")) as server:
        assert fetched(server.url(), limits, clock) == b"now"
    assert clock.slept == [case.slept]


def test_it_gives_up_at_once_where_a_server_asks_for_more_than_there_is() -> None:
    with Server(answer("503 Later", b"", "Retry-After: 3600")) as server, pytest.raises(Failed) as caught:
        fetched(server.url(), Limits())
    wait = "(it asks to be left alone for 3600 seconds)"
    assert str(caught.value) == f"{server.place} answers 503 Service Unavailable {wait}"


class TestLookingUp:
    def test_a_name_without_an_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._fails(monkeypatch, socket.gaierror(socket.EAI_NONAME, "in some language"))
        with pytest.raises(Failed, match=r"^the name api\.example has no address; check the name"):
            fetched("http://api.example:22623/")

    def test_a_proxy_without_an_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._fails(monkeypatch, socket.gaierror(socket.EAI_NONAME, "in some language"))
        with pytest.raises(Failed, match=r"^the name of the proxy garbage has no address; check the name"):
            Fetcher(StillClock()).body(
                Request("http://api.example:22623/", proxies=Proxies(http="garbage")), Limits()
            )

    def test_no_name_server(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._fails(monkeypatch, socket.gaierror(socket.EAI_AGAIN, "in some language"))
        with pytest.raises(Failed, match=r"^the name api\.example cannot be looked up: no name server"):
            fetched("http://api.example:22623/")

    def test_an_answer_that_does_not_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        over = threading.Event()
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(20) and [])
        says = r"^not all of the answer of api\.example:80 came within 0\.1 seconds$"
        with pytest.raises(Failed, match=says):
            fetched("http://api.example/", Limits(total=0.1))
        over.set()

    def test_the_next_address_is_taken_where_one_leads_nowhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with Server(ok(b"found")) as server:
            places = [("127.0.0.1", closed_port()), ("127.0.0.1", server.port)]
            found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
            assert fetched("http://api.example/", Limits()) == b"found"

    def _fails(self, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
        def getaddrinfo(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


class TestSending:
    def test_what_a_request_says(self) -> None:
        with Server(ok()) as server:
            headers = (
                ("Accept", "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1"),
                ("X-A", "1"),
            )
            Fetcher().body(Request(server.url("/a b/ä?q=1 2#fragment"), headers), IMPATIENT)
        line, *sent = server.heads[0].split("\r\n")
        assert line == "GET /a%20b/%C3%A4?q=1%202 HTTP/1.1"
        assert sent == [
            f"Host: {server.place}",
            sent[1],
            "Accept-Encoding: identity",
            "Connection: close",
            "Accept: application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1",
            "X-A: 1",
        ]
        assert sent[1].startswith("User-Agent: wmcb/")

    def test_the_caller_says_who_asks_but_not_how_the_connection_is_used(self) -> None:
        headers = (("user-agent", "Ignition/2.26.0"), ("host", "other"), ("Content-Length", "5"))
        with Server(ok()) as server:
            Fetcher().body(Request(server.url(), headers), IMPATIENT)
        assert server.header("User-Agent") == "Ignition/2.26.0"
        assert server.header("Host") == server.place
        assert server.header("Content-Length") is None

    def test_credentials_of_the_url(self) -> None:
        with Server(ok()) as server:
            fetched(f"http://us%20er:p%40ss@{server.place}/")
        assert server.header("Authorization") == "Basic dXMgZXI6cEBzcw=="

    @pytest.mark.parametrize(
        "header",
        [("X-A", "1\r\nX-B: 2"), ("X-A\r\nX-B", "1"), ("X A", "1"), ("", "1"), ("X-A", "\0")],
        ids=["a line break in a value", "in a name", "a blank in a name", "no name", "a zero byte"],
    )
    def test_a_header_that_is_none(self, header: tuple[str, str]) -> None:
        with Server(ok()) as server:
            with pytest.raises(
                Failed, match=r"^one of the headers to send has a name or a value that no header"
            ):
                Fetcher().body(Request(server.url(), (header,)), Limits())
            assert server.heads == []

    @pytest.mark.parametrize(
        "url",
        ["ftp://host/", "http://", "http:///path", "host/path", "http://host:port/", "http://[::1/", "http://a..b/",
         "http://host:70000/", "http://a%20b/", "http://a%00b/", "https://%x/", "https://%25x/"],
    )  # fmt: skip
    def test_a_url_that_is_none(self, url: str) -> None:
        with pytest.raises(Failed, match=r"^it is no http or https URL$"):
            fetched(url)


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_are_followed(self, status: int) -> None:
        with Server(answer(f"{status} Elsewhere", b"", "Location: ../b?c=d"), ok(b"there")) as server:
            assert fetched(server.url("/x/a")) == b"there"
        assert server.heads[1].startswith("GET /b?c=d HTTP/1.1\r\n")

    def test_within_a_host_credentials_of_the_url_go_along_and_headers_do_not(self) -> None:
        with Server(answer("302 Found", b"", "Location: /b"), ok()) as server:
            url = f"http://user:word@{server.place}/"
            Fetcher().body(Request(url, (("X-Token", "t"), ("Accept", "text/plain"))), IMPATIENT)
        assert (server.header("X-Token"), server.header("Accept")) == (None, "text/plain")
        assert server.header("Authorization") == "Basic dXNlcjp3b3Jk"

    def test_to_another_only_those_go_that_say_what_is_wanted(self) -> None:
        headers = (
            ("X-Token", "t"),
            ("Authorization", "Bearer t"),
            ("Accept", "text/plain"),
            ("User-Agent", "a"),
        )
        with Server(ok()) as other, Server(answer("302 Found", b"", f"Location: {other.url()}")) as server:
            url = f"http://user:word@{server.place}/"
            Fetcher().body(Request(url, headers), IMPATIENT)
        assert (other.header("X-Token"), other.header("Authorization")) == (None, None)
        assert (other.header("Accept"), other.header("User-Agent")) == ("text/plain", "a")

    def test_headers_are_not_there_again_when_it_leads_back(self) -> None:
        with Server(ok()) as server, Server(answer("302 Found", b"", f"Location: {server.url()}")) as other:
            server.say_first(answer("302 Found", b"", f"Location: {other.url()}"))
            Fetcher().body(Request(server.url(), (("X-Token", "t"),)), IMPATIENT)
        assert (other.header("X-Token"), server.header("X-Token")) == (None, None)


class TestGoingOn:
    """After an answer that broke off when part of it was already taken."""

    CANNOT_GO_ON = "{place} broke off after 1,048,576 bytes and cannot go on from there"
    BODY = bytes(range(256)) * 8192
    TAG = 'ETag: "one"'

    def _first_part(self, *headers: str) -> bytes:
        whole = raw("HTTP/1.1 200 OK", f"Content-Length: {len(self.BODY)}", *headers, body=self.BODY)
        return whole[: -BLOCK // 2]

    def _rest(self, start: int) -> bytes:
        told = f"Content-Range: bytes {start}-{len(self.BODY) - 1}/{len(self.BODY)}"
        return answer("206 Partial Content", self.BODY[start:], told, self.TAG)

    def test_only_the_rest_is_asked_for(self) -> None:
        with Server(self._first_part(self.TAG), self._rest(BLOCK)) as server:
            assert fetched(server.url(), Limits()) == self.BODY
        assert server.header("Range") == f"bytes={BLOCK}-"
        assert server.header("If-Range") == '"one"'

    @pytest.mark.parametrize(
        ("second", "says"),
        [
            (ok(BODY, 'ETag: "two"'), CANNOT_GO_ON),
            (answer("206 Partial Content", b"x", "Content-Range: bytes 5-5/6"), CANNOT_GO_ON),
            (answer("404 Not Found"), "{place} answers 404 Not Found"),
        ],
        ids=["it has changed", "another part", "it has gone"],
    )
    def test_it_fails_where_the_rest_cannot_be_had(self, second: bytes, says: str) -> None:
        with Server(self._first_part(self.TAG), second) as server, pytest.raises(Failed) as caught:
            fetched(server.url(), Limits())
        assert str(caught.value) == says.format(place=server.place)

    @pytest.mark.parametrize(
        "tag", ["", 'ETag: W/"one"', "ETag: one"], ids=["none", "a weak one", "a bad one"]
    )
    def test_nothing_is_asked_for_without_a_tag(self, tag: str) -> None:
        with Server(self._first_part(*filter(None, [tag]))) as server, pytest.raises(Failed) as caught:
            fetched(server.url(), Limits())
        assert str(caught.value) == f"{server.place} breaks off after 1,572,864 of 2,097,152 bytes"
        assert len(server.heads) == 1

    def test_patience_begins_anew_with_what_has_come(self) -> None:
        clock = StillClock()
        later = answer("503 Later")
        script = [later] * 6 + [self._first_part(self.TAG)] + [later] * 5 + [self._rest(BLOCK)]
        with Server(*script) as server:
            assert fetched(server.url(), Limits(patience=12), clock) == self.BODY
        assert sum(clock.slept) > 20


class TestLimits:
    def test_all_of_it_ends_with_the_total(self) -> None:
        clock = StillClock()
        with (
            Server(answer("503 Later")) as server,
            pytest.raises(Failed, match=r"answers 503 .*asked 4 times"),
        ):
            fetched(server.url(), Limits(total=2), clock)
        assert sum(clock.slept) < 2

    def test_also_a_body_that_comes_in_drops(self) -> None:
        def drops(server: Server, connection: socket.socket, _: str) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not server.over.wait(0.01):
                connection.sendall(b"x")

        with Server(drops) as server, pytest.raises(Failed) as caught:
            fetched(server.url(), Limits(total=0.3))
        assert str(caught.value) == f"not all of the answer of {server.place} came within 0.3 seconds"

    def test_also_headers_that_come_in_drops(self) -> None:
        def drops(server: Server, connection: socket.socket, _: str) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not server.over.wait(0.01):
                connection.sendall(b"x")

        with Server(drops) as server, pytest.raises(Failed) as caught:
            fetched(server.url(), replace(IMPATIENT, answer=0.3))
        assert str(caught.value) == f"no answer from {server.place} within 0.3 seconds"

    def test_a_body_comes_in_blocks_and_is_not_held(self) -> None:
        with Server(ok(b"x" * (3 * BLOCK + 5))) as server:
            sizes = [len(block) for block in Fetcher().blocks(Request(server.url()), IMPATIENT)]
        assert sum(sizes) == 3 * BLOCK + 5
        assert max(sizes) <= BLOCK
        assert len(sizes) == 4

    def test_a_reader_who_has_enough_ends_the_connection(self) -> None:
        ended = threading.Event()

        def watched(_server: Server, connection: socket.socket, _: str) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (2 * BLOCK))
            try:
                while connection.recv(1):
                    pass
            except OSError:
                pass
            ended.set()

        with Server(watched) as server:
            blocks = Fetcher().blocks(Request(server.url()), IMPATIENT)
            next(blocks)
            blocks.close()
            assert ended.wait(20)
