"""wmcb-log.exe: what a program says, in a file. The programs: Windows Python and the kubelet's stand-in."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path, PureWindowsPath

import pefile  # type: ignore[import-untyped]
import pytest

from agent import log_runner
from agent.host import commandline, protection
from lab.fixtures import demand_the_lab
from lab.node import Node
from lab.processes import Process
from lab.sddl import read_by_samba
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until
from windows.exe import INTERNAL, PROGRAM
from windows.kubelet_log import BUILT, KUBELET, OWN_LINE, PYTHON, RUNNER, Log

MEGABYTE = 1_000_000
DISK_FULL = 112
FOR_NOBODY_ELSE = 0o750


@pytest.fixture(scope="module")
def machine() -> Iterator[Node]:
    """A node with the runner."""
    demand_the_lab()
    node = Node()
    node.copy_in(BUILT, RUNNER)
    yield node
    node.close()


@pytest.fixture
def log(machine: Node) -> Log:
    return Log(machine)


def python(node: Node) -> list[Process]:
    return node.processes("python.exe")


# The program


@pytest.mark.parametrize(
    "rest",
    [
        "",
        " plain words",
        '  two  blanks   "and a quoted one"  ',
        r' --root-dir="C:\var\lib\kubelet" --path=C:\ends\in\one\ ',
        r' \"escaped\" "C:\Program Files\\" a"b"c """ \\\\server\share',
        " --log-file=mine -- -- --log-file-size=7",
        " %PATH% ^& | > < ; , = ' ` $x \t tab",
        " n\u00e4me \u65e5\u672c \U0001f40b",
    ],
)
def test_the_rest_of_the_command_line_is_the_programs_letter_by_letter(log: Log, rest: str) -> None:
    tells = (
        "import ctypes, os; line = ctypes.windll.kernel32.GetCommandLineW; line.restype = ctypes.c_wchar_p;"
        "os.write(1, line().encode('utf-8', 'surrogatepass'))"
    )
    command = f'"{PYTHON}" -c "{tells}"{rest}'
    assert log.node.run_line(log.line(command=command)).code == 0
    # At the end of a line of its own the runner's own words begin.
    assert OWN_LINE.sub(b"", log.everything()).decode() == command + "\n"


@pytest.mark.parametrize("code", [0, 1, 259, 1000, 0xC0000005, 0xFFFFFFFF])
def test_it_ends_with_the_programs_exit_code_and_says_so(log: Log, code: int) -> None:
    assert log.run(f"import ctypes; ctypes.windll.kernel32.ExitProcess({code})").code == code
    started, ended = log.said()
    assert re.fullmatch(re.escape(PYTHON) + r" started as process \d+", started)
    assert ended == f"{PYTHON} ended with exit code {code}"


def test_the_program_reads_nothing_and_has_no_console(log: Log) -> None:
    program = (
        "import ctypes, sys; print(sys.stdin.read() == '', ctypes.windll.kernel32.GetConsoleCP(),"
        "file=sys.stderr)"
    )
    log.run(program)
    assert log.output() == b"True 0\r\n"
    assert not log.node.processes("conhost.exe")


def test_its_last_words_are_in_the_log(log: Log) -> None:
    """As much as the pipe can hold, written by a program that is gone the moment after."""
    program = "import os; os.write(2, b'x' * 65_000 + b'\\n'); os.write(1, b'the end\\n'); os._exit(3)"
    for each in range(1, 11):
        assert log.run(program).code == 3
        assert log.output() == (b"x" * 65_000 + b"\nthe end\n") * each


def test_a_program_that_is_not_there(log: Log) -> None:
    result = log.node.run_line(log.line(command=r"C:\k\nothing.exe --flag"))
    assert result.code == 2
    assert log.said() == [r"C:\k\nothing.exe cannot be started: error 2"]


NO_OPTION = "not an option (and the program to run stands behind --):"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("", "there is no program to run: it stands behind --"),
        (rf"--log-file=C:\a.log {KUBELET}", f"{NO_OPTION} {KUBELET}"),
        (r"--log-file=C:\a.log -- kubelet.exe", "not the whole path of a program: kubelet.exe"),
        (r"--log-file=C:\a.log -- \k\kubelet.exe", r"not the whole path of a program: \k\kubelet.exe"),
        (rf"--log-file=a.log -- {KUBELET}", "not the whole path of a log file (--log-file=): a.log"),
        (rf"-- {KUBELET}", "not the whole path of a log file (--log-file=): "),
        (rf"--log-file-size=1T -- {KUBELET}", "not a quantity that this option takes: --log-file-size=1T"),
        (rf"--log-file-size=0 -- {KUBELET}", "not a quantity that this option takes: --log-file-size=0"),
        (rf"--log-file-size= -- {KUBELET}", "not a quantity that this option takes: --log-file-size="),
        (rf"--log-file-age=7 -- {KUBELET}", "not a quantity that this option takes: --log-file-age=7"),
        (rf"--log-file-count=5h -- {KUBELET}", "not a quantity that this option takes: --log-file-count=5h"),
        (rf"--keep=5 -- {KUBELET}", f"{NO_OPTION} --keep=5"),
    ],
)  # fmt: skip
def test_a_command_line_that_says_nothing_sensible(machine: Node, arguments: str, error: str) -> None:
    result = machine.run_line(f"{RUNNER} {arguments}")
    assert (result.code, result.err) == (2, f"wmcb-log: {error}\n")


def test_options_and_paths_with_blanks(machine: Node) -> None:
    log = Log(machine)
    path = rf"{log.folder}\my logs\kubelet.log"
    machine.path(rf"{log.folder}\my logs").mkdir()
    quoted = commandline.join([RUNNER, *log_runner.arguments(PureWindowsPath(path))])
    command = commandline.join([PYTHON, "-c", "print('here')"])
    assert machine.run_line(f"{quoted} {command}").code == 0
    assert b"here\r\n" in machine.path(path).read_bytes()


def test_a_program_whose_path_has_blanks(machine: Node) -> None:
    log = Log(machine)
    path = r"C:\Program Files\my k\kubelet.exe"
    kubelet = StandinKubelet(machine, path)
    kubelet.behave(exit_at_once=5)
    assert machine.run_line(log.line(command=rf'"{path}" --node-ip "a b"')).code == 5
    assert kubelet.starts[0]["arguments"] == [path, "--node-ip", "a b"]
    assert machine.run_line(log.line(command=f"{path} --node-ip")).code == 2, r"it is no C:\Program"


# Files


LINES = (
    "import os, random;"
    "lines = [b'%d ' % i + b'x' * random.Random(i).randrange(300) + b'\\n' for i in range(2000)];"
)
ALL_LINES = {
    "one write": "os.write(1, b''.join(lines))",
    "a write each": "[os.write(1, line) for line in lines]",
}
LONGEST_LINE = 400
ODD_PIECES = "all = b''.join(lines); [os.write(1, all[i : i + 777]) for i in range(0, len(all), 777)]"


@pytest.mark.parametrize("writing", [*ALL_LINES.values(), ODD_PIECES], ids=[*ALL_LINES, "lines in pieces"])
def test_full_files_are_left_at_the_end_of_a_line(log: Log, writing: str) -> None:
    size = 10_000
    # A line that comes in pieces, as out of a full pipe, is finished in the file that it began in.
    most = size + LONGEST_LINE
    log.run(LINES + writing, f"--log-file-size={size}", "--log-file-count=999")
    files = log.left()
    assert len(files) > 20
    for file in files:
        content = file.read_bytes()
        assert content.endswith(b"\n"), "no line is divided"
        assert size - LONGEST_LINE < len(content) <= most
    numbers = [int(line.split()[0]) for line in log.output().splitlines()]
    assert numbers == list(range(2000)), "nothing is lost, and the names' order is the lines'"


def test_they_are_named_as_kube_log_runner_names_them(log: Log) -> None:
    before = time.strftime("%Y%m%d-%H%M%S")
    log.run("print('x' * 1000)\nprint('y' * 1000)", "--log-file-size=1K")
    names = [file.name for file in log.left()]
    assert all(re.fullmatch(r"kubelet-\d{8}-\d{6}\.log", name) for name in names)
    assert names[0] >= f"kubelet-{before}.log", "in local time"


def test_only_so_many_are_kept_and_nothing_else_is_touched(log: Log) -> None:
    others = [
        "kubelet-notes.log",
        "kubelet-20260101-000000.txt",
        "kubelet-20261301-000000.log",
        "kubelet-20260101-0000.log",
        "kubelet-20260101-000000.log.gz",
        "kubeletx-20260101-000000.log",
        "containerd-20260101-000000.log",
    ]
    for name in others:
        (log.place / name).write_text("mine\n")
    (log.place / "kubelet-20260101-000000.log").write_text("old, and one too many\n")
    log.run(LINES + ODD_PIECES, "--log-file-size=10Ki", "--log-file-count=3")
    assert {file.name for file in log.place.iterdir() if file.name in others} == set(others)
    left = [file for file in log.left() if file.name not in others]
    assert len(left) == 3
    numbers = [int(line.split()[0]) for line in log.output().splitlines() if line[:1].isdigit()]
    assert numbers == list(range(numbers[0], 2000)), "the newest are kept"


def _left_days_ago(log: Log, days: int) -> Path:
    at = datetime.now() - timedelta(days=days)  # in local time, as the kubelet's lines are
    file = log.place / at.strftime("kubelet-%Y%m%d-%H%M%S.log")
    file.write_text(f"left {days} days ago\n")
    return file


def test_what_was_left_too_long_ago_is_removed(log: Log) -> None:
    old, new = _left_days_ago(log, 8), _left_days_ago(log, 6)
    log.run("", "--log-file-age=168h")
    assert (old.exists(), new.exists()) == (False, True)


def test_the_last_words_of_a_machine_that_stood_still_are_left_to_be_read(log: Log) -> None:
    current = log.place / "kubelet.log"
    current.write_text("why it failed\n")
    subprocess.run(["touch", "-d", "30 days ago", str(current)], check=True)
    log.run("", "--log-file-age=168h")
    (left,) = log.left()
    assert left.read_text() == "why it failed\n"
    assert b"why" not in current.read_bytes()


def test_a_line_that_was_cut_off_by_a_crash_is_ended(log: Log) -> None:
    (log.place / "kubelet.log").write_bytes(b"half a li")
    log.run("print('next')")
    assert log.everything().startswith(b"half a li\n")
    assert log.output() == b"half a li\nnext\r\n"


def test_a_line_without_end_and_bytes_of_any_kind(log: Log) -> None:
    """A line is divided only where a file would grow without bounds."""
    program = (
        "import os, random; r = random.Random(1)\n"
        "data = bytes(range(256)).replace(b'\\n', b'') * 4000\n"
        "for _ in range(5): os.write(1, data)\n"
        "os.write(1, b'\\n')"
    )
    log.run(program, "--log-file-size=10K", "--log-file-count=99")
    expected = bytes(range(256)).replace(b"\n", b"") * 4000 * 5 + b"\n"
    assert log.output() == expected
    assert all(file.stat().st_size < 1.3 * MEGABYTE for file in log.left())


# Others at the same file


HOLDING = """
import pathlib, time
with open({path!r}, "rb") as held:
    pathlib.Path({folder!r}, "held").touch()
    while not pathlib.Path({folder!r}, "let go").exists():
        time.sleep(0.01)
"""

# A flush of a pipe waits until all in it was read; after the second one, what was read first is written.
WITH_A_PAUSE = """
import os, pathlib, time
folder = pathlib.Path({folder!r})
def lines(first, last):
    for i in range(first, last):
        os.write(1, b"%06d\\n" % i)
    os.fsync(1)
lines(0, 1999)
lines(1999, 2000)
(folder / "first half").touch()
while not (folder / "second half").exists():
    time.sleep(0.01)
lines(2000, 4000)
"""


# The runner looks for its file two seconds after something was said, and not again until something is.
WITHOUT_A_PAUSE = WITH_A_PAUSE.replace(
    "    time.sleep(0.01)\n", "    time.sleep(0.1)\n    os.write(1, b'on\\n')\n"
)


def _lines(first: int, last: int) -> bytes:
    return b"".join(b"%06d\n" % i for i in range(first, last))


def _let_pass(seconds: float) -> None:
    """Where it is time itself that makes a difference."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end, "time passes", 2 * seconds)


def test_a_log_that_grows_old_while_it_is_written_is_left(log: Log) -> None:
    running = log.start(WITH_A_PAUSE.format(folder=log.folder), "--log-file-age=1s")
    until(lambda: b"001999\n" in log.everything(), "half of it is in the log")
    _let_pass(1.1)
    (log.place / "second half").touch()
    assert running.wait().code == 0
    assert log.left() != []
    for file in (*log.left(), log.node.path(log.path)):
        numbers = re.findall(rb"^\d{6}$", file.read_bytes(), re.MULTILINE)
        assert len({int(number) < 2000 for number in numbers}) <= 1, "no file has lines of both halves"


def test_a_reader_that_lets_nobody_rename_only_delays(log: Log) -> None:
    """Get-Content -Wait is such a reader."""
    (log.place / "kubelet.log").write_bytes(b"")
    reader = log.node.start(PYTHON, "-c", HOLDING.format(path=log.path, folder=log.folder))
    until((log.place / "held").exists, "the reader has it open")
    running = log.start(WITH_A_PAUSE.format(folder=log.folder), "--log-file-size=5K", "--log-file-count=99")
    until((log.place / "first half").exists, "half of it is written")
    until(lambda: _lines(0, 2000) in log.everything(), "and in the log")
    assert log.left() == []
    (log.place / "let go").touch()
    assert reader.wait().code == 0
    _let_pass(1.1)  # after a failure it is not tried again at once
    (log.place / "second half").touch()
    assert running.wait().code == 0
    assert log.left() != []
    assert log.output() == _lines(0, 4000)


def test_others_can_read_what_was_just_written(log: Log) -> None:
    running = log.start(WITH_A_PAUSE.format(folder=log.folder))
    until((log.place / "first half").exists, "half of it is written")
    reading = f"import sys; sys.stdout.buffer.write(open({log.path!r}, 'rb').read())"
    until(lambda: _lines(0, 2000) in log.node.python("-c", reading).stdout, "another program reads it")
    (log.place / "second half").touch()
    assert running.wait().code == 0


def test_two_runners_at_one_log_lose_nothing(log: Log) -> None:
    """For some moments after a service was restarted there are two.

    Here in turns: Wine has them overwrite each other's lines where both append in the same moment.
    """
    options = ("--log-file-size=5K", "--log-file-count=99")
    first = log.start(WITH_A_PAUSE.format(folder=log.folder), *options)
    until((log.place / "first half").exists, "one of them waits")
    until(lambda: _lines(0, 2000) in log.output(), "what it said is in the log")
    log.run("import os; [os.write(1, b'second %06d\\n' % i) for i in range(2000)]", *options)
    (log.place / "second half").touch()
    assert first.wait().code == 0
    lines = log.output().splitlines(keepends=True)
    assert b"".join(line for line in lines if not line.startswith(b"second")) == _lines(0, 4000)
    of_second = [line for line in lines if line.startswith(b"second")]
    assert of_second == [b"second %06d\n" % i for i in range(2000)]


@contextmanager
def _small_disk(log: Log) -> Iterator[None]:
    """With 4 KB left for the log, until the file `filler` is removed."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(log.place)], check=True)
    try:
        (log.place / "filler").write_bytes(b"x" * 60_000)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(log.place)], check=True)


def test_a_full_disk_is_waited_out_and_what_is_missing_is_said(log: Log) -> None:
    with _small_disk(log):
        running = log.start(WITH_A_PAUSE.format(folder=log.folder))
        until((log.place / "first half").exists, "nobody waits for the disk")
        (log.place / "filler").unlink()
        _let_pass(1.1)
        (log.place / "second half").touch()
        assert running.wait().code == 0
        (told,) = (line for line in log.said() if "missing" in line)
        missing = re.fullmatch(
            r"(\d+) bytes of output are missing here: they could not be written \(error (\d+)\)", told
        )
        assert missing is not None
        assert int(missing[2]) == DISK_FULL
        whole = [line for line in log.output().splitlines(keepends=True) if re.fullmatch(rb"\d{6}\n", line)]
        assert whole[-2000:] == _lines(2000, 4000).splitlines(keepends=True)
        torn = len(log.output()) - sum(map(len, whole))
        assert torn <= 7, "at most one line is cut off, where the disk became full"
        assert int(missing[1]) in range(14_000 - 7 * (len(whole) - 2000) - 7, 14_000)


def test_of_a_line_whose_beginning_is_missing_the_rest_is_left_out(log: Log) -> None:
    program = (
        "import os, pathlib, time\n"
        f"folder = pathlib.Path({log.folder!r})\n"
        "[os.write(1, b'x' * 99 + b'\\n') for _ in range(100)]\n"
        "os.fsync(1)\n"
        "os.write(1, b'the begin')\n"
        "os.fsync(1)\n"
        "os.write(1, b'ning')\n"
        "os.fsync(1)\n"
        "(folder / 'first half').touch()\n"
        "while not (folder / 'second half').exists(): time.sleep(0.01)\n"
        "os.write(1, b' and the rest\\nanother line\\n')\n"
    )
    with _small_disk(log):
        running = log.start(program)
        until((log.place / "first half").exists, "the beginning was said")
        (log.place / "filler").unlink()
        _let_pass(1.1)
        (log.place / "second half").touch()
        assert running.wait().code == 0
        assert log.output().endswith(b"\nanother line\n")
        assert b"rest" not in log.everything()


def test_a_deleted_log_folder_is_made_again(machine: Node) -> None:
    machine.reboot(traced=True)
    log = Log(machine)
    running = log.start(WITHOUT_A_PAUSE.format(folder=r"C:\var"))
    until(lambda: _lines(0, 2000) in log.output(), "half of it is in the log")
    shutil.rmtree(log.place)
    current = machine.c / "var" / "log" / log.place.name / "kubelet.log"
    until(current.exists, "there is a log again", 90)  # the machine is traced, and slow
    (machine.c / "var" / "second half").touch()
    assert running.wait().code == 0
    (machine.c / "var" / "first half").unlink()
    (machine.c / "var" / "second half").unlink()
    assert log.said()[0] == "the log was deleted, and begins anew here"
    assert log.output().endswith(_lines(2000, 4000))
    assert set(log.output().removesuffix(_lines(2000, 4000)).splitlines()) <= {b"on"}
    assert machine.mode(log.folder) == machine.mode(log.path) == FOR_NOBODY_ELSE
    given = {each.path.lower(): each for each in machine.descriptors() if each.path.startswith(log.folder)}
    assert given[log.path.lower()].contents == read_by_samba(str(protection.PRIVATE_FILE))
    assert given[log.folder.lower()].contents == read_by_samba(str(protection.PRIVATE_DIRECTORY))
    assert all(each.born for each in given.values())
    machine.reboot()


def test_each_file_is_born_private(machine: Node) -> None:
    machine.reboot(traced=True)
    log = Log(machine)
    log.run("import os; [os.write(1, b'x' * 99 + b'\\n') for _ in range(50)]", "--log-file-size=1K")
    given = [each for each in machine.descriptors() if each.path.lower() == log.path.lower()]
    assert len(given) >= 5
    for each in given:
        assert each.born
        assert each.contents == read_by_samba(str(protection.PRIVATE_FILE))
    assert {file.stat().st_mode & 0o777 for file in log.place.iterdir()} == {FOR_NOBODY_ELSE}
    machine.reboot()


def test_what_was_written_is_on_the_disk_some_seconds_later(log: Log) -> None:
    program = (
        "import pathlib, time; print('x', flush=True)\n"
        f"while not pathlib.Path({log.folder!r}, 'seen').exists(): time.sleep(0.01)\n"
    )
    running = log.start(program, traced=True)
    until(lambda: "FlushFileBuffers" in {call.function for call in running.calls}, "it is flushed")
    (log.place / "seen").touch()
    assert running.wait().code == 0


# Processes


def test_the_program_ends_with_the_runner(log: Log) -> None:
    running = log.start("import time; print('up', flush=True); time.sleep(600)")
    until(lambda: b"up" in log.output(), "the program runs")
    (runner,) = log.node.processes(log_runner.NAME)
    log.node.kill(runner)
    until(lambda: not python(log.node), "its program has ended")
    assert running.wait().code != 0


def test_the_runner_does_not_wait_for_what_the_program_started(log: Log) -> None:
    """They outlive it, as programs do that a service started."""
    program = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('ended')\n"
    )
    result = log.run(program)
    assert result.code == 0
    assert log.output() == b"ended\r\n"
    # The runner ends at once, and Linux may still be burying the program.
    until(lambda: len(python(log.node)) == 1, "the program is gone, and what it started goes on")
    (grandchild,) = python(log.node)
    assert "sleep" in grandchild.command[-1]
    log.node.kill(grandchild)


def test_a_program_that_closes_its_output_goes_on(log: Log) -> None:
    program = "import os, time; os.write(1, b'last\\n'); os.close(1); os.close(2); time.sleep(1); os._exit(7)"
    assert log.run(program).code == 7
    assert log.output() == b"last\n"


def test_a_burst_makes_it_neither_large_nor_lose_anything(log: Log) -> None:
    program = (
        "import os, pathlib, time; line = b'x' * 199 + b'\\n'; block = line * 5000\n"
        "for _ in range(100): os.write(1, block)\n"
        f"pathlib.Path({log.folder!r}, 'written').touch()\n"
        f"while not pathlib.Path({log.folder!r}, 'seen').exists(): time.sleep(0.01)\n"
    )
    running = log.start(program, "--log-file-size=10M", "--log-file-count=99")
    until((log.place / "written").exists, "all is written", 180)
    (runner,) = log.node.processes(log_runner.NAME)
    status = dict(line.split(":", 1) for line in Path(f"/proc/{runner.pid}/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) * 1024
    (log.place / "seen").touch()
    assert running.wait().code == 0
    assert len(log.output()) == 100 * MEGABYTE
    assert peak <= 9 * MEGABYTE
    assert runner.threads == 1


# As a service


@pytest.fixture
def service(node: Node) -> Log:
    """The kubelet's stand-in, registered with the runner in front of it, as a kubelet is."""
    node.copy_in(BUILT, RUNNER)
    return Log(node)


def register(log: Log, *, automatic: bool = False, **behaviour: object) -> StandinKubelet:
    kubelet = StandinKubelet(log.node, KUBELET)
    kubelet.behave(says="I1118 kubelet: hello\n", **behaviour)  # type: ignore[arg-type]
    command = log.line(command=rf"{KUBELET} --windows-service --config C:\k\config.yaml")
    log.node.create_service("kubelet", command, automatic=automatic)
    return kubelet


def start(log: Log) -> None:
    log.node.start_service("kubelet")
    log.node.wait_for_service("kubelet", State.RUNNING)


def gone(node: Node) -> None:
    until(lambda: not node.processes(log_runner.NAME), "the runner has ended")
    until(lambda: not node.processes("kubelet.exe"), "the program has ended")


def test_a_service_speaks_to_the_scm_through_it(service: Log) -> None:
    node = service.node
    kubelet = register(service)
    start(service)
    assert kubelet.healthy()
    assert kubelet.starts[0]["arguments"] == [KUBELET, "--windows-service", "--config", r"C:\k\config.yaml"]
    running = node.service("kubelet")
    assert running is not None
    stop, shutdown = 0x1, 0x4
    assert running.accepts == stop | shutdown, "what the program accepts, and not the runner"
    node.stop_service("kubelet")
    stopped = node.wait_for_service("kubelet", State.STOPPED)
    assert (stopped.exit_code, stopped.specific_exit_code) == (0, 0)
    gone(node)
    assert service.output() == b"I1118 kubelet: hello\n"
    assert service.said()[-1] == rf"{KUBELET} ended with exit code 0"


def test_the_services_states_are_the_programs(service: Log) -> None:
    node = service.node
    register(service, start_until=r"C:\up", stop_until=r"C:\down", wait_hint_milliseconds=2500)
    node.start_service("kubelet")
    assert node.wait_for_service("kubelet", State.START_PENDING).wait_hint == 2500
    node.path(r"C:\up").touch()
    node.wait_for_service("kubelet", State.RUNNING)
    node.stop_service("kubelet")
    assert node.wait_for_service("kubelet", State.STOP_PENDING).wait_hint == 2500
    node.path(r"C:\down").touch()
    node.wait_for_service("kubelet", State.STOPPED)
    gone(node)


def test_a_service_that_stops_with_an_error_of_its_own(service: Log) -> None:
    register(service, stop_code=42)
    start(service)
    service.node.stop_service("kubelet")
    stopped = service.node.wait_for_service("kubelet", State.STOPPED)
    assert stopped.exit_code == 42
    gone(service.node)


def test_a_crash_is_the_services_end_and_stands_in_the_log(service: Log) -> None:
    kubelet = register(service)
    start(service)
    kubelet.crash(255)
    service.node.wait_for_service("kubelet", State.STOPPED)
    gone(service.node)
    assert service.said()[-1] == rf"{KUBELET} ended with exit code 255"
    start(service)
    assert kubelet.healthy()


@pytest.mark.parametrize("killed", [log_runner.NAME, "kubelet.exe"])
def test_killed_either_takes_the_other_along(service: Log, killed: str) -> None:
    register(service)
    start(service)
    (process,) = service.node.processes(killed)
    service.node.kill(process)
    service.node.wait_for_service("kubelet", State.STOPPED)
    gone(service.node)


def test_a_service_that_ends_before_it_speaks_says_why(service: Log) -> None:
    node = service.node
    register(service, exit_at_once=78)
    with pytest.raises(AssertionError):
        node.start_service("kubelet")
    until(lambda: service.said()[-1:] == [rf"{KUBELET} ended with exit code 78"], "it is in the log")
    assert service.output() == b"I1118 kubelet: hello\n"
    gone(node)


def test_a_service_that_vanishes_while_it_stops(service: Log) -> None:
    """As the real kubelet does."""
    register(service, vanish_on_stop=True)
    start(service)
    service.node.stop_service("kubelet")
    gone(service.node)


def test_a_service_is_there_again_after_a_reboot(service: Log) -> None:
    kubelet = register(service, automatic=True)
    service.node.reboot()
    service.node.wait_for_service("kubelet", State.RUNNING)
    assert kubelet.healthy()


# In the place of a program that is no service


PLAIN = """
import pathlib, time
print('up', flush=True)
while not pathlib.Path({end!r}).exists():
    time.sleep(0.01)
"""
END = r"C:\end"
"""When this file is there, the program has no more to do."""


def register_plain(log: Log) -> None:
    command = commandline.join([PYTHON, "-c", PLAIN.format(end=END)])
    log.node.create_service("kubelet", log.line("--as-service", command=command), automatic=False)


def test_it_is_the_service_of_a_program_that_is_none(service: Log) -> None:
    node = service.node
    register_plain(service)
    start(service)
    running = node.service("kubelet")
    stop = 0x1
    assert running is not None
    assert running.accepts == stop
    until(lambda: service.output() == b"up\r\n", "the program runs, and its log is written")
    node.stop_service("kubelet")
    stopped = node.wait_for_service("kubelet", State.STOPPED)
    assert (stopped.exit_code, stopped.specific_exit_code) == (0, 0)
    until(lambda: not python(node), "the program has ended")
    until(lambda: not node.processes(log_runner.NAME), "so has the runner")
    assert sum("started as process" in line for line in service.said()) == 1, "not once more at its end"


def test_a_program_that_ends_by_itself_is_a_service_that_failed(service: Log) -> None:
    """Without a word, which is what Windows restarts a service for."""
    register_plain(service)
    start(service)
    service.node.path(END).touch()
    service.node.wait_for_service("kubelet", State.STOPPED)
    assert service.said()[-1] == f"{PYTHON} ended with exit code 0"


# The exe


def test_it_is_small_and_needs_kernel32_alone() -> None:
    parsed = pefile.PE(BUILT)
    assert [entry.dll.decode().lower() for entry in parsed.DIRECTORY_ENTRY_IMPORT] == ["kernel32.dll"]
    system32_alone = 0x800
    assert parsed.DIRECTORY_ENTRY_LOAD_CONFIG.struct.DependentLoadFlags == system32_alone
    for flag in ("DYNAMIC_BASE", "HIGH_ENTROPY_VA", "NX_COMPAT"):
        assert getattr(parsed.OPTIONAL_HEADER, f"IMAGE_DLLCHARACTERISTICS_{flag}"), flag
    assert BUILT.stat().st_size < 32_000


def test_the_exe_carries_it() -> None:
    assert (PROGRAM.parent / INTERNAL / log_runner.NAME).read_bytes() == BUILT.read_bytes()
