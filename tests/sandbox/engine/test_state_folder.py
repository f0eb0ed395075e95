"""C:\\ProgramData\\wmcb where a plain user was there first: every user may make folders in ProgramData."""

from __future__ import annotations

import pathlib
from pathlib import PureWindowsPath

import pytest

from agent.engine.progress import Silent
from agent.engine.run import make_so, reset, status, title
from agent.host.errors import InUse
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.sddl import SecurityDescriptor
from agent.resources.kind import CannotBeSo
from sandbox.engine import nodes
from sandbox.engine.world import changed, picture

STATE = PureWindowsPath("C:\\ProgramData\\wmcb")
USER = "S-1-5-21-1-2-3-1001"
OF_A_USER = SecurityDescriptor.parse(f"O:{USER}G:{USER}D:(A;OICI;FA;;;{USER})(A;OICI;FA;;;BA)")


def run(host: Host) -> None:
    make_so(host, nodes.node(), Silent())


def untrusted(host: Host) -> list[PureWindowsPath]:
    """What has been moved aside."""
    names = host.files.list(STATE.parent)
    return [STATE.parent / name for name in names if name.startswith("wmcb-untrusted-")]


@pytest.fixture
def planted(host: Host) -> Host:
    host.files.make_directory(STATE, OF_A_USER)
    return host


def outside(folder: pathlib.Path, path: PureWindowsPath) -> pathlib.Path:
    """Where the sandbox keeps a file of C:."""
    return folder.joinpath(*path.parts[1:])


def test_nothing_in_it_is_read_or_followed(planted: Host, tmp_path: pathlib.Path) -> None:
    """A record of a node is in it, and links to what is to be read, removed or opened in their place."""
    host = planted
    host.files.write(STATE / "node.json", b'{"format": 1}', OF_A_USER)
    host.files.make_directory(nodes.K, PRIVATE_DIRECTORY)
    host.files.write(nodes.K / "secret", b"s3cr3t", PRIVATE_FILE)
    links = ["journal", "kept", "logs", "reserve"]
    for name in links:
        outside(tmp_path, STATE / name).symlink_to(outside(tmp_path, nodes.K))
    run(host)
    (aside,) = untrusted(host)
    assert host.files.list(aside) == sorted([*links, "node.json"])
    assert all(entry.kind is FileKind.LINK for entry in host.files.entries(aside) if entry.name in links)
    assert host.files.read(nodes.K / "secret") == b"s3cr3t"
    assert host.files.descriptor(nodes.K / "secret").equivalent(PRIVATE_FILE)
    for folder in (aside, STATE, STATE / "kept"):
        assert host.files.descriptor(folder).equivalent(PRIVATE_DIRECTORY)
    assert status(host).is_well


def test_the_folder_itself_is_not_used_again(planted: Host, tmp_path: pathlib.Path) -> None:
    """Its maker may hold it open with the right to rename it, or to change its descriptor."""
    made = outside(tmp_path, STATE).stat().st_ino
    run(planted)
    (aside,) = untrusted(planted)
    assert outside(tmp_path, aside).stat().st_ino == made
    assert outside(tmp_path, STATE).stat().st_ino != made


def test_one_that_grants_administrators_nothing_is_moved_aside(host: Host) -> None:
    host.files.make_directory(STATE, SecurityDescriptor.parse(f"O:{USER}G:{USER}D:P(A;OICI;FA;;;{USER})"))
    run(host)
    assert len(untrusted(host)) == 1


def test_a_file_in_its_place_is_moved_aside(host: Host) -> None:
    host.files.write(STATE, b"x", OF_A_USER)
    run(host)
    (aside,) = untrusted(host)
    assert host.files.read(aside) == b"x"


def test_its_user_may_make_it_again_at_once(planted: Host) -> None:
    host, left = planted, [1, 2, 3]

    def make_directory(path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        if path == STATE and left:
            left.pop()
            host.files.make_directory(STATE, OF_A_USER)
        host.files.make_directory(path, descriptor)

    run(changed(host, files={"make_directory": make_directory}))
    assert len(untrusted(host)) == 4
    assert host.files.descriptor(STATE).equivalent(PRIVATE_DIRECTORY)


def test_one_that_is_made_again_and_again_is_given_up(planted: Host) -> None:
    host = planted

    def make_directory(path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        host.files.make_directory(path, OF_A_USER if path == STATE else descriptor)

    with pytest.raises(CannotBeSo, match="is made again by a user each time that it is moved aside"):
        run(changed(host, files={"make_directory": make_directory}))


def test_one_in_which_something_is_open_is_not_used(planted: Host) -> None:
    def set_aside(path: PureWindowsPath, target: PureWindowsPath, *_: object) -> bool:
        raise InUse("move", f"{path} to {target}", 5)

    before = picture(planted)
    with pytest.raises(CannotBeSo, match="a program has it, or something in it, open: end that program"):
        run(changed(planted, files={"set_aside": set_aside}))
    assert picture(planted) == before


def test_what_only_looks_moves_nothing(planted: Host) -> None:
    for look in (status, title):
        with pytest.raises(CannotBeSo, match="was made by a user, so nothing in it is believed; the next"):
            look(planted)
    assert untrusted(planted) == []


def test_a_reset_moves_it_aside_and_leaves_no_folder_of_its_own(planted: Host) -> None:
    reset(planted, Silent())
    assert planted.files.observe(STATE) is None
    assert len(untrusted(planted)) == 1
