"""Who is trusted over TLS, and what is said of who is not."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from agent.fetch import address, trust
from agent.fetch.failure import Failed
from agent.fetch.fetching import Fetcher, Limits, Request
from unit.fetch.authority import Issued, issue, serving
from unit.fetch.quick_clock import QuickClock
from unit.fetch.servers import Server, answer, ok

IMPATIENT = Limits(patience=0)
ROOT = issue("root-ca", authority=True, unit="openshift")
REMEDY = (
    "if that is right, add it to the authorities to trust, or to this machine's trusted root certificates"
)


def fetched(url: str, *trusted: Issued, limits: Limits = IMPATIENT) -> bytes:
    request = Request(url, authorities=tuple(one.pem for one in trusted))
    return Fetcher(QuickClock()).body(request, limits)


class Shown(NamedTuple):
    name: str
    chain: Sequence[Issued]
    trusted: Sequence[Issued]
    says: str = ""
    """Of the certificate; nothing where it is good."""


MIDDLE = issue("middle", ROOT, authority=True)
OTHER = issue("other-ca", authority=True, unit="elsewhere")
SAME_NAME = issue("root-ca", authority=True, unit="openshift")
OLD_ROOT = issue("old-ca", authority=True, days=(-30, -3))
OLD_LEAF = issue("server", ROOT, days=(-30, -3))
YOUNG_LEAF = issue("server", ROOT, days=(3, 30))
LEAF = issue("server", ROOT)
ALONE = issue("server")
NAMED = issue("server", ROOT, names=["api-int.example", "10.0.0.1"])
MANY_NAMES = issue("server", ROOT, names=[f"n{number}.example" for number in range(11)])
UNDER_MIDDLE = issue("server", MIDDLE)
UNDER_OLD = issue("server", OLD_ROOT)
NAMELESS = issue("127.0.0.1", ROOT, names=[])
HOSTILE = issue("\x1b[2J\u202eca", authority=True)

UNKNOWN = f"is signed by the authority {{}}, which is not trusted here; {REMEDY}"
NAMESAKE = (
    "an authority of that name is trusted here, but with another key: "
    "perhaps what names it was made for another cluster, or before this one was rebuilt"
)
RENEW = "this machine's clock says *: if that is right, the certificate must be renewed"
EIGHT = ", ".join(f"n{number}.example" for number in range(8))
NO_NAME = "names no host that it is for (no subject alternative name); it must be issued again"

PARTIAL = [
    Shown("of an authority not given", [LEAF], [OTHER], UNKNOWN.format("CN=root-ca,OU=openshift")),
    Shown("the one between left out", [UNDER_MIDDLE], [ROOT], UNKNOWN.format("CN=middle,OU=test")),
]
"""Wine believes a chain whose root is not shown, which Windows does not."""
CASES = [
    Shown("one of an authority given", [LEAF], [ROOT]),
    Shown("one of several given", [LEAF], [OTHER, SAME_NAME, ROOT]),
    Shown("through another authority", [UNDER_MIDDLE, MIDDLE], [ROOT]),
    Shown("through one that is trusted but no root", [UNDER_MIDDLE], [MIDDLE]),
    Shown("itself given", [ALONE], [ALONE]),
    Shown("the same, whole chain shown", [LEAF, ROOT], [OTHER], UNKNOWN.format("CN=root-ca,OU=openshift")),
    Shown(
        "of a namesake",
        [LEAF, ROOT],
        [SAME_NAME],
        f"is signed by the authority CN=root-ca,OU=openshift; {NAMESAKE}",
    ),
    *(PARTIAL if sys.platform != "win32" else ()),
    Shown("signed by itself", [ALONE], [ROOT], f"is one that it signed itself (CN=server,OU=test); {REMEDY}"),
    Shown("expired", [OLD_LEAF], [ROOT], f"expired at {{leaf_last}} UTC; {RENEW}"),
    Shown(
        "not yet valid",
        [YOUNG_LEAF],
        [ROOT],
        "is not valid before {leaf_first} UTC; this machine's clock says *: is that right?",
    ),
    Shown(
        "of an expired authority",
        [UNDER_OLD],
        [OLD_ROOT],
        f"has an authority (CN=old-ca,OU=test) whose own certificate expired at {{root_last}} UTC; {RENEW}",
    ),
    Shown("for another host", [NAMED], [ROOT], "is not for that name but for api-int.example, 10.0.0.1"),
    Shown("for many others", [MANY_NAMES], [ROOT], f"is not for that name but for {EIGHT} and 3 more"),
    Shown("for no host", [NAMELESS], [ROOT], NO_NAME),
    Shown(
        "hostile letters", [issue("server", HOSTILE), HOSTILE], [ROOT], UNKNOWN.format("CN=?[2J?ca,OU=test")
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whom_it_trusts(case: Shown, tmp_path: Path) -> None:
    with Server(ok(b"secret"), context=serving(tmp_path, *case.chain)) as server:
        if not case.says:
            assert fetched(server.url(), *case.trusted) == b"secret"
            return
        with pytest.raises(Failed) as caught:
            fetched(server.url(), *case.trusted)
        assert server.heads == []  # nothing was asked of who is not trusted
    leaf, root = case.chain[0].certificate, case.trusted[0].certificate
    says = case.says.format(
        leaf_first=f"{leaf.not_valid_before_utc:%Y-%m-%d %H:%M}",
        leaf_last=f"{leaf.not_valid_after_utc:%Y-%m-%d %H:%M}",
        root_last=f"{root.not_valid_after_utc:%Y-%m-%d %H:%M}",
    )
    start, _, end = says.partition("*")
    told = str(caught.value)
    assert told.startswith(f"the certificate of {server.place} {start}")
    assert told.endswith(end)
    assert not caught.value.transient


def test_nobody_is_trusted_without_the_system_or_the_caller_saying_so(tmp_path: Path) -> None:
    context = serving(tmp_path, LEAF, ROOT)
    with Server(ok(), context=context) as server, pytest.raises(Failed, match="root-ca"):
        fetched(server.url())


def test_a_name_is_checked_as_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(
        ok(b"yes"), context=serving(tmp_path, issue("server", ROOT, names=["api.example"]))
    ) as server:
        here = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [here])
        assert fetched("https://API.example./", ROOT) == b"yes"
        with pytest.raises(
            Failed, match=r"^the certificate of web\.example:443 is not for that name but for"
        ):
            fetched("https://web.example/", ROOT)


class Bad(NamedTuple):
    name: str
    pem: bytes
    says: str


NO_PEM = "one of the certificate authorities to trust is no certificate in PEM form"
BAD = [
    Bad("no PEM", b"hello", NO_PEM),
    Bad("a key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", NO_PEM),
    Bad("bad base64", b"-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----", NO_PEM),
    Bad("no certificate", b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----", NO_PEM),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_an_authority_that_is_none(case: Bad) -> None:
    with pytest.raises(Failed) as caught:
        trust.only([case.pem])
    assert str(caught.value) == case.says


def test_several_authorities_in_one_text_and_words_between(tmp_path: Path) -> None:
    ours = ROOT.pem.replace(b"\n", b"\r\n")
    bundle = "Größe: the corporate one\n".encode() + OTHER.pem + b"# and ours\r\n" + ours
    with Server(ok(b"yes"), context=serving(tmp_path, LEAF)) as server:
        request = Request(server.url(), authorities=(bundle,))
        assert Fetcher().body(request, IMPATIENT) == b"yes"


class TestWhatElseCanBeWrong:
    def test_a_server_without_tls(self) -> None:
        mail = b"220 mail.example ready\r\n"
        with Server(ok(), greeting=mail) as server, pytest.raises(Failed) as caught:
            fetched(server.url(scheme="https"))
        assert str(caught.value) == f"{server.place} does not speak TLS; is the port right, and is https?"

    def test_old_tls(self, tmp_path: Path) -> None:
        context = serving(tmp_path, LEAF)
        with pytest.warns(DeprecationWarning):
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with Server(ok(), context=context) as server, pytest.raises(Failed) as caught:
            fetched(server.url(), ROOT)
        assert str(caught.value) == f"{server.place} speaks no TLS as new as 1.2; nothing older is used"

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    def test_a_client_certificate_is_wanted(self, version: ssl.TLSVersion, tmp_path: Path) -> None:
        context = serving(tmp_path, LEAF)
        context.verify_mode = ssl.CERT_REQUIRED
        context.maximum_version = version
        with Server(ok(), context=context) as server, pytest.raises(Failed) as caught:
            fetched(server.url(), ROOT)
        told = str(caught.value)
        if version is ssl.TLSVersion.TLSv1_3:
            assert told == f"{server.place} asks for a client certificate, and there is none for it"
        else:
            # There the server's word for it is the one for everything.
            assert told == f"TLS with {server.place} fails (SSLV3_ALERT_HANDSHAKE_FAILURE)"

    def test_tls_1_2_will_do(self, tmp_path: Path) -> None:
        context = serving(tmp_path, LEAF)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with Server(ok(b"x" * 100_000), context=context) as server:
            assert fetched(server.url(), ROOT) == b"x" * 100_000

    def test_a_body_whose_end_nobody_vouches_for(self, tmp_path: Path) -> None:
        """Without a length the end of the body is TLS's own; whoever cuts the connection cannot make one."""

        def cut(_server: Server, connection: socket.socket, _head: str) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf of")

        with Server(cut, context=serving(tmp_path, LEAF)) as server, pytest.raises(Failed) as caught:
            fetched(server.url(), ROOT)
        assert str(caught.value) == f"{server.place} breaks off in the middle of TLS"


class TestRedirects:
    def test_never_from_https_to_http(self, tmp_path: Path) -> None:
        with (
            Server(ok()) as plain,
            Server(
                answer("302 Found", b"", f"Location: {plain.url()}"), context=serving(tmp_path, LEAF)
            ) as server,
            pytest.raises(Failed) as caught,
        ):
            fetched(server.url(), ROOT)
        told = f"{server.place} redirects from https to http, at {plain.place}; that is not followed"
        assert str(caught.value) == told
        assert plain.heads == []

    def test_from_http_to_https_it_follows_without_the_headers_of_another_port(self, tmp_path: Path) -> None:
        with (
            Server(ok(b"safe"), context=serving(tmp_path, LEAF)) as secure,
            Server(answer("301 Moved", b"", f"Location: {secure.url()}")) as server,
        ):
            request = Request(server.url(), (("X-Token", "t"),), authorities=(ROOT.pem,))
            assert Fetcher(QuickClock()).body(request, IMPATIENT) == b"safe"
        assert secure.header("X-Token") is None

    def test_the_usual_upgrade_of_a_host_keeps_its_headers(self) -> None:
        plain, secure = address.parse("http://api.example/"), address.parse("https://api.example/")
        assert secure.is_trusted_by(plain)
        assert not plain.is_trusted_by(secure)
        assert not address.parse("https://api.example:8443/").is_trusted_by(plain)
