"""Programs that somebody else wrote, run with what they say going to a log."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import BadName, NotFound, ReparsePoint, TimedOut, WrongKind
from agent.host.protection import PRIVATE_FILE
from contract.world import World, wine_cannot

SOON = 30.0


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", f"import os, subprocess, sys, time\n{code}"]


@pytest.fixture
def log(world: World) -> PureWindowsPath:
    path = world.folder / "some.log"
    world.host.files.append(path, b"before\n", PRIVATE_FILE)
    return path


@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_an_exit_code_is_told(world: World, log: PureWindowsPath, code: int) -> None:
    assert world.host.processes.run_logged(python(f"sys.exit({code})"), log, seconds=SOON) == code


def test_output_and_errors_are_added_in_their_order(world: World, log: PureWindowsPath) -> None:
    born = world.host.files.descriptor(log)
    words = python("for to, word in ((1, b'a'), (2, b'b'), (1, b'c')): os.write(to, word)")
    world.host.processes.run_logged(words, log, seconds=SOON)
    world.host.processes.run_logged(words, log, seconds=SOON)
    assert world.host.files.read(log) == b"before\nabcabc"
    assert world.host.files.descriptor(log).equivalent(born)


def test_it_runs_in_the_folder_that_was_given(world: World, log: PureWindowsPath) -> None:
    words = python("open('here', 'w').close()")
    world.host.processes.run_logged(words, log, seconds=SOON, directory=world.folder)
    assert "here" in world.host.files.list(world.folder)


def test_its_input_is_at_an_end(world: World, log: PureWindowsPath) -> None:
    world.host.processes.run_logged(python("os.write(1, b'%d' % len(sys.stdin.read()))"), log, seconds=SOON)
    assert world.host.files.read(log) == b"before\n0"


CHILD = (
    "child = subprocess.Popen([sys.executable, '-I', '-c', 'import time; time.sleep(600)'])\n"
    "with open('child', 'w') as file: file.write(str(child.pid))\n"
)


def test_a_child_may_outlive_it(world: World, log: PureWindowsPath) -> None:
    world.host.processes.run_logged(python(CHILD), log, seconds=SOON, directory=world.folder)
    child = int(world.host.files.read(world.folder / "child"))
    with pytest.raises(TimedOut):
        world.host.processes.wait(child, 0.1)
    world.host.processes.end(child)


def test_what_outlives_it_may_go_on_adding_to_the_log(world: World, log: PureWindowsPath) -> None:
    words = python(CHILD.replace("600)'])", "600)'], stdout=1)"))
    world.host.processes.run_logged(words, log, seconds=SOON, directory=world.folder)
    world.host.files.append(log, b"after\n", PRIVATE_FILE, flushed=False)
    assert world.outside(log).read_bytes() == b"before\nafter\n"
    world.host.processes.end(int(world.host.files.read(world.folder / "child")))


def test_one_that_takes_too_long_is_ended_with_its_children(world: World, log: PureWindowsPath) -> None:
    child = world.folder / "child"
    before = time.monotonic()
    for seconds in (1, 3, 9, 27):
        with pytest.raises(TimedOut):
            words = python(CHILD + "time.sleep(600)")
            world.host.processes.run_logged(words, log, seconds=seconds, directory=world.folder)
        if world.host.files.observe(child) is not None and world.host.files.read(child):
            break  # on a busy machine it may be ended before it has a child
    assert time.monotonic() - before < 1 + 3 + 9 + 27 + SOON
    with contextlib.suppress(NotFound):
        world.host.processes.wait(int(world.host.files.read(child)), SOON)


def test_a_log_that_is_not_there(world: World) -> None:
    with pytest.raises(NotFound):
        world.host.processes.run_logged(python(""), world.folder / "none.log", seconds=SOON)


def test_a_folder_is_no_log(world: World) -> None:
    with pytest.raises(WrongKind):
        world.host.processes.run_logged(python(""), world.folder, seconds=SOON)


@wine_cannot("it has no symbolic links or junctions")
def test_a_log_that_leads_elsewhere(world: World, log: PureWindowsPath) -> None:
    world.plant_link(world.folder / "link.log", log)
    with pytest.raises(ReparsePoint):
        world.host.processes.run_logged(python(""), world.folder / "link.log", seconds=SOON)
    assert world.host.files.read(log) == b"before\n"


def test_a_program_that_is_not_there(world: World, log: PureWindowsPath) -> None:
    with pytest.raises(NotFound) as refused:
        world.host.processes.run_logged([str(world.folder / "none.exe")], log, seconds=SOON)
    assert refused.value.code == 2


@pytest.mark.parametrize("program", ["python", "k\\p.exe", "C:\\k\\x.cmd"], ids=ascii)
def test_a_program_that_windows_would_have_to_look_for(
    world: World, log: PureWindowsPath, program: str
) -> None:
    with pytest.raises(BadName):
        world.host.processes.run_logged([program], log, seconds=SOON)


def test_a_sandbox_has_no_windows_and_says_so(world: World, log: PureWindowsPath) -> None:
    shell = str(world.host.facts.system_directory() / "System32" / "cmd.exe")
    assert world.host.processes.run_logged([shell, "/c", "echo here"], log, seconds=SOON) == 0
    assert "here" in world.host.files.read(log).decode()
