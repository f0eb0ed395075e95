"""The process is killed, not told: at every single change that a run makes on the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

import pytest

from agent.engine.progress import Silent
from agent.engine.run import make_so, reset, status
from agent.host.sandbox import open_sandbox
from sandbox.engine import nodes
from sandbox.engine.world import picture

if TYPE_CHECKING:
    import pathlib

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="tests/windows kills the exe itself")

STATE = PureWindowsPath("C:\\ProgramData\\wmcb")

RUN = """
import os, pathlib, signal, sys
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host.sandbox import open_sandbox
from sandbox.engine import nodes
from sandbox.engine.world import Power, powered

class Fatal(Power):
    def spend(self, change):
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().spend(change)

machine = powered(open_sandbox(pathlib.Path(sys.argv[1])), Fatal(int(sys.argv[2])))
make_so(nodes.admitted(machine), getattr(nodes, sys.argv[3])(), "test", Silent())
"""


def run(machine: pathlib.Path, changes: int, node: str) -> int:
    """Its exit code, of a run that is killed before it makes one change more."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = [sys.executable, "-c", RUN, str(machine), str(changes), node]
    return subprocess.run(words, env=environment, timeout=60, check=False).returncode


@pytest.mark.parametrize("node", ["node", "joining"])
def test_the_next_run_ends_as_an_undisturbed_one_and_reset_leaves_nothing(
    tmp_path: pathlib.Path, node: str
) -> None:
    wants = getattr(nodes, node)()
    undisturbed = nodes.admitted(open_sandbox(tmp_path / "undisturbed"))
    bare = picture(undisturbed)
    make_so(undisturbed, wants, "test", Silent())
    wanted = picture(undisturbed, but=(STATE,))

    killed = 0
    while (code := run(tmp_path / str(killed), killed, node)) == -signal.SIGKILL:
        host = nodes.admitted(open_sandbox(tmp_path / str(killed)))
        make_so(host, wants, "test", Silent())
        assert picture(host, but=(STATE,)) == wanted, f"killed after {killed} changes"
        assert status(host).is_well
        reset(host, "test", Silent())
        assert picture(host) == bare, f"killed after {killed} changes"
        killed += 1
    assert code == 0
    assert killed > len(wants.wants), "a run makes at least one change for each resource"
