"""One run after another, each of which adds to what the ones before it made."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.engine.planning import Plan
from agent.engine.progress import Silent
from agent.engine.run import TakenBack, make_so, reset, status
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE, PROGRAM_FILE
from agent.spec import Directory, File, Inline, Protection, Specification
from sandbox.engine import nodes
from sandbox.engine.world import Killed, Power, picture, powered

FILE = PureWindowsPath(r"C:\first.txt")
FOLDER = PureWindowsPath(r"C:\folder")


def first(content: bytes = b"first") -> Specification:
    return Specification.of([File(FILE, Inline(content))], title="first")


def beside(host: Host, specification: Specification) -> Plan:
    return make_so(host, specification, Silent(), beside=True).plan


def test_what_was_made_before_stays(host: Host) -> None:
    beside(host, first())
    beside(host, nodes.node())
    assert host.files.read(FILE) == b"first"
    found = status(host)
    assert found.is_well
    assert {str(FILE), "kubelet"} <= {each.record.target.key.name for each in found.resources}


def test_again_nothing_changes(host: Host) -> None:
    beside(host, first())
    beside(host, nodes.node())
    assert beside(host, first()).changes == ()
    assert beside(host, nodes.node()).changes == ()


def test_its_own_is_made_right_again(host: Host) -> None:
    beside(host, first())
    beside(host, nodes.node())
    beside(host, first(b"other"))
    assert host.files.read(FILE) == b"other"
    assert status(host).is_well


def test_a_folder_of_its_own_that_it_opens_closes_no_file_of_it(host: Host) -> None:
    def folder(protection: Protection) -> Specification:
        file = File(FOLDER / "x", Inline(b"hello"), protection=Protection.PROGRAM)
        return Specification.of([Directory(FOLDER, protection), file])

    beside(host, folder(Protection.PRIVATE))
    assert host.files.descriptor(FOLDER / "x") == PRIVATE_FILE
    beside(host, folder(Protection.PROGRAM))
    assert host.files.descriptor(FOLDER / "x") == PROGRAM_FILE


def test_reset_takes_all_of_it(host: Host) -> None:
    before = picture(host)
    beside(host, first())
    beside(host, nodes.node())
    reset(host, Silent())
    assert picture(host) == before


def test_one_that_fails_leaves_the_ones_before_it(host: Host) -> None:
    beside(host, first())
    made = picture(host)

    def refuse() -> None:
        raise RuntimeError

    with pytest.raises(TakenBack):
        make_so(host, nodes.node(), Silent(), refuse, beside=True)
    assert picture(host) == made


def test_without_it_what_is_not_wanted_goes(host: Host) -> None:
    beside(host, first())
    make_so(host, nodes.node(), Silent())
    assert host.files.observe(FILE) is None


@pytest.mark.parametrize("changes", range(0, 22, 3))
def test_one_that_was_cut_off_is_remembered_by_another(host: Host, changes: int) -> None:
    before = picture(host)
    beside(host, first())
    with pytest.raises(Killed):
        beside(powered(host, Power(changes)), nodes.node())
    beside(host, first(b"other"))
    beside(host, nodes.node())
    assert status(host).is_well
    reset(host, Silent())
    assert picture(host) == before
