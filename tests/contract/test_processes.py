"""Programs run, waited for and ended; the machine's locks; time."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from agent.host.errors import BadName, NotFound, TimedOut
from agent.host.port import Processes
from contract.world import World

SOON = 30.0
"""Seconds: far more than any step needs."""
NEARLY = 1.5
"""Seconds: Linux counts from its own start, which it tells without fractions."""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-c", f"import json, os, sys, time\n{code}", *arguments]


# Running


@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_an_exit_code_is_told(world: World, code: int) -> None:
    assert world.host.processes.run(python(f"sys.exit({code})"), seconds=SOON).exit_code == code


@pytest.mark.skipif(sys.platform != "win32", reason="only Windows' consoles are something that a program has")
@pytest.mark.parametrize("console", [False, True])
def test_a_console_is_there_only_where_it_is_said(world: World, console: bool) -> None:
    program = python("import ctypes; print(bool(ctypes.windll.kernel32.GetConsoleCP()))")
    done = world.host.processes.run(program, seconds=SOON, console=console)
    assert done.output.decode().strip() == str(console)


def test_output_and_errors_are_told_apart(world: World) -> None:
    done = world.host.processes.run(
        python("os.write(1, b'out\\x00\\xff'); os.write(2, b'err')"), seconds=SOON
    )
    assert (done.exit_code, done.output, done.errors) == (0, b"out\x00\xff", b"err")


WORDS = {
    "plain": ["a", "-b", "--c=d"],
    "blanks": ["a b", " ", "\t"],
    "quotes": ['"', 'a"b', '"a b"', "'"],
    "backslashes": ["C:\\dir\\", "C:\\a dir\\", '\\\\"', "\\\\"],
    "empty": ["", "x", ""],
    "shell": ["%PATH%", "$HOME", "a&b", "a|b", ">x", "^"],
    "beyond ASCII": ["käse", "日本", "😀"],
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_arguments_arrive_word_for_word(world: World, words: list[str]) -> None:
    done = world.host.processes.run(python("print(json.dumps(sys.argv[1:]))", *words), seconds=SOON)
    assert json.loads(done.output) == words


def test_variables_are_those_that_were_given(world: World) -> None:
    environment = {**os.environ, "WMCB_CONTRACT": "a=b c"}
    done = world.host.processes.run(
        python("print(os.environ['WMCB_CONTRACT'])"), seconds=SOON, environment=environment
    )
    assert done.output.strip() == b"a=b c"


def test_it_runs_in_the_folder_that_was_given(world: World) -> None:
    world.host.processes.run(python("open('here', 'w').close()"), seconds=SOON, directory=world.folder)
    assert world.host.files.list(world.folder) == ["here"]


def test_its_input_is_at_an_end(world: World) -> None:
    done = world.host.processes.run(python("print(len(sys.stdin.read()))"), seconds=SOON)
    assert done.output.strip() == b"0"


def test_more_output_than_is_kept_holds_nobody_up(world: World) -> None:
    done = world.host.processes.run(
        python(
            "os.write(1, b'x' * 100); sys.stdout.write('y' * 2_000_000); sys.stderr.write('z' * 2_000_000)"
        ),
        seconds=SOON,
        limit=1000,
    )
    assert (done.exit_code, done.output, done.errors) == (0, b"x" * 100 + b"y" * 900, b"z" * 1000)


CHILD = (
    "import subprocess\n"
    "child = subprocess.Popen([sys.executable, '-I', '-c', 'import time; time.sleep(600)'])\n"
    "with open('child', 'w') as file: file.write(str(child.pid))\n"
)


def test_a_program_that_takes_too_long_is_ended_with_its_children(world: World) -> None:
    child = world.folder / "child"
    before = time.monotonic()
    for seconds in (1, 3, 9, 27):
        with pytest.raises(TimedOut):
            world.host.processes.run(
                python(CHILD + "time.sleep(600)"), seconds=seconds, directory=world.folder
            )
        if world.host.files.observe(child) is not None and world.host.files.read(child):
            break  # on a busy machine it may be ended before it has a child
    assert time.monotonic() - before < 1 + 3 + 9 + 27 + SOON
    gone(world, int(world.host.files.read(world.folder / "child")))


def test_children_do_not_outlive_a_program(world: World) -> None:
    done = world.host.processes.run(python(CHILD), seconds=SOON, directory=world.folder)
    assert done.exit_code == 0
    gone(world, int(world.host.files.read(world.folder / "child")))


def gone(world: World, pid: int) -> None:
    with contextlib.suppress(NotFound):
        world.host.processes.wait(pid, SOON)


def test_a_program_that_is_not_there(world: World) -> None:
    with pytest.raises(NotFound) as refused:
        world.host.processes.run([str(world.folder / "none.exe")], seconds=SOON)
    assert refused.value.code == 2


@pytest.mark.parametrize(
    "program", ["python", "python.exe", "k\\p.exe", "C:p.exe", "C:\\k\\x.bat", "C:\\k\\x.CMD"], ids=ascii
)
def test_a_program_that_windows_would_have_to_look_for(world: World, program: str) -> None:
    with pytest.raises(BadName):
        world.host.processes.run([program], seconds=SOON)


# Others' processes


def test_a_process_is_waited_for(world: World) -> None:
    with subprocess.Popen(python("sys.stdin.read(); sys.exit(7)"), stdin=subprocess.PIPE) as process:
        with pytest.raises(TimedOut):
            world.host.processes.wait(process.pid, 0.1)
        assert process.stdin is not None
        process.stdin.close()
        assert world.host.processes.wait(process.pid, SOON) == 7


def test_a_process_is_ended(world: World) -> None:
    with subprocess.Popen(python("time.sleep(600)")) as process:
        world.host.processes.end(process.pid)
        assert process.wait(SOON) != 0


def pid_of_the_past() -> int:
    """Windows keeps a process as long as somebody has a handle to it: this gives all up."""
    with subprocess.Popen(python("pass")) as process:
        return process.pid


OF_A_PROCESS: dict[str, Callable[[Processes, int], object]] = {
    "wait": lambda processes, pid: processes.wait(pid, 1),
    "end": lambda processes, pid: processes.end(pid),
    "started_at": lambda processes, pid: processes.started_at(pid),
}


@pytest.mark.parametrize("name", OF_A_PROCESS)
def test_a_process_that_is_not_there(world: World, name: str) -> None:
    pid = pid_of_the_past()
    deadline = time.monotonic() + SOON
    with pytest.raises(NotFound):
        # The system takes its time to forget a process.
        while time.monotonic() < deadline:
            OF_A_PROCESS[name](world.host.processes, pid)


def test_this_process_is_listed_with_its_parent_and_its_child(world: World) -> None:
    with subprocess.Popen(python("sys.stdin.read()"), stdin=subprocess.PIPE) as process:
        listed = {found.pid: found for found in world.host.processes.list()}
        assert listed[process.pid].parent == os.getpid()
        # Wine has not what Python asks here.
        assert world.under_wine or listed[os.getpid()].parent == os.getppid()
        assert process.stdin is not None
        process.stdin.close()


def test_when_a_process_began(world: World) -> None:
    before = world.host.clock.now()
    with subprocess.Popen(python("sys.stdin.read()"), stdin=subprocess.PIPE) as process:
        began = world.host.processes.started_at(process.pid)
        assert before - NEARLY <= began <= world.host.clock.now() + NEARLY
        assert world.host.processes.started_at(os.getpid()) <= began
        assert process.stdin is not None
        process.stdin.close()


def test_a_program_inside_c_is_told_by_its_path(world: World) -> None:
    path = world.folder / "program.exe"
    with world.run_from(path) as pid:
        (program,) = [found.program for found in world.host.processes.list() if found.pid == pid]
    assert program == path


# Locks


def test_a_lock_is_one_mans(world: World) -> None:
    exclusive = world.host.processes.exclusive
    with exclusive("contract") as first, exclusive("contract") as second, exclusive("contract-2") as other:
        assert (first, second, other) == (True, False, True)
    with exclusive("contract") as again:
        assert again


HOLDER = """
import time
with host.processes.exclusive("contract") as held:
    print(held, flush=True)
    time.sleep(600)
"""


def test_a_lock_is_freed_when_its_holder_is_killed(world: World) -> None:
    with subprocess.Popen(world.other_process(HOLDER), stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"True"
        with world.host.processes.exclusive("contract") as held:
            assert not held
        holder.kill()
        holder.wait()
    with world.host.processes.exclusive("contract") as held:
        assert held


# Time


def test_time(world: World) -> None:
    clock = world.host.clock
    assert abs(clock.now() - time.time()) < 5
    before = clock.monotonic()
    clock.sleep(0.05)
    assert clock.monotonic() - before >= 0.03


def test_a_boot_is_known_by_one_name_to_all_who_ask(world: World) -> None:
    told = world.host.processes.run(world.other_process("print(host.clock.boot())"), seconds=60)
    assert int(told.output) == world.host.clock.boot() > 0
