"""Programs that the sandbox's service control manager starts: they outlive the process that asked for it.

A small shell waits for each, since only a parent learns an exit code, and leaves the code in a file.
"""

import os
import pathlib
import shlex
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

import psutil

from agent.host.sandbox.failure import telling
from agent.host.sandbox.state import Document, State

SERVICES = "services.json"

_TAIL = 4096
_LONGEST_LINE = 300
_BIRTH_TOLERANCE_SECONDS = 1.0
_UNKNOWN_EXIT_CODE = 1

# The program's output goes where the sandbox can be asked for it; the shell's own says both process ids.
_KEEPER = """
exit_file=$1 output=$2; shift 2
(
    "$@" </dev/null >>"$output" 2>&1 &
    echo "$!"
    exec >/dev/null 2>&1
    wait "$!"
    echo "$?" >"$exit_file"
) &
echo "keeper $!"
"""

_OF_OURS = b"#!/bin/sh\n# A service of wmcb, which tells its states itself.\n"

_MAGIC = {"linux": (b"#!", b"\x7fELF"), "darwin": (b"#!", b"\xcf\xfa\xed\xfe"), "win32": (b"MZ",)}


def can_run(file: str) -> bool:
    """Whether this system can run the program: a Linux runs no kubelet.exe."""
    with telling("run", file), pathlib.Path(file).open("rb") as program:
        return program.read(4).startswith(_MAGIC.get(sys.platform, (b"#!",)))


def script_of_ours(command: Sequence[str]) -> bytes:
    """A program that stands for wmcb.exe: a script that starts this command, with what arguments it gets."""
    return _OF_OURS + f'exec {shlex.join(command)} "$@"\n'.encode()


def is_ours(file: str) -> bool:
    """Whether the program will call `serve`; any other is taken for one that knows nothing of services."""
    if pathlib.Path(file).samefile(sys.executable):
        return True
    with telling("run", file), pathlib.Path(file).open("rb") as program:
        return program.read(len(_OF_OURS)) == _OF_OURS


class Programs:
    """Each is known by a document that can be kept: its process, that one's keeper, where its end is told."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._exits = state.folder / "exits"
        self._exits.mkdir(exist_ok=True)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Document:
        exit_file = self._exits / os.urandom(8).hex()
        output = self._output(name)
        with telling("start", command[0]):
            pid, keeper, group = _start(command, environment, self._state.directory, exit_file, output)
            image = os.stat(command[0])  # noqa: PTH116
        return {
            "pid": pid,
            "keeper": keeper,
            "born": _birth(keeper),
            "group": group,
            "exit_file": exit_file.name,
            "image": [image.st_dev, image.st_ino],
        }

    def exit_code(self, process: Document) -> int | None:
        """None while it runs."""
        keeper_lives = _lives(process)
        with suppress(FileNotFoundError, ValueError):
            return int((self._exits / process["exit_file"]).read_text())
        return None if keeper_lives else _UNKNOWN_EXIT_CODE

    def forget(self, process: Document) -> None:
        (self._exits / process["exit_file"]).unlink(missing_ok=True)

    def last_words(self, name: str) -> str | None:
        """Of a service's program, and where all that it said is; None where it said nothing."""
        output = self._output(name)
        with suppress(FileNotFoundError):
            lines = output.read_bytes()[-_TAIL:].decode(errors="replace").split("\n")
            if said := [line.strip() for line in lines if line.strip()]:
                return f"it said last: {said[-1][-_LONGEST_LINE:]} (all of it is in {output})"
        return None

    def _output(self, name: str) -> pathlib.Path:
        return self._exits / f"{name}.output"

    def running(self) -> Collection[int]:
        return {process["pid"] for process in self._processes()}

    def runs_from(self, image: os.stat_result) -> bool:
        """Whether a service's program is this file."""
        return any(process["image"] == [image.st_dev, image.st_ino] for process in self._processes())

    def end_all(self) -> None:
        """What happens to programs when the machine goes down."""
        for process in self._processes():
            _end(process)

    def _processes(self) -> list[Document]:
        return [process for process in self._known() if self.exit_code(process) is None]

    def _known(self) -> list[Document]:
        services = self._state.read(SERVICES).values()
        return [process for service in services if (process := service["run"].get("process"))]


if sys.platform == "win32":

    def _start(
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: pathlib.Path,
        exit_file: pathlib.Path,  # noqa: ARG001 - here nobody waits for the program
        output: pathlib.Path,
    ) -> tuple[int, int, int]:
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
        with output.open("ab") as log:
            program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=directory, env=environment, creationflags=flags,
            )  # fmt: skip
        return program.pid, program.pid, program.pid

    def _end(process: Document) -> None:
        with suppress(OSError):
            os.kill(process["pid"], signal.SIGTERM)

else:

    def _start(
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: pathlib.Path,
        exit_file: pathlib.Path,
        output: pathlib.Path,
    ) -> tuple[int, int, int]:
        with subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "sh", os.fspath(exit_file), os.fspath(output), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=directory,
            env=environment,
            start_new_session=True,
            text=True,
        ) as shell:
            assert shell.stdout is not None
            words = shell.stdout.read().split()
        place = words.index("keeper")
        keeper = int(words[place + 1])
        (pid,) = (int(word) for word in words[:place] + words[place + 2 :])
        return pid, keeper, shell.pid

    def _end(process: Document) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process["group"], signal.SIGKILL)


def _birth(pid: int) -> float:
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return 0.0


def _lives(process: Document) -> bool:
    try:
        keeper = psutil.Process(process["keeper"])
        # A parent that never asks leaves a dead process in the table.
        return (
            keeper.status() != psutil.STATUS_ZOMBIE
            and abs(keeper.create_time() - process["born"]) < _BIRTH_TOLERANCE_SECONDS
        )
    except psutil.NoSuchProcess:
        return False
