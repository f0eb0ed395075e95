"""Which requests go through which proxy, and how."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from agent.fetch import address
from agent.fetch.address import Proxies
from agent.fetch.failure import Failed
from agent.fetch.fetching import Fetcher, Limits, Request
from unit.fetch.authority import issue, serving
from unit.fetch.quick_clock import QuickClock
from unit.fetch.servers import Server, answer, closed_port, ok, tunnel_to

IMPATIENT = Limits(patience=0)
ROOT = issue("root-ca", authority=True)
NODE = issue("node", ROOT, names=["node.example"])
PROXY = issue("proxy", ROOT)
BOTH = {"http": "http://proxy.example:3128", "https": "http://secure.example:3129"}


class Way(NamedTuple):
    url: str
    bypass: str
    proxy: str = ""
    """Host and port; nothing where there is none."""


HTTP, HTTPS = "proxy.example:3128", "secure.example:3129"
WAYS = [
    Way("http://api.example/", "", HTTP),
    Way("https://api.example/", "", HTTPS),
    Way("http://localhost/", ""),
    Way("http://LocalHost:8080/", ""),
    Way("http://127.0.0.1/", ""),
    Way("http://127.9.9.9/", ""),
    Way("http://[::1]/", ""),
    Way("http://[::ffff:127.0.0.1]/", ""),
    Way("http://localhost.example/", "", HTTP),
    Way("http://api.example/", "*"),
    Way("http://api.example/", "web.example, * "),
    Way("http://api.example/", "api.example"),
    Way("http://api.example/", " API.Example ,x"),
    Way("http://v1.api.example/", "api.example"),
    Way("http://my-api.example/", "api.example", HTTP),
    Way("http://api.example.org/", "api.example", HTTP),
    Way("http://api.example/", ".api.example", HTTP),
    Way("http://v1.api.example/", ".api.example"),
    Way("http://api.example/", "*.api.example", HTTP),
    Way("http://v1.api.example/", "*.api.example"),
    Way("http://v1.api.example/", "*api.example", HTTP),
    Way("http://api.example/", "api.example:80"),
    Way("https://api.example/", "api.example:80", HTTPS),
    Way("https://api.example:6443/", ".example:6443"),
    Way("https://bücher.example/", "bücher.example"),
    Way("https://xn--bcher-kva.example/", "Bücher.example"),
    Way("http://10.1.2.3/", "10.1.2.3"),
    Way("http://10.1.2.3:22623/", "10.1.2.3:22623"),
    Way("http://10.1.2.3:22623/", "10.1.2.3:22624", HTTP),
    Way("http://10.1.2.3/", "10.0.0.0/8"),
    Way("http://11.1.2.3/", "10.0.0.0/8", HTTP),
    Way("http://10.1.2.3/", "10.1.2.99/24"),
    Way("http://10.1.2.3/", "10.0.0.0/255.0.0.0", HTTP),
    Way("http://10.1.2.3/", "10.0.0.0/99", HTTP),
    Way("http://10.1.2.3/", "2.3", HTTP),
    Way("http://[fd00::1]/", "fd00::/8"),
    Way("http://[fd00::1]:80/", "[fd00::1]:80"),
    Way("http://[fd00::1]:81/", "[fd00::1]:80", HTTP),
    Way("http://[fd00::1]/", "fd00:0::1"),
    Way("http://[fd00::1]/", "[fd00::1]", HTTP),
    Way("http://[::ffff:10.1.2.3]/", "10.1.2.3"),
    Way("http://api.example/", ":80,,", HTTP),
    Way("http://api.example/", "10.0.0.0/8,fd00::/8", HTTP),
]  # fmt: skip


@pytest.mark.parametrize("case", WAYS, ids=lambda case: f"{case.url} {case.bypass}")
def test_which_proxy(case: Way) -> None:
    chosen = Proxies(**BOTH, bypass=tuple(case.bypass.split(","))).proxy(address.parse(case.url))
    assert (chosen.place if chosen else "") == case.proxy


def test_the_proxy_for_http_is_not_for_https() -> None:
    assert Proxies(http=BOTH["http"]).proxy(address.parse("https://api.example/")) is None


class Text(NamedTuple):
    text: str
    place: str
    secure: bool = False
    credentials: str | None = None


@pytest.mark.parametrize(
    "case",
    [
        Text("http://proxy", "proxy:80"),
        Text("https://proxy", "proxy:443", secure=True),
        Text("proxy:3128", "proxy:3128"),
        Text("10.0.0.1:3128", "10.0.0.1:3128"),
        Text("HTTP://u:p%40w@Proxy:3128/", "proxy:3128", credentials="u:p@w"),
    ],
    ids=lambda case: case.text,
)
def test_how_a_proxy_is_written(case: Text) -> None:
    proxy = Proxies(http=case.text).proxy(address.parse("http://api.example/"))
    assert proxy is not None
    assert (proxy.place, proxy.secure, proxy.credentials) == (case.place, case.secure, case.credentials)


def test_one_that_is_none_is_told_without_its_password() -> None:
    with pytest.raises(Failed, match=r"^the proxy for https is no http or https URL$"):
        Proxies(https="socks5://user:password@proxy").proxy(address.parse("https://api.example/"))


def test_the_environments() -> None:
    upper = {"HTTP_PROXY": "http://a", "HTTPS_PROXY": "http://b", "NO_PROXY": "c,d"}
    lower = {name.lower(): f"{value}x" for name, value in upper.items()}
    assert address.of_environment(lower) == Proxies("http://ax", "http://bx", ("c", "dx"))
    assert address.of_environment(lower | upper) == Proxies("http://a", "http://b", ("c", "d"))
    assert address.of_environment({}).proxy(address.parse("http://api.example/")) is None


def fetched(url: str, ways: Proxies, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    request = Request(url, headers, proxies=ways, authorities=(ROOT.pem,))
    return Fetcher(QuickClock()).body(request, IMPATIENT)


TOKEN = (("X-Token", "t"),)


def test_http_asks_the_proxy_for_all_of_the_url() -> None:
    with Server(ok(b"from afar")) as proxy:
        way = Proxies(http=f"http://user:word@{proxy.place}")
        assert fetched("http://node.example:81/a?b=c", way, TOKEN) == b"from afar"
    assert proxy.heads[0].startswith("GET http://node.example:81/a?b=c HTTP/1.1\r\nHost: node.example:81\r\n")
    assert proxy.header("Proxy-Authorization") == "Basic dXNlcjp3b3Jk"
    assert proxy.header("X-Token") == "t"


def test_http_through_a_proxy_that_speaks_tls(tmp_path: Path) -> None:
    with Server(ok(b"from afar"), context=serving(tmp_path, PROXY)) as proxy:
        assert fetched("http://node.example/", Proxies(http=proxy.url())) == b"from afar"


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "itself by TLS"])
def test_https_goes_through_a_tunnel(secure: bool, tmp_path: Path) -> None:
    body = b"x" * 3_000_000
    context = serving(tmp_path, PROXY) if secure else None
    with (
        Server(ok(body), context=serving(tmp_path, NODE)) as node,
        Server(tunnel_to(node.port), context=context) as proxy,
    ):
        way = Proxies(https=proxy.url().replace("//", "//user:word@"))
        assert fetched("https://node.example:6443/a", way, TOKEN) == body
    assert proxy.heads[0].startswith("CONNECT node.example:6443 HTTP/1.1\r\nHost: node.example:6443\r\n")
    assert (proxy.header("Proxy-Authorization"), proxy.header("X-Token")) == ("Basic dXNlcjp3b3Jk", None)
    assert node.heads[0].startswith("GET /a HTTP/1.1\r\nHost: node.example:6443\r\n")
    assert (node.header("Proxy-Authorization"), node.header("X-Token")) == (None, "t")


def test_a_certificate_is_looked_at_again_through_the_same_tunnel(tmp_path: Path) -> None:
    other = issue("other-ca", authority=True)
    wrong = issue("node", other, names=["node.example"])
    with (
        Server(ok(), context=serving(tmp_path, wrong, other)) as node,
        Server(tunnel_to(node.port), context=serving(tmp_path, PROXY)) as proxy,
        pytest.raises(Failed, match=r"^the certificate of node\.example:443 is signed by .* CN=other-ca"),
    ):
        fetched("https://node.example/", Proxies(https=proxy.url()))
    assert len(proxy.heads) == 3, "for those of the document, for the machine's, and to look"


def test_a_proxy_that_is_not_trusted_gets_no_credentials(tmp_path: Path) -> None:
    """Neither at first, nor when its certificate is looked at again."""
    with (
        Server(ok(), context=serving(tmp_path, issue("proxy"))) as proxy,
        pytest.raises(
            Failed, match=r"^the certificate of the proxy 127\.0\.0\.1:\d+ is one that it signed itself"
        ),
    ):
        fetched("https://node.example/", Proxies(https=proxy.url().replace("//", "//user:word@")))
    assert proxy.heads == []


class Refusal(NamedTuple):
    name: str
    url: str
    reply: bytes
    says: str


REFUSALS = [
    Refusal(
        "credentials for a tunnel",
        "https://node.example/",
        answer("407 Authenticate"),
        "the proxy {place} wants credentials, or others than it was given (407)",
    ),
    Refusal(
        "a tunnel",
        "https://node.example/",
        answer("403 No"),
        "the proxy {place} does not connect to node.example:443: it answers 403 Forbidden",
    ),
    Refusal(
        "what is no proxy",
        "https://node.example/",
        b"hello\r\n\r\n",
        "what the proxy {place} answers is not http",
    ),
    Refusal(
        "credentials for http",
        "http://node.example/",
        answer("407 Authenticate"),
        "the proxy on the way to node.example:80 wants credentials, or others than it was given (407)",
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_what_a_proxy_refuses(case: Refusal) -> None:
    with Server(case.reply) as proxy, pytest.raises(Failed) as caught:
        fetched(case.url, Proxies(proxy.url(), proxy.url()))
    assert str(caught.value) == case.says.format(place=proxy.place)


def test_a_proxy_that_is_not_there() -> None:
    place = f"127.0.0.1:{closed_port()}"
    with pytest.raises(Failed) as caught:
        fetched("https://node.example/", Proxies(https=f"http://{place}"))
    assert str(caught.value) == f"the proxy {place} refuses the connection: nothing listens there"


def test_a_redirect_finds_its_own_way() -> None:
    with Server(ok(b"near")) as near, Server(answer("302 Found", b"", f"Location: {near.url()}")) as proxy:
        assert fetched("http://node.example/", Proxies(http=proxy.url())) == b"near"
    assert len(proxy.heads) == 1
