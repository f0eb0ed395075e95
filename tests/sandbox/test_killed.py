"""The process is killed, not told: at every single change that a run makes on the machine."""

from __future__ import annotations

import pathlib
import sys
from pathlib import PureWindowsPath

import pytest

if sys.platform == "win32":
    pytest.skip("tests/windows kills the exe itself", allow_module_level=True)

from agent.engine.progress import Silent
from agent.engine.run import make_so, reset, status
from agent.host.port import Host
from agent.host.sandbox import open_sandbox
from sandbox.engine import nodes
from sandbox.engine.test_parts import PART, tools
from sandbox.engine.world import Power, picture, powered
from sandbox.killing import KILLED, Runs

STATE = PureWindowsPath("C:\\ProgramData\\wmcb")


def make_node(power: Power, place: str, node: str) -> int:
    machine = powered(open_sandbox(pathlib.Path(place)), power)
    make_so(nodes.admitted(machine), getattr(nodes, node)(), Silent())
    return 0


def make_part(power: Power, place: str) -> int:
    """Another than the one that is there: something is new, something changes, something goes."""
    machine = powered(open_sandbox(pathlib.Path(place)), power)
    make_so(machine, tools(b"2", tool=False), Silent(), part=PART)
    return 0


def node_with_part(folder: pathlib.Path) -> Host:
    host = open_sandbox(folder)
    make_so(host, nodes.node(), Silent())
    make_so(host, tools(), Silent(), part=PART)
    return host


def test_a_part_killed_anywhere_is_finished_by_its_next_run_and_leaves_the_node_as_it_is(
    tmp_path: pathlib.Path,
) -> None:
    bare = picture(open_sandbox(tmp_path / "bare"))
    undisturbed = node_with_part(tmp_path / "undisturbed")
    make_so(undisturbed, tools(b"2", tool=False), Silent(), part=PART)
    wanted = picture(undisturbed, but=(STATE,))

    killed = 0
    with Runs(tmp_path / "said") as runs:
        while True:
            host = node_with_part(tmp_path / str(killed))
            if (code := runs.killed(killed, make_part, str(tmp_path / str(killed)))) != KILLED:
                break
            make_so(host, tools(b"2", tool=False), Silent(), part=PART)
            assert picture(host, but=(STATE,)) == wanted, f"killed after {killed} changes"
            assert status(host).is_well
            reset(host, Silent())
            assert picture(host) == bare, f"killed after {killed} changes"
            killed += 1
        assert code == 0, runs.said()
    assert killed > len(tools().wants), "a run makes at least one change for each resource"


@pytest.mark.parametrize("node", ["node", "joining"])
def test_the_next_run_ends_as_an_undisturbed_one_and_reset_leaves_nothing(
    tmp_path: pathlib.Path, node: str
) -> None:
    wants = getattr(nodes, node)()
    undisturbed = nodes.admitted(open_sandbox(tmp_path / "undisturbed"))
    bare = picture(undisturbed)
    make_so(undisturbed, wants, Silent())
    wanted = picture(undisturbed, but=(STATE,))

    killed = 0
    with Runs(tmp_path / "said") as runs:
        while (code := runs.killed(killed, make_node, str(tmp_path / str(killed)), node)) == KILLED:
            host = nodes.admitted(open_sandbox(tmp_path / str(killed)))
            make_so(host, wants, Silent())
            assert picture(host, but=(STATE,)) == wanted, f"killed after {killed} changes"
            assert status(host).is_well
            reset(host, Silent())
            assert picture(host) == bare, f"killed after {killed} changes"
            killed += 1
        assert code == 0, runs.said()
    assert killed > len(wants.wants), "a run makes at least one change for each resource"
