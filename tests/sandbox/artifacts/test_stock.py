"""Artifacts on their way to a machine: from servers that do as they should, and others."""

from __future__ import annotations

import hashlib
import pathlib
import re
import socket
import ssl
import threading
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.artifacts import receiving
from agent.artifacts.means import Means, mirror
from agent.artifacts.receiving import Room
from agent.artifacts.stock import Stock, Supplying
from agent.host.errors import host_error
from agent.host.port import Host, SigningCertificate
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.sandbox import open_sandbox
from agent.spec import Artifact, Signer, Unpacking
from sandbox.engine.world import Disk, Killed, changed
from unit.artifacts.archives_made import special, tar_gz, zipped
from unit.fetch.authority import issue, serving
from unit.fetch.servers import Server, after, answer, ok, raw, tunnel_to

STATE = PureWindowsPath("C:\\ProgramData\\wmcb")
FOLDER = STATE / "given"
TOOL = PureWindowsPath("C:\\tools\\tool.exe")
BODY = b"MZ" + bytes(range(256)) * 20_000
TAG = 'ETag: "one"'


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    host = open_sandbox(tmp_path / "c")
    host.files.make_directory(STATE, PRIVATE_DIRECTORY)
    return host


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tool(source: str, content: bytes = BODY, **fields: Any) -> Artifact:
    return Artifact("tool", source, TOOL, **{"digest": f"sha256:{sha256(content)}", **fields})


def archive(source: str, content: bytes, **fields: Any) -> Artifact:
    place = Unpacking(PureWindowsPath("C:\\tools"))
    return Artifact("tools", source, place, **{"digest": f"sha256:{sha256(content)}", **fields})


class Told:
    """What a person would see."""

    def __init__(self) -> None:
        self.received: list[tuple[int, int | None]] = []
        self.again: list[str] = []

    def came(self, _name: str, received: int, size: int | None) -> None:
        self.received.append((received, size))

    def tried_again(self, _name: str, why: str) -> None:
        self.again.append(why)


QUICK = Means(patience=0.0)


def supplied(host: Host, *artifacts: Artifact, means: Means = QUICK, told: Told | None = None) -> Stock:
    stock = Stock(host, FOLDER, means)
    assert stock.supply(artifacts, contents(stock, *artifacts), told) == {}
    return stock


def contents(stock: Stock, *artifacts: Artifact) -> set[str]:
    found = [stock.resolved(artifact) for artifact in artifacts]
    return {sha256 for each in found if each for sha256 in (each.files or {}).values()}


def failure(host: Host, artifact: Artifact, means: Means = QUICK, told: Told | None = None) -> str:
    stock = Stock(host, FOLDER, means)
    failures = stock.supply([artifact], contents(stock, artifact), told)
    assert host.files.observe(TOOL) is None
    left = [name for name in host.files.list(FOLDER) if not name.endswith((".part", ".tag", ".body"))]
    assert [name for name in left if name != artifact.digest.partition(":")[2]] == []
    return failures[artifact.name]


def held(stock: Stock, artifact: Artifact) -> dict[str, bytes]:
    found = stock.resolved(artifact)
    assert found
    return {path: b"".join(stock.content(sha256).blocks()) for path, sha256 in (found.files or {}).items()}


# What is as it should be


def test_a_file_is_fetched_and_lies_ready_under_its_hash(host: Host) -> None:
    with Server(ok(BODY)) as server:
        artifact = tool(server.url("/tool.exe"))
        stock = supplied(host, artifact)
    assert held(stock, artifact) == {str(TOOL): BODY}
    assert host.files.descriptor(FOLDER / sha256(BODY)).equivalent(PRIVATE_FILE)


def test_what_is_there_is_not_fetched_again(host: Host) -> None:
    with Server(ok(BODY)) as server:
        for _ in range(2):
            supplied(host, tool(server.url("/tool.exe")))
        assert len(server.heads) == 1


def test_what_is_not_needed_is_not_fetched(host: Host) -> None:
    assert Stock(host, FOLDER).supply([tool("https://nowhere.invalid/tool.exe")], ()) == {}


def test_sha512_serves_as_well(host: Host) -> None:
    with Server(ok(BODY)) as server:
        artifact = tool(server.url(), digest=f"sha512:{hashlib.sha512(BODY).hexdigest()}")
        assert held(supplied(host, artifact), artifact) == {str(TOOL): BODY}


ARCHIVES: dict[str, Callable[..., bytes]] = {"tar.gz": tar_gz, "zip": zipped}


@pytest.mark.parametrize("made", ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_is_unpacked_and_remembered(host: Host, made: Callable[..., bytes]) -> None:
    content = made(("bin/tool.exe", b"MZ tool"), ("LICENSE", b"free"))
    with Server(ok(content)) as server:
        artifact = archive(server.url("/tools"), content)
        assert Stock(host, FOLDER).resolved(artifact) is None
        stock = supplied(host, artifact)
        assert held(stock, artifact) == {
            "C:\\tools\\bin\\tool.exe": b"MZ tool",
            "C:\\tools\\LICENSE": b"free",
        }
        # What went to its place, and is needed once more: the archive is there still.
        host.files.remove(FOLDER / sha256(b"free"))
        assert held(supplied(host, artifact), artifact)["C:\\tools\\LICENSE"] == b"free"
        assert len(server.heads) == 1


def test_several_come_at_once(host: Host) -> None:
    meeting = threading.Barrier(3)

    def reply(_server: Server, connection: socket.socket, head: str) -> None:
        meeting.wait(20)
        connection.sendall(ok(head.split()[1].encode()))

    with Server(reply) as server:
        files = {f"/{at}": PureWindowsPath(f"C:\\tools\\{at}") for at in range(3)}
        artifacts = [
            Artifact(path, server.url(path), place, f"sha256:{sha256(path.encode())}")
            for path, place in files.items()
        ]
        stock = supplied(host, *artifacts)
        assert [held(stock, artifact) for artifact in artifacts] == [
            {str(place): path.encode()} for path, place in files.items()
        ]


def test_one_archive_may_go_to_two_places(host: Host) -> None:
    content = tar_gz(("a", b"a"), ("b", b"b"))
    with Server(ok(content)) as server:
        one, two = (
            replace(
                archive(server.url(), content),
                name=name,
                place=Unpacking(PureWindowsPath(f"C:\\{name}"), 0, {name: name}),
            )
            for name in ("a", "b")
        )
        stock = supplied(host, one, two)
        assert (held(stock, one), held(stock, two)) == ({"C:\\a\\a": b"a"}, {"C:\\b\\b": b"b"})
        assert len(server.heads) == 1


def test_what_nobody_wants_any_more_goes(host: Host) -> None:
    with Server(ok(BODY), ok(b"other")) as server:
        supplied(host, tool(server.url()))
        other = tool(server.url(), b"other")
        supplied(host, other)
        assert set(host.files.list(FOLDER)) >= {sha256(b"other")}
        assert not [name for name in host.files.list(FOLDER) if name.startswith(sha256(BODY))]


def test_progress_is_told(host: Host) -> None:
    told = Told()
    with Server(ok(BODY)) as server:
        supplied(host, tool(server.url()), told=told)
    assert told.received[-1] == (len(BODY), len(BODY))
    assert [received for received, _ in told.received] == sorted(received for received, _ in told.received)


# Resumed


def _range(server: Server, request: int = -1) -> tuple[str | None, str | None]:
    return server.header("Range", request), server.header("If-Range", request)


def part(content: bytes, size: int, *headers: str) -> bytes:
    return raw("HTTP/1.1 200 OK", f"Content-Length: {len(content)}", *headers, body=content[:size])


def rest(content: bytes, start: int, *headers: str) -> bytes:
    told = f"Content-Range: bytes {start}-{len(content) - 1}/{len(content)}"
    return answer("206 Partial Content", content[start:], told, *headers)


BEGUN = 3 << 20


def test_what_breaks_off_is_gone_on_with_by_the_next_run(host: Host) -> None:
    with Server(part(BODY, BEGUN, TAG), rest(BODY, BEGUN, TAG)) as server:
        artifact = tool(server.url())
        assert failure(host, artifact) == f"{server.place} breaks off after {BEGUN:,} of {len(BODY):,} bytes"
        told = Told()
        stock = supplied(host, artifact, told=told)
        assert _range(server) == (f"bytes={BEGUN}-", '"one"')
    assert held(stock, artifact) == {str(TOOL): BODY}
    assert told.received[0][0] > BEGUN
    assert not [name for name in host.files.list(FOLDER) if name.endswith((".part", ".tag"))]


def test_what_breaks_off_is_gone_on_with_at_once_if_there_is_time(host: Host) -> None:
    with Server(part(BODY, BEGUN, TAG), rest(BODY, BEGUN, TAG)) as server:
        told = Told()
        supplied(host, tool(server.url()), means=Means(patience=5.0), told=told)
    assert len(told.again) == 1


def test_a_killed_run_is_gone_on_with(host: Host) -> None:
    class Killing(Told):
        def came(self, _name: str, received: int, _size: int | None) -> None:
            if received >= BEGUN:
                raise Killed

    host.files.make_directory(FOLDER, PRIVATE_DIRECTORY)
    with Server(ok(BODY, TAG), rest(BODY, 2 << 20, TAG)) as server:
        stock, artifact = Stock(host, FOLDER), tool(server.url())
        with pytest.raises(Killed):
            Supplying(host, stock, QUICK, Killing(), artifact, Room(host, stock.folder)).supply(
                {sha256(BODY)}
            )
        assert held(supplied(host, tool(server.url())), tool(server.url())) == {str(TOOL): BODY}
        assert _range(server) == (f"bytes={2 << 20}-", '"one"')


ANEW = {
    "it has changed": part(BODY, len(BODY), 'ETag: "two"'),
    "the server knows no ranges": ok(BODY),
    "there is nothing after it": answer("416 Range Not Satisfiable"),
}


@pytest.mark.parametrize("reply", ANEW.values(), ids=ANEW)
def test_what_cannot_be_gone_on_with_comes_anew(host: Host, reply: bytes) -> None:
    with Server(part(BODY, BEGUN, TAG), reply, ok(BODY, TAG)) as server:
        artifact = tool(server.url())
        failure(host, artifact)
        told = Told()
        assert held(supplied(host, artifact, told=told), artifact) == {str(TOOL): BODY}
        assert "fetching it from the beginning" in told.again[0]


def test_what_was_begun_wrongly_comes_anew(host: Host) -> None:
    with Server(part(b"x" * len(BODY), BEGUN, TAG), rest(BODY, BEGUN, TAG), ok(BODY, TAG)) as server:
        failure(host, tool(server.url()))
        assert held(supplied(host, tool(server.url())), tool(server.url())) == {str(TOOL): BODY}


def test_without_a_tag_nothing_is_kept(host: Host) -> None:
    with Server(part(BODY, BEGUN)) as server:
        assert failure(host, tool(server.url())).startswith(f"{server.place} breaks off after {BEGUN:,}")
    assert [name for name in host.files.list(FOLDER) if name.endswith(".part")] == []


# What is refused

OTHER = "0123456789abcdef" * 4


def test_another_content_is_refused_and_nothing_of_it_stays(host: Host) -> None:
    with Server(ok(BODY)) as server:
        artifact = tool(server.url(), digest=f"sha256:{OTHER}")
        assert failure(host, artifact) == f"its sha256 is {sha256(BODY)}, not the wanted {OTHER}"
    assert host.files.list(FOLDER) == []


ANOTHER = "its sha256 is [0-9a-f]{64}, not the wanted .*"
REPLIES: dict[str, tuple[Any, str]] = {
    "less than it says": (part(BODY, 9), rf"HERE breaks off after 9 of {len(BODY):,} bytes"),
    "more than it says": (
        raw("HTTP/1.1 200 OK", "Content-Length: 9", body=BODY), ANOTHER),
    "nothing": (b"", "HERE .*"),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n\r\n", "what HERE answers is not http"),
    "a page that is not there": (answer("404 Not Found"), "HERE answers 404.*"),
    "a log-in page": (ok(b"<html>Sign in</html>"), ANOTHER),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLIES.values(), ids=REPLIES)
def test_a_server_that_does_wrong_is_told_in_a_line(host: Host, case: tuple[Any, str]) -> None:
    reply, why = case
    with Server(reply) as server:
        said = failure(host, tool(server.url("/tool.exe?sig=swordfish")))
    assert re.fullmatch(why.replace("HERE", server.place), said), said
    assert "swordfish" not in said


def test_a_slow_server_is_given_up(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "_LIMITS", replace(receiving._LIMITS, silence=0.2))
    with Server(after(part(BODY, 9))) as server:
        said = failure(host, tool(server.url()))
    assert said == f"{server.place} sends nothing more after 9 bytes within 0.2 seconds"


@pytest.fixture
def trusted(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ssl.SSLContext]:
    """Contexts of servers that this machine trusts, if their dates allow it."""
    root = issue("root", authority=True)
    (tmp_path / "root.pem").write_bytes(root.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "root.pem"))
    return lambda **given: serving(tmp_path, issue("here", root, **given))


def test_https_is_not_left_for_http(host: Host, trusted: Callable[..., ssl.SSLContext]) -> None:
    with Server(ok(BODY)) as plain:
        moved = answer("302 Found", b"", f"Location: {plain.url('/tool.exe')}")
        with Server(moved, context=trusted()) as server:
            assert failure(host, tool(server.url())) == (
                f"{server.place} redirects from https to http, at {plain.place}; that is not followed"
            )
        assert plain.heads == []


def test_an_expired_certificate_is_refused(host: Host, trusted: Callable[..., ssl.SSLContext]) -> None:
    with Server(ok(BODY), context=trusted(days=(-9, -1))) as server:
        said = failure(host, tool(server.url()))
    assert "certificate" in said
    assert "expired" in said or "no longer" in said
    assert "\n" not in said


def test_it_comes_through_a_proxy(
    host: Host, trusted: Callable[..., ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    context = trusted(names=("files.example",))
    with Server(ok(BODY), context=context) as server, Server(tunnel_to(server.port)) as proxy:
        host.environment.set("HTTPS_PROXY", proxy.url())
        artifact = tool("https://files.example/tool.exe")
        assert held(supplied(host, artifact), artifact) == {str(TOOL): BODY}
        assert proxy.heads[0].startswith("CONNECT files.example:443 ")


REFUSED = {
    "a name with ..\\": (
        zipped(("..\\evil.exe", b"")),
        r"..\evil.exe in it cannot be unpacked: '..' leads back",
    ),
    "a link": (tar_gz(special("evil", b"2", "C:\\Windows")), "evil in it is a link, which is not unpacked"),
    "no archive": (BODY, "it is neither a tar.gz nor a zip archive"),
    "half an archive": (tar_gz(("a", BODY))[:9999], "it is cut short"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_an_archive_that_is_refused_leaves_nothing(host: Host, case: tuple[bytes, str]) -> None:
    content, why = case
    with Server(ok(content)) as server:
        stock = Stock(host, FOLDER, QUICK)
        artifact = archive(server.url(), content)
        assert stock.supply([artifact], ())["tools"].startswith(why)
    assert stock.resolved(artifact) is None
    assert host.files.observe(PureWindowsPath("C:\\tools")) is None


def test_a_full_disk_is_told_and_made_free_again(host: Host) -> None:
    with Server(ok(BODY)) as server:
        disk = Disk(host, 2 << 20)
        said = failure(disk.host, tool(server.url()))
    assert said.endswith("the disk is full (Windows error 112)")
    assert host.files.list(FOLDER) == []


def test_nor_does_what_was_unpacked_stay_on_a_full_disk(host: Host) -> None:
    packed = tar_gz(("a.exe", b"MZ" + bytes(500_000)), ("b.exe", b"MZ" + bytes(900_000)))
    small = tool("C:\\setup\\tool.exe", b"MZ small")
    host.files.make_directory(PureWindowsPath("C:\\setup"), PRIVATE_DIRECTORY)
    host.files.write(PureWindowsPath(small.source), b"MZ small", PRIVATE_FILE)
    with Server(ok(packed)) as server:
        stock = Stock(Disk(host, 1_000_000).host, FOLDER, QUICK)
        wanted = [archive(server.url(), packed), small]
        failures = stock.supply(wanted, contents(stock, *wanted))
    assert failures["tools"].endswith("the disk is full (Windows error 112)")
    assert list(failures) == ["tools"]
    assert held(stock, small) == {str(TOOL): b"MZ small"}
    lying = [name for name in host.files.list(FOLDER) if "." not in name]
    assert lying == [sha256(b"MZ small")], "what came whole is there for the next run"


# Checksums beside it


def test_checksums_are_asked_for_over_tls(host: Host, trusted: Callable[..., ssl.SSLContext]) -> None:
    sums = ok(f"{OTHER}  other.exe\n{sha256(BODY)}  tool.exe\n".encode())
    with Server(ok(BODY)) as server, Server(sums, context=trusted()) as secure:
        artifact = tool(server.url("/tool.exe"), digest="", checksums=secure.url("/SHA256SUMS"))
        assert held(supplied(host, artifact), artifact) == {str(TOOL): BODY}


def test_checksums_that_a_mirror_has_over_http_are_refused(host: Host) -> None:
    means = Means((mirror("https://a/=http://b/"),), patience=0.0)
    artifact = tool("https://a/tool.exe", digest="", checksums="https://a/tool.exe.sha256")
    assert failure(host, artifact, means) == (
        "its checksums have to come over https, or anybody on the way could change them"
    )


# Without a network


def test_a_mirror_serves_in_its_place(host: Host) -> None:
    with Server(ok(BODY)) as server:
        means = Means((mirror(f"https://dl.example/=http://{server.place}/m/"),))
        artifact = tool("https://dl.example/v1/tool.exe")
        assert held(supplied(host, artifact, means=means), artifact) == {str(TOOL): BODY}
        assert server.heads[0].startswith("GET /m/v1/tool.exe ")


READY = {"its name": "tool.exe", "its digest": sha256(BODY)}


@pytest.mark.parametrize("name", READY.values(), ids=READY)
@pytest.mark.parametrize("place", ["this system", "the machine"])
def test_what_lies_ready_in_a_folder_is_not_fetched(
    host: Host, tmp_path: pathlib.Path, name: str, place: str
) -> None:
    if place == "the machine":
        host.files.make_directory(PureWindowsPath("C:\\offline"), PRIVATE_DIRECTORY)
        host.files.write(PureWindowsPath("C:\\offline") / name, BODY, PRIVATE_FILE)
        folder = "C:\\offline\\"
    else:
        (tmp_path / name).write_bytes(BODY)
        folder = str(tmp_path)
    artifact = tool("https://nowhere.invalid/tool.exe")
    assert held(supplied(host, artifact, means=Means(folder=folder)), artifact) == {str(TOOL): BODY}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_checksums_may_lie_ready_too(host: Host, tmp_path: pathlib.Path, encoding: str) -> None:
    (tmp_path / "tool.exe").write_bytes(BODY)
    (tmp_path / "tool.exe.sha256").write_text(sha256(BODY), encoding)
    artifact = tool(
        "https://nowhere.invalid/tool.exe", digest="", checksums="https://nowhere.invalid/tool.exe.sha256"
    )
    assert held(supplied(host, artifact, means=Means(folder=str(tmp_path))), artifact) == {str(TOOL): BODY}


def test_one_of_its_name_that_is_another_is_told_and_left(host: Host, tmp_path: pathlib.Path) -> None:
    (tmp_path / "tool.exe").write_bytes(b"another")
    told = Told()
    with Server(ok(BODY)) as server:
        supplied(host, tool(server.url("/tool.exe")), means=Means(folder=str(tmp_path)), told=told)
    assert told.again == [
        f"{tmp_path}/tool.exe: its sha256 is {sha256(b'another')}, not the wanted {sha256(BODY)}"
    ]


def test_what_neither_lies_ready_nor_can_be_fetched_is_told(host: Host, tmp_path: pathlib.Path) -> None:
    with Server(answer("404 Not Found")) as server:
        said = failure(host, tool(server.url("/tool.exe")), Means(folder=str(tmp_path), patience=0.0))
    assert said.startswith(f"{server.place} answers 404")
    assert said.endswith(f"(and it is not in {tmp_path})")


@pytest.fixture
def closed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder of this system, as on a share, in which nothing may even be looked at."""

    def refused(path: pathlib.Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(pathlib.Path, "is_file", refused)
    return tmp_path / "closed"


def test_what_may_not_be_looked_at_in_the_folder_is_told_and_fetched(
    host: Host, closed: pathlib.Path, trusted: Callable[..., ssl.SSLContext]
) -> None:
    told = Told()
    sums = ok(f"{sha256(BODY)}  tool.exe\n".encode())
    with Server(ok(BODY)) as server, Server(sums, context=trusted()) as secure:
        artifact = tool(server.url("/tool.exe"), digest="", checksums=secure.url("/sums"))
        supplied(host, artifact, means=Means(folder=str(closed)), told=told)
    assert told.again == [
        f"{closed}/{name} cannot be read (error 13)" for name in ("sums", sha256(BODY), "tool.exe")
    ]


def test_checksums_that_may_not_be_looked_at_are_told(host: Host, closed: pathlib.Path) -> None:
    artifact = tool("https://nowhere.invalid/tool.exe", digest="", checksums=f"{closed}/sums")
    assert failure(host, artifact) == f"{closed}/sums cannot be read (error 13)"


def test_a_path_is_a_source(host: Host, tmp_path: pathlib.Path) -> None:
    (tmp_path / "tool.exe").write_bytes(BODY)
    artifact = tool("\\\\server\\share\\tool.exe")
    means = Means((mirror(f"\\\\server\\share\\={tmp_path}/"),))
    assert held(supplied(host, artifact, means=means), artifact) == {str(TOOL): BODY}
    gone = tool(f"{tmp_path}/gone.exe", b"other")
    assert failure(host, gone) == f"there is no {tmp_path}/gone.exe"
    on_machine = tool("C:\\setup\\tool.exe", b"other")
    assert "C:\\setup\\tool.exe: it does not exist" in failure(host, on_machine)


# Signed

SIGNER = SigningCertificate("Example Authors", "ab" * 20, "cd" * 32)


def signed(host: Host, by: SigningCertificate | Exception | None = SIGNER) -> Host:
    """Where Windows judges so of every program."""

    def signer(_path: PureWindowsPath) -> SigningCertificate | None:
        if isinstance(by, Exception):
            raise by
        return by

    return changed(host, signatures={"signer": signer})


WANTED = {
    "by its name": Signer("Example Authors"),
    "by its thumbprint": Signer(thumbprint="ab" * 20),
    "by its SHA-256": Signer(thumbprint="cd" * 32),
    "by both": Signer("Example Authors", "ab" * 20),
}


@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
def test_the_right_signer_is_taken(host: Host, wanted: Signer) -> None:
    with Server(ok(BODY)) as server:
        artifact = tool(server.url(), signer=wanted)
        assert held(supplied(signed(host), artifact), artifact) == {str(TOOL): BODY}


UNSIGNED = host_error("verify", "C:\\somewhere", 0x800B0100)
ALTERED = host_error("verify", "C:\\somewhere", 0x80096010)
UNKNOWN = host_error("verify", "C:\\somewhere", 0x800B0109)
WRONG: dict[str, tuple[Any, Signer, str]] = {
    "another name": (SIGNER, Signer("Others"), "tool.exe is signed by Example Authors, not by Others"),
    "another certificate": (
        SIGNER, Signer(thumbprint="12" * 20),
        f"tool.exe is signed with certificate {'ab' * 20}, not with {'12' * 20}",
    ),
    "another certificate, by its SHA-256": (
        SIGNER, Signer(thumbprint="12" * 32),
        f"tool.exe is signed with certificate {'cd' * 32}, not with {'12' * 32}",
    ),
    "nobody": (UNSIGNED, Signer("Others"), "tool.exe: it is not signed (Windows error 0x800b0100)"),
    "changed since": (
        ALTERED, Signer("Others"),
        "tool.exe: it was changed after it had been signed (Windows error 0x80096010)",
    ),
    "nobody knows whom": (
        UNKNOWN, Signer("Others"),
        "tool.exe: nobody that this machine trusts vouches for its signer (Windows error 0x800b0109)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_a_wrong_signer_is_refused(host: Host, case: tuple[Any, Signer, str]) -> None:
    by, wanted, why = case
    with Server(ok(BODY)) as server:
        assert failure(signed(host, by), tool(server.url(), signer=wanted)) == why


def test_a_right_digest_is_not_enough_where_a_signer_is_wanted(host: Host) -> None:
    with Server(ok(BODY)) as server:
        supplied(host, tool(server.url()))
        assert "not by Others" in failure(signed(host), tool(server.url(), signer=Signer("Others")))


def test_every_program_of_an_archive_has_to_be_signed(host: Host) -> None:
    content = zipped(("a.exe", b"MZ a"), ("LICENSE", b"free"))
    with Server(ok(content)) as server:
        artifact = archive(server.url(), content, signer=Signer("Example Authors"))
        supplied(signed(host), artifact)
        other = replace(artifact, signer=Signer("Others"))
        assert Stock(signed(host), FOLDER, QUICK).supply([other], ()) == {
            "tools": "a.exe is signed by Example Authors, not by Others"
        }


def test_an_archive_without_a_program_has_no_signer(host: Host) -> None:
    content = zipped(("LICENSE", b"free"))
    with Server(ok(content)) as server:
        artifact = archive(server.url(), content, signer=Signer("Example Authors"))
        assert Stock(signed(host), FOLDER, QUICK).supply([artifact], ()) == {
            "tools": "there is no program in it that anybody could have signed"
        }


def test_a_sandbox_says_that_it_judges_no_signature(host: Host) -> None:
    told = Told()
    with Server(ok(BODY)) as server:
        supplied(host, tool(server.url(), signer=Signer("Others")), told=told)
    assert told.again == ["its signer is not looked at: only Windows can judge a signature"]


def test_memory_stays_bounded(host: Host) -> None:
    large = bytes(64 << 20)
    with Server(ok(large)) as server:
        artifact = tool(server.url(), large)
        tracemalloc.start()
        supplied(host, artifact)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 12 << 20, "of which the server's own part is"
