"""The exe with a signature: of a throw-away key, by the code that a release is signed with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lab import means
from lab.certificates import Authority
from lab.node import Node
from lab.services import State
from releasing import signing
from windows.exe import DIST, DOWNLOADED, INSTALLED, INTERNAL, PROGRAM, SERVICE, folder_files, shipped
from windows.test_fetching import trust

PUBLISHER = "Somebody who publishes"
ALTERED = 0x80096010
"""TRUST_E_BAD_DIGEST"""
JUDGE = """
import sys
from pathlib import PureWindowsPath
from agent.host.errors import HostError
from agent.host.windows.machine import WindowsClock
from agent.host.windows.signatures import WindowsSignatures
for path in sys.argv[1:]:
    try:
        print(WindowsSignatures(WindowsClock()).signer(PureWindowsPath(path)).common_name)
    except HostError as error:
        print(f"{type(error).__name__} {error.code:#x}")
"""
"""What the product asks Windows of an artifact that has to be signed."""


@pytest.fixture
def publishing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The authority of a publisher, named with its key by the variables that signing goes by."""
    means.ensure("openssl", "osslsigncode")
    authority = Authority.make(tmp_path, "An authority of publishers")
    pair = tmp_path / "publisher.pem"
    pair.write_text(authority.signer(PUBLISHER) + authority.certificate.read_text())
    monkeypatch.setenv(signing.CERTIFICATE, str(pair))
    monkeypatch.setenv(signing.KEY, str(pair))
    return authority


def signed_release() -> tuple[bytes, bytes]:
    """The program, and the shipped file with that in it: what a build with a key makes of this one."""
    program = signing.signed(PROGRAM.read_bytes())
    return program, signing.signed(shipped({**folder_files(), PROGRAM.name: program}))


def judged(node: Node, *paths: str) -> list[str]:
    result = node.python("-c", JUDGE, *paths, folder=r"Z:\repo")
    assert result.code == 0, result.err
    return result.out.splitlines()


def with_another_byte(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_a_signed_release_is_vouched_for_and_installs_itself_as_it_is(
    node: Node, publishing: Authority
) -> None:
    """One test for all, since each node and each signature cost seconds."""
    program, release = signed_release()
    node.path(DOWNLOADED).parent.mkdir()
    node.path(DOWNLOADED).write_bytes(release)
    trust(node, publishing)

    done = node.run(DOWNLOADED, "daemon", "install")
    assert done.code == 0, done.err
    assert node.path(INSTALLED).read_bytes() == program
    assert judged(node, DOWNLOADED, INSTALLED) == [PUBLISHER, PUBLISHER]
    for place in (DOWNLOADED, INSTALLED):
        result = node.run(place, "version")
        assert (result.code, result.err) == (0, "")
    node.start_service(SERVICE)
    node.wait_for_service(SERVICE, State.RUNNING)

    changed = r"C:\download\changed.exe"
    node.path(changed).write_bytes(with_another_byte(release, len(release) // 2))
    assert judged(node, changed) == [f"AlteredSinceSigned {ALTERED:#x}"]
    refused = node.run(changed, "version")
    assert refused.code == 1
    assert "this file is damaged; fetch it again" in refused.err


@pytest.mark.usefixtures("publishing")
def test_a_release_signs_every_program_that_has_no_signature_yet(tmp_path: Path) -> None:
    """Ours, and what packages bring: the Python Software Foundation and Microsoft have signed theirs."""
    folder = tmp_path / "wmcb"
    shutil.copytree(PROGRAM.parent, folder)
    unsigned = {path.relative_to(folder).as_posix() for path in signing.unsigned_programs(folder)}
    assert {"wmcb.exe", f"{INTERNAL}/wmcb-log.exe"} < unsigned
    bill = json.loads((DIST / "wmcb.cdx.json").read_text())
    of_packages = {
        file["name"]
        for part in bill["components"]
        if str(part.get("purl", "")).startswith("pkg:pypi/")
        for file in part.get("components", ())
    }
    assert unsigned - {"wmcb.exe", f"{INTERNAL}/wmcb-log.exe"} <= of_packages
    for name in unsigned:
        signing.sign(folder / name)
    assert signing.unsigned_programs(folder) == []


@pytest.mark.usefixtures("publishing")
def test_a_key_that_is_none_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(signing.KEY, "/nothing/here.pem")
    with pytest.raises(signing.SigningError, match="osslsigncode ended with"):
        signing.signed(PROGRAM.read_bytes())
