"""wmcb.exe takes artifacts from a server with TLS: goes on with them, judges them, places them."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import tarfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pefile  # type: ignore[import-untyped]
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import NameOID

from agent.artifacts.receiving import RESERVE
from lab import windows_python
from lab.certificates import Authority
from lab.disk import room
from lab.namespace import ADDRESS, WEB_NAME
from lab.node import Node
from lab.snapshot import Entry, files_below
from lab.waiting import until
from lab.web import Page, Web, serving
from unit.artifacts.archives_made import special, tar_gz, zipped
from windows.exe import DOWNLOADED, INSTALLED, SERVICE, lay_out
from windows.test_bad_input import small_disk
from windows.test_bootstrap import DOCUMENT as IGNITION
from windows.test_bootstrap import GIVEN, Machine
from windows.test_fetching import trust

DOCUMENT = r"C:\given files\node.yaml"
HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\nartifacts:\n"
TOOL = b"MZ" + b"".join(hashlib.sha256(f"{at}".encode()).digest() for at in range(100_000))
TOOLS = tar_gz(("tools-1/bin/tool.exe", TOOL), ("tools-1/LICENSE", b"free"))
TAG = {"ETag": '"one"'}
MEGABYTE = 1 << 20
SOON_SECONDS = 60.0
FOUNDATION = "Python Software Foundation"


@pytest.fixture
def machine(node: Node, web_authority: Authority) -> Machine:
    trust(node, web_authority)
    return Machine(node)


def signed_program() -> bytes:
    return (windows_python.folder() / "python.exe").read_bytes()


def thumbprint(program: bytes, signer: str, algorithm: hashes.HashAlgorithm) -> str:
    """Of the certificate that it is signed with, as it stands in the program."""
    directory = pefile.PE(data=program, fast_load=True).OPTIONAL_HEADER.DATA_DIRECTORY[4]
    message = program[directory.VirtualAddress :][8 : directory.Size]
    packed = message[: 4 + int.from_bytes(message[2:4], "big")]  # without what fills it up
    (found,) = (
        each
        for each in pkcs7.load_der_pkcs7_certificates(packed)
        if each.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == signer
    )
    return found.fingerprint(algorithm).hex()


def share(node: Node, place: str) -> Path:
    r"""The folder of a server's files that the node has under \\SERVER\SHARE, as Linux sees it."""
    folder = node.c.parent / "dosdevices" / "unc" / place
    folder.mkdir(parents=True)
    return folder


def wants(machine: Machine, *artifacts: str) -> tuple[str, ...]:
    machine.node.path(DOCUMENT).parent.mkdir(exist_ok=True)
    machine.node.path(DOCUMENT).write_text(HEAD + "".join(artifacts))
    return "--node-config", DOCUMENT


def begun(machine: Machine) -> list[int]:
    """How much there is of what is not whole yet."""
    folder = machine.node.path(r"C:\ProgramData\wmcb\given")
    return [part.stat().st_size for part in folder.glob("*.part")] if folder.exists() else []


def log(machine: Machine) -> str:
    return machine.node.path(r"C:\ProgramData\wmcb\logs\wmcb.log").read_text()


def artifact(name: str, url: str, content: bytes, where: str) -> str:
    sha256 = hashlib.sha256(content).hexdigest()
    return f"- {{name: {name}, source: '{url}', sha256: {sha256}, protection: program, {where}}}\n"


def test_artifacts_are_made_gone_on_with_and_taken_back(machine: Machine, secure_web: Web) -> None:
    """One test for all, since each node costs seconds."""
    program, url = signed_program(), secure_web.url("/tools.tar.gz")
    wanted = wants(
        machine,
        artifact("tools", url, TOOLS, "unpack: {into: 'C:\\tools', strip: 1}"),
        artifact(
            "python",
            secure_web.url("/python.exe"),
            program,
            f"path: 'C:\\tools\\python.exe', signer: {{commonName: {FOUNDATION}}}",
        ),
        artifact(
            "shared",
            r"\\files\tools\python.exe",
            program,
            "path: 'C:\\tools\\shared.exe', "
            f"signer: {{thumbprint: {thumbprint(program, FOUNDATION, hashes.SHA1())}}}",  # noqa: S303 - Windows' name for it
        ),
    )
    (share(machine.node, "files/tools") / "python.exe").write_bytes(program)
    secure_web.pages["/python.exe"] = Page(program)
    secure_web.pages["/tools.tar.gz"] = Page(TOOLS, headers=TAG, pause=0.001)
    words = (DOWNLOADED, "--ignition", IGNITION, "--kubelet", GIVEN, *wanted)
    ignored = ("--ignore-preflight-errors", "containerd-pipe")
    machine.node.run_until(lambda: max(begun(machine), default=0) >= MEGABYTE, *words, *ignored)
    (size,) = begun(machine)
    assert size % MEGABYTE == 0
    assert not machine.node.path(r"C:\tools").exists()
    assert machine.node.service("kubelet") is None

    told = {**TAG, "Content-Range": f"bytes {size}-{len(TOOLS) - 1}/{len(TOOLS)}"}
    secure_web.pages["/tools.tar.gz"] = Page(TOOLS[size:], status=206, headers=told)
    secure_web.requests.clear()
    result = machine.bootstrap(*wanted)
    assert result.code == 0, result.err
    (request,) = secure_web.requests
    assert (request.headers["Range"], request.headers["If-Range"]) == (f"bytes={size}-", '"one"')
    assert machine.node.path(r"C:\tools\bin\tool.exe").read_bytes() == TOOL
    for name in ("python.exe", "shared.exe"):
        assert machine.node.path(rf"C:\tools\{name}").read_bytes() == program
    assert not machine.node.path(r"C:\ProgramData\wmcb\given").exists()

    assert machine.bootstrap(*wanted).out.startswith("nothing to do")
    assert len(secure_web.requests) == 1

    # The service keeps no copy of what is so large.
    secure_web.pages["/tools.tar.gz"] = Page(TOOLS)
    assert machine.wmcb("daemon", "install").code == 0
    machine.node.start_service(SERVICE)
    until(lambda: "keeping" in log(machine), "the resident service has begun", SOON_SECONDS)
    machine.node.path(r"C:\tools\bin\tool.exe").write_bytes(b"MZ by hand")
    until(
        lambda: "tool.exe had been changed, and was put right" in log(machine),
        "it is put right",
        SOON_SECONDS,
    )
    assert machine.node.path(r"C:\tools\bin\tool.exe").read_bytes() == TOOL
    assert len(secure_web.requests) == 2
    assert machine.wmcb("daemon", "uninstall").code == 0

    assert machine.wmcb("reset").code == 0
    for left in (r"C:\tools", r"C:\ProgramData\wmcb\artifacts", r"C:\ProgramData\wmcb\mending"):
        assert not machine.node.path(left).exists()


def bomb() -> bytes:
    info = tarfile.TarInfo("zeroes")
    info.size = 10 << 30
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))


def refused(machine: Machine, wanted: list[str], *more: str) -> list[str]:
    """What is told of these, none of which can be had."""
    result = machine.bootstrap(*wants(machine, *wanted), *more)
    assert result.code == 1, result.out
    return [line for line in result.err.splitlines() if "its content cannot be fetched" in line]


def test_what_cannot_be_trusted_is_told_a_line_each_and_changes_nothing(
    machine: Machine, secure_web: Web, web: Web, web_authority: Authority, tmp_path: Path
) -> None:
    unpack = "unpack: {into: 'C:\\tools'}"
    program = signed_program()
    altered = program.replace(b"This program", b"that program", 1)
    pages = {
        "hash": (b"another", "its sha256 is", "path: 'C:\\tools\\a.exe'"),
        "signer": (
            program,
            f"a.exe is signed by {FOUNDATION}, not by Example Authors",
            _signed("Example Authors"),
        ),
        "certificate": (
            program,
            f"certificate {thumbprint(program, FOUNDATION, hashes.SHA256())}, not with {'ab' * 32}",
            f"path: 'C:\\tools\\a.exe', signer: {{thumbprint: {'ab' * 32}}}",
        ),
        "altered": (altered, "it was changed after it had been signed", _signed(FOUNDATION)),
        "unsigned": (TOOL, "it is not signed", _signed(FOUNDATION)),
        "dots": (zipped(("..\\evil.exe", b"")), "'..' leads back out of its folder", unpack),
        "link": (tar_gz(special("evil", tarfile.SYMTYPE, "C:\\")), "evil in it is a link", unpack),
        "bomb": (bomb(), "it unpacks to more than 4 GiB", unpack),
        "plain": (b"", "redirects from https to http", "path: 'C:\\tools\\a.exe'"),
    }
    secure_web.pages |= {f"/{name}": Page(content) for name, (content, _, _) in pages.items()}
    secure_web.pages["/plain"] = Page(status=302, headers={"Location": web.url("/plain")})
    wrong = {"hash": b"wanted", "plain": b"wanted"}
    wanted = [
        artifact(
            name, secure_web.url(f"/{name}"), wrong.get(name, content), where.replace("a.exe", f"{name}.exe")
        )
        for name, (content, _, where) in pages.items()
    ]
    before = files_below(machine.node.c)
    pair = tmp_path / "expired.pem"
    names = [f"DNS:{WEB_NAME}", f"IP:{ADDRESS}"]
    pair.write_text(web_authority.server(names, timedelta(days=-1)))
    with serving(pair) as expired:
        wanted.append(artifact("expired", expired.url("/a"), b"", "path: 'C:\\tools\\expired.exe'"))
        lines = refused(machine, wanted)
    assert len(lines) == len(wanted)
    for at, (name, (_, why, _)) in enumerate(pages.items()):
        (line,) = [line for line in lines if f"$.artifacts.{at}:" in line]
        assert why.replace("a.exe", f"{name}.exe") in line
    assert "certificate of web.test" in next(line for line in lines if f"$.artifacts.{len(pages)}:" in line)
    # By itself: it is asked for again as long as there is time.
    secure_web.pages["/short"] = Page(TOOLS, cut_after=1_024)
    short = artifact("short", secure_web.url("/short"), TOOLS, "path: 'C:\\tools\\short.exe'")
    (line,) = refused(machine, [short], "--max-time", "5")
    assert "breaks off in the middle of TLS" in line
    assert machine.node.service("kubelet") is None
    # What came whole is there for a document with another signer, or other members.
    machine.node.path(DOCUMENT).unlink()
    assert all(path.startswith(r"C:\ProgramData\wmcb") for path in _new_since(before, machine.node))
    assert machine.wmcb("reset").code == 0
    assert _new_since(before, machine.node) == []


def _new_since(before: Mapping[str, Entry], node: Node) -> list[str]:
    """Also what is otherwise."""
    now = files_below(node.c)
    return [path for path in now.keys() | before.keys() if now.get(path) != before.get(path)]


def _signed(by: str) -> str:
    return f"path: 'C:\\tools\\a.exe', signer: {{commonName: {by}}}"


TEXTS = b"MZ" + b"".join(hashlib.sha256(f"{at}".encode()).digest() for at in range(100)) * 4_000
PACKED = tar_gz(("bin/tool.exe", TEXTS))
FULL = {
    "before it is fetched": (
        *(TEXTS, "path: 'C:\\tools\\tool.exe'", RESERVE + 8 * MEGABYTE),
        "13 MiB are to be written, and 256 MiB have to stay free: make room there",
    ),
    "while it is unpacked": (
        *(PACKED, "unpack: {into: 'C:\\tools'}", RESERVE + 8 * MEGABYTE),
        "1 MiB are to be written, and 256 MiB have to stay free: make room there",
    ),
    "while it is put into its place": (
        *(PACKED, "unpack: {into: 'D:\\tools'}", RESERVE + 100 * MEGABYTE),
        r"cannot write D:\tools\bin\tool.exe: ",
    ),
}
"""Each the content, where it is to be, how much room C: has, and what is told; D: has 8 MB."""


def test_a_disk_that_fills_up_is_told_in_a_line_and_made_free_again(node: Node, web: Web) -> None:
    lay_out(node)
    node.path(DOCUMENT).parent.mkdir()
    with small_disk(node, 8 * MEGABYTE) as disk:
        before = files_below(node.c)
        for name, (content, where, free, told) in FULL.items():
            web.pages["/tools"] = Page(content)
            node.path(DOCUMENT).write_text(HEAD + artifact("tools", web.url("/tools"), content, where))
            with room(free):
                result = node.run(INSTALLED, "prepare", "--node-config", DOCUMENT)
            assert result.code == 1, name
            (line,) = [line for line in result.err.splitlines() if "the disk is full" in line]
            assert line.startswith("wmcb: "), name
            assert told in line, line
            assert list(disk.iterdir()) == [], name
            own = node.path(r"C:\ProgramData\wmcb")
            assert [path.name for path in own.rglob("*") if path.is_file()] == ["wmcb.log"], name
            node.path(DOCUMENT).unlink()
            shutil.rmtree(own)
        assert _new_since(before, node) == []
