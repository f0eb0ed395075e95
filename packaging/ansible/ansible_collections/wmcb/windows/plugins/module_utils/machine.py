"""A Windows machine, by the connection that Ansible has to it: programs are run there, files brought."""

from __future__ import annotations

import ntpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.wmcb.windows.plugins.module_utils.shells import of_family

STAGING = ".wmcb"
"""Where things are brought to, in the folder of whoever logs in: others can neither read nor add to it."""


class Unfit(Exception):
    """The machine did not do as it was told. The text says what."""


class Transport(Protocol):
    """What Ansible's connections have."""

    def put_file(self, in_path: str, out_path: str) -> object: ...
    def fetch_file(self, in_path: str, out_path: str) -> object: ...
    def reset(self) -> None: ...


class Execute(Protocol):
    """ActionBase._low_level_execute_command."""

    def __call__(self, command: str, *, sudoable: bool) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Ended:
    """SSH hands on the last eight bits of an exit code only: decide by what a program has written."""

    code: int
    out: str
    err: str


class Machine:
    def __init__(self, transport: Transport, execute: Execute, shell_family: str) -> None:
        self._transport = transport
        self._execute = execute
        self._shell = of_family(shell_family)
        self._staging = ""

    @property
    def staging(self) -> str:
        if not self._staging:
            home = self._must(self._shell.print_home(), "tell the folder of whoever has logged in").strip()
            if not ntpath.splitdrive(home)[0]:
                raise Unfit(f"the folder of whoever has logged in cannot be told: {home!r}")
            self._staging = ntpath.join(home, STAGING)
        return self._staging

    def connect_anew(self) -> None:
        self._transport.reset()

    def answers(self) -> bool:
        return not self._line(self._shell.print_home()).code

    def run(self, program: str, arguments: Sequence[str]) -> Ended:
        return self._line(self._shell.run(program, arguments))

    def size(self, path: str) -> int | None:
        told = self._must(self._shell.print_size(path), f"look for {path}").strip()
        return int(told) if told else None

    def put(self, local: Path, path: str) -> None:
        """Whole or not at all: whoever finds it finds all of it."""
        unfinished = f"{path}.part"
        self._must(self._shell.make_folder(ntpath.dirname(path)), f"make {ntpath.dirname(path)}")
        self._transport.put_file(str(local), unfinished)
        size = local.stat().st_size
        if self.size(unfinished) != size:
            raise Unfit(f"{path} has come with {self.size(unfinished)} bytes instead of {size}")
        self._must(self._shell.move(unfinished, path), f"write {path}")

    def fetch(self, path: str, local: Path) -> None:
        self._transport.fetch_file(path, str(local))

    def remove(self, path: str) -> None:
        self._must(self._shell.remove(path), f"remove {path}")

    def keep_alone(self, folder: str, name: str) -> None:
        self._must(self._shell.keep_alone(folder, name), f"tidy {folder}")

    def _must(self, line: str, what: str) -> str:
        ended = self._line(line)
        if ended.code:
            told = (ended.err or ended.out).strip()
            raise Unfit(f"the machine cannot {what}: {told or f'exit code {ended.code}'}")
        return ended.out

    def _line(self, line: str) -> Ended:
        ended = self._execute(line, sudoable=False)
        return Ended(ended["rc"], ended["stdout"], ended["stderr"])
