"""Whatever strangers say or people write, the answer is a value or Failed, on one line."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.fetch.address import DIRECT
from agent.fetch.deadline import Deadline, SystemClock
from agent.fetch.dialer import Stream
from agent.kube import discovery, kubeconfig
from agent.kube.access import Access, given_pins
from agent.kube.answers import Json, at, items_at, of_status, refusal, text_at
from agent.kube.discovery import Discovery
from agent.kube.failure import Failed, NotUsable
from agent.kube.transport import Asked, Limits, Transport
from unit.kube.api_server import ROOT, TOKEN, kubeconfig_of, signature

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
YAML_TEXT = st.text(alphabet="ab:-[]{}&*!<>|'\"%#,? \n\t01.~yné\0\u2028", max_size=80)


def keyed(*keys: str, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(keys), inner, max_size=len(keys))


NAMES = st.sampled_from(["", "a", "b"]) | JSON
DATA = st.binary(max_size=9).map(lambda data: base64.b64encode(data).decode()) | JSON
CLUSTER = st.fixed_dictionaries(
    {"server": st.sampled_from(["https://h", "https://[::1]:6443"]) | JSON}
).flatmap(
    lambda base: keyed(
        "certificate-authority-data",
        "tls-server-name",
        "insecure-skip-tls-verify",
        "proxy-url",
        "certificate-authority",
        inner=DATA,
    ).map(lambda more: {**base, **more})
)
USER = keyed(
    "token", "tokenFile", "client-certificate-data", "client-key-data", "client-key", "username", "exec",
    "as", inner=DATA,
)  # fmt: skip
CONTEXT = keyed("cluster", "user", "namespace", inner=NAMES)


def named(inside: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.fixed_dictionaries({"name": NAMES, inside: values | JSON}), max_size=3) | JSON


KUBECONFIGS = st.fixed_dictionaries(
    {
        "clusters": named("cluster", CLUSTER),
        "users": named("user", USER),
        "contexts": named("context", CONTEXT),
        "current-context": NAMES,
    }
)


def told(act: Callable[[], Any], *hidden: str) -> Any:
    """What it gives, or None where it fails as it may."""
    try:
        return act()
    except Failed as fault:
        text = str(fault)
        assert text
        assert text.isprintable()
        assert not any(secret in text for secret in hidden)
        return None


def read_file(path: str) -> bytes:
    raise FileNotFoundError(2, f"no {path!a}")


def examine(contents: bytes) -> None:
    found = told(lambda: kubeconfig.read(contents, "a.conf"))
    if found is not None:
        told(lambda: found.access(read_file))
        told(found.check)
        found.user_settings()


@given(st.binary(max_size=200) | YAML_TEXT.map(str.encode))
def test_any_bytes_as_a_kubeconfig(contents: bytes) -> None:
    examine(contents)


@given(KUBECONFIGS)
@example({"clusters": [{"name": "\ud800"}], "users": [], "contexts": [], "current-context": ""})
@example({"clusters": None, "users": [{"name": "a", "user": {"token": "\x85"}}], "contexts": None})
def test_any_kubeconfig(value: dict[str, Any]) -> None:
    examine(json.dumps(value).encode())


@given(JSON, st.lists(st.text(max_size=8) | st.integers(-3, 3), max_size=4))
def test_nothing_is_relied_on(value: Json, path: list[str | int]) -> None:
    at(value, *path)
    assert isinstance(text_at(value, *path), str)
    assert isinstance(items_at(value, *path), list)


@given(st.integers(300, 999), st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_refusal(status: int, body: bytes) -> None:
    fault = refusal("h:1", "GET /", status, body, 0.0)
    assert str(fault).isprintable()
    assert fault.status == status


@given(keyed("reason", "message", "code", "details", inner=JSON | keyed("retryAfterSeconds", inner=JSON)))
@example({"details": {"retryAfterSeconds": 10**400}})
def test_any_status(status: dict[str, Any]) -> None:
    fault = of_status("h:1", "GET /", 503, status)
    assert str(fault).isprintable()
    assert 0 <= fault.wait <= 3600


@contextmanager
def saying(data: bytes) -> Iterator[Transport]:
    """To a server that says that much to each request, and no more."""
    opened: list[socket.socket] = []

    def dial(*_: object, **__: object) -> Stream:
        plain, its = socket.socketpair()
        ours = Stream(fileno=plain.detach())
        opened.extend((ours, its))
        its.sendall(data)
        its.shutdown(socket.SHUT_WR)
        return ours

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agent.fetch.connection.dial", dial)
        patch.setattr("agent.fetch.connection.Connection._secured", lambda _, stream, *__: stream)
        yield Transport(Access("https://h:1", insecure=True), DIRECT, SystemClock())
    for each in opened:
        each.close()


HEADS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 204 No\r\n\r\n",
        b"",
    ]
)
BODIES = st.lists(
    st.sampled_from([b"5\r\n", b"a\r\n", b"0\r\n\r\n", b"\n", b"\r\n", b'{"type":', b"-1\r\n"])
    | st.binary(max_size=5),
    max_size=8,
).map(b"".join)  # fmt: skip


@given(HEADS, BODIES, st.sampled_from([3, 1000]))
def test_any_answer(head: bytes, body: bytes, size: int) -> None:
    limits, asked = Limits(size=size), Asked("GET", "/")
    with saying(head + body) as transport:
        told(lambda: transport.reply(asked, limits, lambda seconds: seconds))
        lines = told(lambda: list(transport.lines(asked, limits, 9, Deadline(transport.clock))))
    assert lines is None or not any(b"\n" in line for line in lines)


class Saying:
    """In place of the client: an API server that says that of itself."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self, *_: object, **__: object) -> Saying:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def get(self, _: str) -> Any:
        return self._value


GOOD = kubeconfig_of("https://h:6443", ROOT)
SIGNED = st.one_of(
    st.text(max_size=40),
    YAML_TEXT,
    KUBECONFIGS.map(json.dumps),
    st.tuples(st.integers(0, len(GOOD)), st.text(max_size=3), st.integers(0, 3)).map(
        lambda change: GOOD[: change[0]] + change[1] + GOOD[change[0] + change[2] :]
    ),
)


@given(SIGNED)
def test_any_cluster_info_that_is_signed(content: str) -> None:
    """As whoever knows a token could sign it."""
    with pytest.MonkeyPatch.context() as patch:
        signed = {"kubeconfig": content, "jws-kubeconfig-abcdef": signature(content)}
        patch.setattr("agent.kube.discovery.Client", Saying({"data": signed}))
        hashes = ["sha256:" + "0" * 64]
        told(lambda: Discovery(0).by_token("h:6443", TOKEN, hashes), TOKEN)
        told(lambda: Discovery(0).by_token("h:6443", TOKEN, [], any_authority=True), TOKEN)


@given(
    JSON | st.fixed_dictionaries({"data": JSON | keyed("kubeconfig", "jws-kubeconfig-abcdef", inner=JSON)})
)
def test_any_cluster_info(value: Json) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agent.kube.discovery.Client", Saying(value if isinstance(value, dict) else {}))
        assert told(lambda: Discovery(0).by_token("h:6443", TOKEN, [], any_authority=True), TOKEN) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_signature(content: str, signed: str) -> None:
    assert not discovery.token_in(TOKEN).vouches_for(content, signed)


@given(st.text(max_size=30) | st.from_regex(r"[a-z0-9]{5,7}\.[a-z0-9]{15,17}\n?"))
def test_any_token(text: str) -> None:
    found = told(lambda: discovery.token_in(text))
    assert found is None or (found.text == text and len(text) == 23)
    assert found is None or found.secret not in repr(found)


@given(st.text(max_size=90) | st.from_regex(r"(?i:sha256):[0-9a-fA-F]{63,65}\n?"))
def test_any_hash(text: str) -> None:
    try:
        given_pins([text])
    except NotUsable as fault:
        assert str(fault).isprintable()
    else:
        assert len(text) == 71
