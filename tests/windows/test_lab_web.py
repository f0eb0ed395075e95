"""The lab itself: what a node can fetch, and from whom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab import certificates
from lab.certificates import Authority
from lab.node import Node
from lab.web import Page, Proxy, Web, serving

FETCH = r"""
import json, ssl, sys, urllib.error, urllib.request as r
url, authority, proxy, timeout = json.loads(sys.argv[1])
context = ssl.create_default_context(cafile=authority) if authority else None
opener = r.build_opener(r.ProxyHandler({"http": proxy, "https": proxy} if proxy else {}),
                        *([r.HTTPSHandler(context=context)] if context else []))
try:
    with opener.open(r.Request(url, headers={"X-Asked-By": "a test"}), timeout=timeout) as answer:
        print(answer.status, answer.read().decode(), answer.headers.get("X-Of", ""))
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except Exception as error:
    print(type(getattr(error, "reason", error)).__name__, error)
"""


def fetch(
    node: Node, url: str, authority: Authority | None = None, proxy: str = "", timeout: float = 20
) -> str:
    """Status and body, or what went wrong, as Windows Python sees it."""
    place = r"C:\authority.crt" if authority else ""
    if authority:
        node.copy_in(authority.certificate, place)
    done = node.python("-c", FETCH, json.dumps([url, place, proxy, timeout]))
    assert done.code == 0, done.err
    return done.out.strip()


@pytest.mark.parametrize(
    ("page", "timeout", "seen"),
    [
        pytest.param(Page(b"config"), 20, "200 config", id="a page"),
        pytest.param(Page(b"", headers={"X-Of": "web"}), 20, "200  web", id="nothing, and a header"),
        pytest.param(Page(b"no!", status=503), 20, "503 no!", id="an error"),
        pytest.param(Page(status=302, headers={"Location": "/other"}), 20, "200 other", id="elsewhere"),
        pytest.param(Page(b"late", wait=30), 0.5, "TimeoutError", id="late"),
        pytest.param(Page(b"x" * 2048, pause=30), 0.5, "TimeoutError", id="slow"),
        pytest.param(Page(b"x" * 2048, cut_after=7), 20, "IncompleteRead", id="cut"),
    ],
)
def test_pages_are_answered_as_told(lasting: Node, web: Web, page: Page, timeout: float, seen: str) -> None:
    web.pages = {"/it": page, "/other": Page(b"other")}
    assert fetch(lasting, web.url("/it"), timeout=timeout).startswith(seen)


def test_what_is_not_there_is_404(lasting: Node, web: Web) -> None:
    assert fetch(lasting, web.url("/it")) == "404 there is no such page"


def test_requests_are_kept_with_their_headers(lasting: Node, web: Web) -> None:
    web.pages["/it?a=1"] = Page(b"it")
    fetch(lasting, web.url("/it?a=1"))
    (request,) = web.requests
    assert (request.method, request.path) == ("GET", "/it?a=1")
    assert request.headers["x-asked-by"] == "a test"


def test_tls_is_trusted_by_whoever_has_the_authority(
    lasting: Node, secure_web: Web, web_authority: Authority
) -> None:
    secure_web.pages["/it"] = Page(b"it")
    assert fetch(lasting, secure_web.url("/it")).startswith("SSLCertVerificationError")
    assert secure_web.requests == []
    assert fetch(lasting, secure_web.url("/it"), web_authority) == "200 it"
    assert fetch(lasting, secure_web.url("/it", "10.77.0.1"), web_authority) == "200 it"
    assert "match" in fetch(lasting, secure_web.url("/it", "win1"), web_authority)


def test_a_certificate_may_be_too_old(lasting: Node, web_authority: Authority, tmp_path: Path) -> None:
    pair = tmp_path / "pair.pem"
    pair.write_text(web_authority.server(["DNS:web.test"], certificates.LATELY))
    with serving(pair) as old:
        assert "expired" in fetch(lasting, old.url("/"), web_authority)


def test_one_slow_client_does_not_keep_another_waiting(
    lasting: Node, secure_web: Web, web_authority: Authority
) -> None:
    secure_web.pages = {"/late": Page(wait=600), "/it": Page(b"it")}
    assert fetch(lasting, secure_web.url("/late"), web_authority, timeout=3).startswith("TimeoutError")
    assert fetch(lasting, secure_web.url("/it"), web_authority) == "200 it"


def test_a_proxy_is_gone_through(
    lasting: Node, web: Web, secure_web: Web, web_authority: Authority, proxy: Proxy
) -> None:
    for server in (web, secure_web):
        server.pages["/it"] = Page(b"it")
    assert fetch(lasting, web.url("/it", "nobody-knows.test"), proxy=proxy.url) == "200 it"
    assert fetch(lasting, secure_web.url("/it"), web_authority, proxy=proxy.url) == "200 it"
    assert [(asked.method, asked.path) for asked in proxy.requests] == [
        ("GET", f"http://nobody-knows.test:{web.port}/it"),
        ("CONNECT", f"web.test:{secure_web.port}"),
    ]
    assert len(web.requests) == len(secure_web.requests) == 1
