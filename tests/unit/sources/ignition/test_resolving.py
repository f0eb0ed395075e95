"""References: what is asked of whoever fetches, what becomes of the answers, and all that can go wrong."""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.sources import ignition
from agent.sources.ignition import FetchFailed, Inline, Limits, Request
from agent.sources.ignition.compiling import Unobtainable, obtained
from agent.sources.ignition.document import Findings

_DATA = Path(__file__).parents[3] / "data" / "ignition"
_WORKER = (_DATA / "worker-3.2.ign").read_bytes()
_POINTER = json.loads((_DATA / "pointer-3.2.ign").read_bytes())
_AUTHORITY = _POINTER["ignition"]["security"]["tls"]["certificateAuthorities"][0]["source"]
_URL = "https://api-int.winc.example.com:22623/config/worker"


class Server:
    """Answers from a table by URL, in small blocks, and remembers what it was asked."""

    def __init__(self, answers: dict[str, Any] | None = None) -> None:
        self.answers = answers or {}
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Iterator[bytes]:
        self.asked.append(request)
        answer = self.answers.get(request.url)
        if answer is None:
            raise FetchFailed("the server answers 404")
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        for at in range(0, len(raw), 1000):
            yield raw[at : at + 1000]


def _document(version: str = "3.2.0", **ignition_: Any) -> dict[str, Any]:
    return {"ignition": {"version": version, **ignition_}}


def _merging(*references: dict[str, Any], **more: Any) -> dict[str, Any]:
    return _document(config={"merge": list(references)}, **more)


def _load(document: Any, server: Server | None = None, limits: Limits | None = None) -> ignition.Outcome:
    return ignition.load("main.ign", json.dumps(document).encode(), server, limits)


def _names(outcome: ignition.Outcome) -> list[str]:
    assert outcome.configuration, [str(entry) for entry in outcome.report.entries]
    return list(outcome.configuration.documents)


def _with_file(path: str, version: str = "3.2.0") -> dict[str, Any]:
    files = [{"filesystem": "root", "path": path, "mode": 420, "contents": {"source": "data:,x"}}]
    return {"ignition": {"version": version}, "storage": {"files": files}}


@pytest.mark.parametrize(
    ("pointer", "accept", "agent"),
    [
        (
            "pointer-3.2.ign",
            "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1",
            "Ignition/2.26.0",
        ),
        (
            "pointer-2.2.ign",
            "application/vnd.coreos.ignition+json;version=2.2.0, */*;q=0.1",
            "Ignition/0.35.0",
        ),
    ],
)
def test_pointer_of_the_installer(pointer: str, accept: str, agent: str) -> None:
    worker = pointer.replace("pointer", "worker")
    server = Server({_URL: (_DATA / worker).read_bytes()})
    outcome = ignition.load(pointer, (_DATA / pointer).read_bytes(), server)
    configuration = outcome.configuration
    assert configuration
    assert configuration.documents == {pointer: worker[7:10] + ".0", _URL: worker[7:10] + ".0"}
    assert "hyperkube" in configuration.units["kubelet.service"].contents or "kubenswrapper" in (
        configuration.units["kubelet.service"].contents
    )
    (request,) = server.asked
    headers = dict(request.headers)
    assert headers["Accept"] == accept
    assert headers["Accept-Encoding"] == "identity"
    assert headers["User-Agent"] == agent
    (authority,) = request.network.authorities
    assert authority.startswith(b"-----BEGIN CERTIFICATE-----")


def test_what_is_merged_later_counts_more() -> None:
    server = Server({"http://a": _with_file("/a"), "http://b": _with_file("/b")})
    outcome = _load(_merging({"source": "http://b"}, {"source": "http://a"}), server)
    assert _names(outcome) == ["main.ign", "http://b", "http://a"]
    assert outcome.configuration
    assert list(outcome.configuration.files) == ["/b", "/a"]


def test_replacing_forgets_everything_else() -> None:
    server = Server({"http://a": _with_file("/a")})
    main = {
        **_with_file("/main"),
        **_document(config={"replace": {"source": "http://a"}, "merge": [{"source": "http://b"}]}),
    }
    outcome = _load(main, server)
    assert outcome.configuration
    assert list(outcome.configuration.files) == ["/a"]
    assert [request.url for request in server.asked] == ["http://a"]


def test_references_of_references() -> None:
    server = Server(
        {
            "http://a": _merging({"source": "http://b"}),
            "http://b": _document(config={"replace": {"source": "http://c"}}),
            "http://c": _with_file("/c"),
        }
    )
    outcome = _load(_merging({"source": "http://a"}), server)
    assert outcome.configuration
    assert list(outcome.configuration.files) == ["/c"]


def test_a_documents_own_settings_hold_for_what_it_refers_to() -> None:
    server = Server(
        {
            "http://a": _merging(
                {"source": "http://b"}, timeouts={"httpTotal": 60}, proxy={"httpProxy": "http://q"}
            ),
            "http://b": _with_file("/b"),
            "http://c": _with_file("/c"),
        }
    )
    main = _merging(
        {"source": "http://a"},
        {"source": "http://c"},
        timeouts={"httpTotal": 5, "httpResponseHeaders": 3},
        proxy={"httpProxy": "http://p", "httpsProxy": "https://p", "noProxy": ["x", "10.0.0.0/8"]},
        security={"tls": {"certificateAuthorities": [{"source": _AUTHORITY}]}},
    )
    outcome = _load(main, server)
    assert outcome.configuration
    first, second, third = (request.network for request in server.asked)
    assert (first.http_proxy, first.https_proxy, first.no_proxy) == (
        "http://p",
        "https://p",
        ("x", "10.0.0.0/8"),
    )
    assert (first.total_timeout, first.response_timeout) == (5, 3)
    assert (second.http_proxy, second.total_timeout) == ("http://q", 60)
    assert second.authorities == first.authorities != ()
    assert (second.https_proxy, second.response_timeout) == ("https://p", 3)
    assert third == outcome.configuration.network == second


def test_defaults_of_the_network() -> None:
    outcome = _load(_document())
    assert outcome.configuration
    assert outcome.configuration.network == ignition.Network("", "", (), 10, 0, ())


def test_headers_of_a_reference_replace_ours() -> None:
    server = Server({"http://a": _document()})
    headers = [{"name": "accept", "value": "x"}, {"name": "Authorization", "value": "Bearer y"}]
    assert _load(_merging({"source": "http://a", "httpHeaders": headers}), server).configuration
    asked = dict(server.asked[0].headers)
    assert asked["Accept"] == "x"
    assert asked["Authorization"] == "Bearer y"
    assert len(asked) == 4


def test_an_authority_by_http_is_fetched_once() -> None:
    pem = (
        ignition.load("p", json.dumps(_POINTER).encode(), Server({_URL: _document()})).configuration
        or pytest.fail()
    ).network.authorities[0]
    server = Server({"http://ca": pem, "https://a": _with_file("/a")})
    security = {"tls": {"certificateAuthorities": [{"source": "http://ca"}]}}
    outcome = _load(_merging({"source": "https://a"}, security=security), server)
    assert outcome.configuration
    assert [request.url for request in server.asked] == ["http://ca", "https://a"]
    assert server.asked[1].network.authorities == (pem,)


def test_compressed_and_verified() -> None:
    plain = json.dumps(_with_file("/a")).encode()
    server = Server({"http://a": gzip.compress(plain)})
    digest = f"sha256-{hashlib.sha256(plain).hexdigest().upper()}"
    reference = {"source": "http://a", "compression": "gzip", "verification": {"hash": digest}}
    outcome = _load(_merging(reference), server)
    assert outcome.configuration
    assert server.asked[0].packing.compressed


def _gzip_of(size: int) -> bytes:
    return gzip.compress(bytes(size))


_HASH = {"hash": "sha512-" + "0" * 128}


@pytest.mark.parametrize(
    ("more", "answer", "path", "words"),
    [
        pytest.param({}, None, ".source", "cannot be fetched: the server answers 404", id="404"),
        pytest.param({}, b"<html>", "", "is no configuration: it is not JSON", id="html"),
        pytest.param({}, b"", "", "is no configuration: it is empty", id="empty"),
        pytest.param(
            {}, _document("2.4.0"), "", "has version 2.4.0, which cannot be merged", id="major-version"
        ),
        pytest.param({"source": "tftp://a/b"}, None, ".source", "tftp is not fetched", id="tftp"),
        pytest.param({"source": "s3://a/b"}, None, ".source", "s3 is not fetched", id="s3"),
        pytest.param({"verification": _HASH}, _document(), ".source", "not the wanted 000", id="wrong-hash"),
        pytest.param({"compression": "gzip"}, _document(), ".source", "not gzip", id="not-gzip"),
        pytest.param(
            {"compression": "gzip"}, _gzip_of(3 << 20), ".source", "2,097,152 bytes unpacked", id="bomb"
        ),
        pytest.param({}, b" " * (3 << 20), ".source", "larger than 2,097,152 bytes", id="huge"),
        pytest.param(
            {"httpHeaders": [{"name": "A b", "value": "x"}]},
            _document(),
            ".httpHeaders",
            '"A b" is no name for a header',
            id="header-name",
        ),
        pytest.param(
            {"httpHeaders": [{"name": "A", "value": "x\r\nB: y"}]},
            _document(),
            ".httpHeaders",
            "characters that no header has",
            id="header-value",
        ),
        pytest.param(
            {"httpHeaders": [{"name": "A"}]},
            _document(),
            ".httpHeaders",
            "has no value",
            id="header-without-value",
        ),
    ],
)
def test_reference_that_fails(more: dict[str, Any], answer: Any, path: str, words: str) -> None:
    reference = {"source": "http://a", **more}
    server = Server({} if answer is None else {"http://a": answer})
    outcome = _load(_merging(reference), server, Limits(document_size=2 << 20))
    assert outcome.configuration is None
    (entry,) = outcome.report.errors
    assert entry.document == "main.ign"
    assert entry.path == f"$.ignition.config.merge.0{path}"
    assert words in entry.message
    assert entry.line == 1


def test_what_is_wrong_in_a_fetched_document_is_told_with_its_name() -> None:
    server = Server({"https://u:secret@h/c?t=secret": {**_document(), "storage": {"files": [{"path": "x"}]}}})
    outcome = _load(_merging({"source": "https://u:secret@h/c?t=secret"}), server)
    (entry,) = outcome.report.errors
    assert entry.document == "https://h/c"
    assert entry.path == "$.storage.files.0.path"
    assert "secret" not in str(entry)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (_merging({"source": "http://a"}), "$.ignition.config.merge.0.source"),
        (_document(config={"replace": {"source": "http://a"}}), "$.ignition.config.replace.source"),
        (_document(security={"tls": {"certificateAuthorities": [{"source": "http://a"}]}}),
         "$.ignition.security.tls.certificateAuthorities.0.source"),
    ],
)  # fmt: skip
def test_without_somebody_who_fetches(document: dict[str, Any], path: str) -> None:
    (entry,) = _load(document).report.errors
    assert entry.path == path
    assert "nothing is fetched here" in entry.message


@pytest.mark.parametrize(
    "blob",
    [
        "",
        "x",
        "-----BEGIN CERTIFICATE-----\nMAA=",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN EC PRIVATE KEY-----\nMAA=\n-----END EC PRIVATE KEY-----\n",
    ],
)
def test_no_authority(blob: str) -> None:
    server = Server({"http://ca": blob.encode()})
    outcome = _load(
        _document(security={"tls": {"certificateAuthorities": [{"source": "http://ca"}]}}), server
    )
    (entry,) = outcome.report.errors
    assert entry.message == "it is no certificate in PEM form"


def test_a_circle_ends() -> None:
    server = Server(
        {"http://a": _merging({"source": "http://b"}), "http://b": _merging({"source": "http://a"})}
    )
    outcome = _load(_merging({"source": "http://a"}), server)
    (entry,) = outcome.report.errors
    assert "deeper than 8 documents; maybe in a circle" in entry.message
    assert len(server.asked) == 8


def test_a_tree_of_references_ends() -> None:
    server = Server({f"http://a/{index}": _document() for index in range(100)})
    (entry,) = _load(_merging(*({"source": url} for url in server.answers)), server).report.errors
    assert entry.message == "more than 50 documents are referred to"
    assert len(server.asked) == 49


def test_documents_of_one_name_are_told_apart() -> None:
    server = Server({"http://a?1": _with_file("/a"), "http://a?2": _with_file("/b")})
    outcome = _load(_merging({"source": "http://a?1"}, {"source": "http://a?2"}), server)
    assert _names(outcome) == ["main.ign", "http://a", "http://a (2)"]


def test_contents_that_are_to_be_fetched_are_left_to_others() -> None:
    server = Server()
    contents = {
        "source": "https://h/kubelet.exe",
        "compression": "gzip",
        "verification": {"hash": "sha512-" + hashlib.sha512(b"MZ").hexdigest().upper()},
        "httpHeaders": [{"name": "A", "value": "b"}],
    }
    document = _document(timeouts={"httpTotal": 9})
    document["storage"] = {"files": [{"path": "/a", "contents": contents}]}
    outcome = _load(document, server)
    assert outcome.configuration
    assert not server.asked
    remote = outcome.configuration.files["/a"].contents
    assert isinstance(remote, ignition.Remote)
    network = outcome.configuration.network
    with pytest.raises(Unobtainable, match="nothing is fetched here"):
        obtained(remote, network, None, 1000)
    server.answers["https://h/kubelet.exe"] = gzip.compress(b"MZ")
    assert obtained(remote, network, server, 2) == b"MZ"
    with pytest.raises(Unobtainable, match="larger than 1 byte unpacked"):
        obtained(remote, network, server, 1)
    request = server.asked[0]
    assert dict(request.headers) == {
        "A": "b",
        "Accept": "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1",
        "Accept-Encoding": "identity",
        "User-Agent": "Ignition/2.26.0",
    }
    assert request.network.total_timeout == 9


@pytest.mark.parametrize(
    "section", ["storage.files", "storage.directories", "storage.links", "systemd.units"]
)
def test_more_of_one_kind_than_anybody_needs(section: str) -> None:
    above, name = section.split(".")
    entries = [
        {"name": f"{n}.service"} if name == "units" else {"path": f"/{n}", "target": "/"} for n in range(4)
    ]
    allowed = _load({**_document(), above: {name: entries[:3]}}, limits=Limits(entries=3))
    assert allowed.configuration
    refused = _load({**_document(), above: {name: entries}}, limits=Limits(entries=3))
    (entry,) = refused.report.errors
    assert str(entry).endswith(f"at $.{section}: 4 of them; a node has no use for more than 3")
    assert entry.line == 1


def test_many_documents_do_not_add_up_to_more() -> None:
    server = Server({f"http://{name}": _with_file(f"/{name}") for name in "abc"})
    outcome = _load(_merging(*({"source": url} for url in server.answers)), server, Limits(entries=2))
    assert [entry.path for entry in outcome.report.errors] == ["$.storage.files"]


def test_what_is_found_wrong_later_is_located_too() -> None:
    text = json.dumps(_with_file("/a"), indent=1)
    outcome = ignition.load("main.ign", text.encode())
    assert outcome.configuration
    origin = outcome.configuration.files["/a"].origin
    findings = Findings()
    findings.error((*origin.place, "path"), "not here")
    (entry,) = outcome.located({origin.document: findings}).entries
    assert str(entry) == "error: main.ign line 9, column 13 at $.storage.files.0.path: not here"


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        ({"contents": {"source": "data:,x", "verification": {"hash": "sha512-" + "0" * 128}}},
         "contents.source", "its sha512 is"),
        ({"contents": {"source": "data:,xy", "compression": "gzip"}}, "contents.source", "not gzip"),
        ({"append": [{"source": "data:,x"}, {"source": "data:,xy", "compression": "gzip"}]},
         "append.1.source", "not gzip"),
    ],
)  # fmt: skip
def test_contents_that_are_not_what_they_should_be(fields: dict[str, Any], path: str, words: str) -> None:
    document = {**_document(), "storage": {"files": [{"path": "/ok"}, {"path": "/a", **fields}]}}
    outcome = _load(document)
    assert outcome.configuration is None
    (entry,) = outcome.report.errors
    assert entry.path == f"$.storage.files.1.{path}"
    assert words in entry.message
    assert entry.line == 1


@pytest.mark.parametrize(
    ("limits", "sizes", "words"),
    [
        (
            Limits(contents_size=1000),
            [1000, 1001],
            "larger than 1,000 bytes unpacked; if that is right, --max",
        ),
        (Limits(unpacked_size=1500), [1000, 1000], "larger than 500 bytes unpacked; if that is right, --max"),
        (Limits(), [1000, (256 << 20) + 1], "larger than 268,435,456 bytes unpacked"),
    ],
)
def test_bombs_among_the_files(limits: Limits, sizes: list[int], words: str) -> None:
    files = [
        {
            "path": f"/{index}",
            "contents": {
                "compression": "gzip",
                "source": "data:;base64," + b64encode(_gzip_of(size)).decode(),
            },
        }
        for index, size in enumerate(sizes)
    ]
    outcome = _load({**_document(), "storage": {"files": files}}, None, limits)
    (entry,) = outcome.report.errors
    assert words in entry.message
    assert entry.path == "$.storage.files.1.contents.source"


def test_inline_contents_are_not_copied() -> None:
    outcome = _load(_with_file("/a"))
    assert outcome.configuration
    contents = outcome.configuration.files["/a"].contents
    assert isinstance(contents, Inline)
    assert contents.read(100) is contents.packed
    with pytest.raises(ignition.Unsound, match="larger than 0 bytes"):
        contents.read(0)
    assert "x" not in repr(contents).replace("Unsound", "")


def _failing_late(request: Request) -> Iterator[bytes]:
    yield request.url.encode()
    raise FetchFailed("the connection was lost")


def test_a_fetch_that_fails_half_way() -> None:
    main = json.dumps(_merging({"source": "http://a"})).encode()
    outcome = ignition.load("main.ign", main, _failing_late)
    (entry,) = outcome.report.errors
    assert entry.message == "it cannot be fetched: the connection was lost"
