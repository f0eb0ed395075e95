"""Folders on the way to the node's own, as C:\\etc: others use them, and yet may not exchange what is in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PureWindowsPath

import pytest

from agent.engine.progress import Silent
from agent.engine.run import TakenBack, preview, reset, status
from agent.host.port import Host, Principal
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, SIDS
from agent.host.sddl import FILE_EXECUTE, FILE_READ, SecurityDescriptor
from agent.spec import Directory, Protection, Specification
from sandbox.engine import nodes
from sandbox.engine.test_run import OPEN, Hasty, run
from sandbox.engine.world import changed, picture

SOMEBODY = "S-1-5-21-1-2-3-1001"
SYSTEMS = "(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
OTHERS = nodes.ETC / "other"

OPENED = {
    "whose owner is a user": f"O:{SOMEBODY}D:P{SYSTEMS}",
    "whose rights a user may change": f"O:BAD:P{SYSTEMS}(A;;WD;;;BU)",
    "that a user may own": f"O:BAD:P{SYSTEMS}(A;;WO;;;{SOMEBODY})",
    "that users may rename": f"O:BAD:P{SYSTEMS}(A;;SD;;;BU)",
    "of which users may remove anything": f"O:BAD:P{SYSTEMS}(A;OICI;0x1200e9;;;BU)",
    "to which users may add files": f"O:BAD:P{SYSTEMS}(A;;DC;;;IU)",
    "to which users may add folders": f"O:BAD:P{SYSTEMS}(A;;LC;;;AU)",
    "with C:'s own rights, as made by hand": f"O:BAD:{SYSTEMS}(A;OICIID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)",
    "without any rights": "O:BAD:NO_ACCESS_CONTROL",
}


def on_the_way(path: PureWindowsPath = nodes.ETC) -> Directory:
    return Directory(path, Protection.PROGRAM, shared=True)


def node() -> Specification:
    wants = [on_the_way() if want.key == on_the_way().key else want for want in nodes.wants()]
    return Specification.of(wants)


def granted(host: Host, path: PureWindowsPath) -> int:
    return host.files.descriptor(path).granted(SIDS[Principal.USER])


@pytest.mark.parametrize("opened", OPENED.values(), ids=OPENED)
def test_one_that_users_could_change_is_closed_and_given_back(host: Host, opened: str) -> None:
    host.files.make_directory(nodes.ETC, SecurityDescriptor.parse(opened))
    host.files.make_directory(OTHERS, OPEN)
    host.files.write(OTHERS / "its.conf", b"", OPEN)
    before = picture(host)
    run(host, node())
    assert granted(host, nodes.ETC) == FILE_READ | FILE_EXECUTE
    assert host.files.descriptor(nodes.ETC) == PROGRAM_DIRECTORY
    assert picture(host).items() >= {(name, is_so) for name, is_so in before.items() if "other" in name}
    assert status(host).is_well
    assert not preview(host, node()).changes
    reset(host, Silent())
    assert picture(host) == before


CLOSED = {
    "with a service's right to look": f"O:BAD:P{SYSTEMS}(A;OICI;0x1200a9;;;NS)",
    "that is private": str(PRIVATE_DIRECTORY),
    "of SYSTEM's": f"O:SYD:P{SYSTEMS}",
    "that hands down more than it grants": f"O:BAD:P{SYSTEMS}(A;OICIIO;0x1301bf;;;AU)(A;OICIIO;FA;;;CO)",
}


@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED)
def test_one_that_nobody_else_could_change_stays_as_it_is(host: Host, closed: str) -> None:
    descriptor = SecurityDescriptor.parse(closed)
    host.files.make_directory(nodes.ETC, descriptor)
    run(host, node())
    assert host.files.descriptor(nodes.ETC) == descriptor
    reset(host, Silent())
    assert host.files.descriptor(nodes.ETC) == descriptor


@pytest.mark.parametrize(
    "place",
    [
        r"C:\Windows",
        r"C:\windows\Temp",
        r"C:\PROGRAM FILES",
        r"C:\ProgramData",
        r"C:\Users",
        r"C:\Users\somebody",
    ],
)
def test_what_windows_leaves_open_stays_open(host: Host, place: str) -> None:
    path = PureWindowsPath(place)
    if host.files.observe(path) is None:
        host.files.make_directory(path, OPEN)
    host.files.set_descriptor(path, OPEN)
    assert run(host, Specification.of([on_the_way(path)])) == []
    assert host.files.descriptor(path) == OPEN


@pytest.mark.parametrize("place", [r"C:\ProgramData\k", r"C:\Program Files\k", r"C:\Windows.old"])
def test_what_somebody_has_put_beside_it_does_not(host: Host, place: str) -> None:
    path = PureWindowsPath(place)
    host.files.make_directory(path, OPEN)
    run(host, Specification.of([on_the_way(path)]))
    assert host.files.descriptor(path) == PROGRAM_DIRECTORY


def test_one_that_is_opened_again_is_drift(host: Host) -> None:
    host.files.make_directory(nodes.ETC, OPEN)
    before = picture(host)
    run(host, node())
    host.files.set_descriptor(nodes.ETC, SecurityDescriptor.parse(OPENED["that users may rename"]))
    (drifted,) = [each for each in status(host).resources if each.differences]
    assert drifted.record.target.key == on_the_way().key
    run(host, node())
    assert granted(host, nodes.ETC) == FILE_READ | FILE_EXECUTE
    host.files.set_descriptor(nodes.ETC, SecurityDescriptor.parse(OPENED["whose owner is a user"]))
    reset(host, Silent())
    assert picture(host) == before


def test_so_is_one_that_was_made_on_the_way(host: Host) -> None:
    run(host, node())
    host.files.set_descriptor(nodes.ETC, OPEN)
    assert not status(host).is_well
    run(host, node())
    assert host.files.descriptor(nodes.ETC) == PROGRAM_DIRECTORY


def test_a_failed_run_opens_it_again(host: Host) -> None:
    host.files.make_directory(nodes.ETC, OPEN)
    before = picture(host)
    ill = replace(changed(host, loopback={"get": lambda *_: 500}), clock=Hasty(host))
    with pytest.raises(TakenBack):
        run(ill, node())
    assert picture(host) == before


def test_what_was_exchanged_until_it_was_closed_is_found(host: Host) -> None:
    """After it was looked at, and found as it is to be."""
    run(host, node())
    host.files.set_descriptor(nodes.ETC, OPEN)
    stops: list[str] = []

    def close(path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        if path == nodes.ETC:
            host.files.write(nodes.CONFIG, b"{of somebody else}", PRIVATE_FILE)
        host.files.set_descriptor(path, descriptor)

    def stop(name: str, seconds: float) -> None:
        stops.append(name)
        host.services.stop(name, seconds)

    run(changed(host, files={"set_descriptor": close}, services={"stop": stop}), node())
    assert host.files.read(nodes.CONFIG) == b"{}"
    assert stops == ["kubelet"]
    assert status(host).is_well
