"""What a document refers to over plain http: refused where nothing proves that it is what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha512
from pathlib import Path
from typing import Any

import pytest

from sandbox.cli.given import Answer, Machine
from sandbox.cli.test_bad_input import file, ignition, pointer
from sandbox.cli.test_join import windows
from unit.fetch.authority import issue, serving
from unit.fetch.servers import Server, ok
from unit.fetch.servers import answer as moved

__all__ = ["windows"]

ALLOWED = "--allow-plain-http"
WORKER = ignition(file("/etc/kubernetes/ca.crt", source="data:,x"))
AUTHORITY = issue("authority", authority=True).pem.decode()
INCLUDED = "#cloud-config\n{}\n"

REFERENCES: dict[str, tuple[str, Callable[[dict[str, Any]], str], str]] = {
    "merge": ("--ignition", lambda source: ignition(config={"merge": [source]}), WORKER),
    "replace": ("--ignition", lambda source: ignition(config={"replace": source}), WORKER),
    "append, of version 2": (
        "--ignition",
        lambda source: ignition(version="2.2.0", config={"append": [source]}),
        ignition(version="2.2.0", unit=""),
    ),
    "an authority": (
        "--ignition",
        lambda source: ignition(security={"tls": {"certificateAuthorities": [source]}}),
        AUTHORITY,
    ),
    "contents of a file": (
        "--ignition",
        lambda source: ignition(file("/etc/kubernetes/ca.crt", **source)),
        AUTHORITY,
    ),
    "#include": ("--user-data", lambda source: f"#include\n{source['source']}\n", INCLUDED),
    "#include-once": ("--user-data", lambda source: f"#include-once {source['source']}\n", INCLUDED),
}
"""By which option the document is given, the document that refers to a source, and what is served there."""

each_reference = pytest.mark.parametrize(
    ("option", "document", "served"), REFERENCES.values(), ids=list(REFERENCES)
)


def run(machine: Machine, option: str, document: str, *more: str) -> Answer:
    given = machine.give("document", document)
    if option == "--user-data":
        return machine.wmcb(option, given, *more)
    return machine.wmcb(option, given, *machine.node[2:], *more)


@each_reference
def test_it_is_refused_before_the_server_is_asked(
    windows: Machine, option: str, document: Callable[[dict[str, Any]], str], served: str
) -> None:
    before = windows.picture()
    with Server(ok(served.encode())) as server:
        answer = run(windows, option, document({"source": server.url("/d?token=hidden")}))
    assert (answer.code, answer.out) == (2, "")
    line = answer.error_lines[-1]
    assert line.endswith(
        f"it cannot be fetched: {server.url('/d')} is plain http without a digest, which anyone on the way "
        "can change: use https, give its digest (verification.hash; #include can have none), or allow it "
        f"by {ALLOWED}"
    )
    assert "hidden" not in line
    assert server.heads == []
    assert windows.picture() == before


@each_reference
def test_it_is_fetched_where_that_is_allowed(
    windows: Machine, option: str, document: Callable[[dict[str, Any]], str], served: str
) -> None:
    with Server(ok(served.encode())) as server:
        answer = run(windows, option, document({"source": server.url("/d")}), ALLOWED)
    assert answer.code == 0, answer.err
    assert server.heads


def nothing_listens() -> str:
    with Server() as server:
        return server.url("/d")


@each_reference
@pytest.mark.parametrize("is_down", [True, False], ids=["nothing listens", "404"])
def test_a_server_that_serves_nothing_is_a_failure_and_no_wrong_input(
    windows: Machine, option: str, document: Callable[[dict[str, Any]], str], served: str, is_down: bool
) -> None:
    """As it is where a cluster to join does not answer."""
    del served
    before = windows.picture()
    more = (ALLOWED, "--max-time", "0.2")
    with Server(moved("404 Not Found")) as server:
        url = nothing_listens() if is_down else server.url("/d")
        answer = run(windows, option, document({"source": url}), *more)
        described = run(windows, option, document({"source": url}), *more, "--output", "json")
    assert (answer.code, answer.out) == (1, "")
    assert "it cannot be fetched: " in answer.error_lines[-1]
    assert (described.code, described.document["error"]["kind"]) == (1, "failed")
    assert windows.picture() == before


@each_reference
@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/x", "https:///x", "https://.bad..x/x"])
def test_a_url_that_is_none_is_wrong_input(
    windows: Machine, option: str, document: Callable[[dict[str, Any]], str], served: str, url: str
) -> None:
    del served
    assert run(windows, option, document({"source": url}), ALLOWED).code == 2


@pytest.mark.parametrize(
    "name", [name for name, (option, *_) in REFERENCES.items() if option == "--ignition"]
)
def test_a_digest_proves_it(windows: Machine, name: str) -> None:
    option, document, served = REFERENCES[name]
    right = {"verification": {"hash": f"sha512-{sha512(served.encode()).hexdigest()}"}}
    for body, code in ((f"{served} ", 2), (served, 0)):
        with Server(ok(body.encode())) as server:
            answer = run(windows, option, document({"source": server.url("/d"), **right}))
        assert server.heads
        assert answer.code == code, answer.err


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Callable[[bytes], tuple[Server, str]]]:
    """Starts a server of https that gives such an answer, with a document that trusts it and refers to it."""
    root = issue("root", authority=True)
    with ExitStack() as stack:

        def start(reply: bytes) -> tuple[Server, str]:
            context = serving(tmp_path, issue("server", root), root)
            server = stack.enter_context(Server(reply, context=context))
            return server, pointer(server.url("/d"), root.pem)

        yield start


def test_https_needs_no_permission(windows: Machine, secure: Callable[[bytes], tuple[Server, str]]) -> None:
    server, document = secure(ok(WORKER.encode()))
    answer = run(windows, "--ignition", document)
    assert answer.code == 0, answer.err
    assert server.heads


def test_https_that_redirects_to_http_is_refused(
    windows: Machine, secure: Callable[[bytes], tuple[Server, str]]
) -> None:
    with Server(ok(WORKER.encode())) as plain:
        _, document = secure(moved("302 Found", b"", f"Location: {plain.url('/d')}"))
        answer = run(windows, "--ignition", document, ALLOWED)
    assert answer.code == 1, "the document is right, and the server is not"
    assert "redirects from https to http" in answer.error_lines[-1]
    assert plain.heads == []
