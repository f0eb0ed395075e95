"""wmcb-log.exe on a node, for the tests of it: what it is given to run, and the log that it writes."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import Unpack

from agent import log_runner
from agent.host import commandline
from lab import repository, windows_python
from lab.node import Node
from lab.running import Circumstances, Result, Running

BUILT = repository.ROOT / "build" / log_runner.NAME
RUNNER = rf"C:\k\{log_runner.NAME}"
KUBELET = r"C:\k\kubelet.exe"
PYTHON = windows_python.PROGRAM

OWN_LINE = re.compile(rb"[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ wmcb-log:0\] .*\n")

_places = count(1)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # not begun yet, or called otherwise since it was listed
        return b""


class Log:
    """A log in a folder of its own on a node, and the runner that writes it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.folder = rf"C:\var\log\{next(_places)}"
        self.path = rf"{self.folder}\kubelet.log"
        self.place.mkdir(parents=True)

    @property
    def place(self) -> Path:
        return self.node.path(self.folder)

    def line(self, *options: str, command: str) -> str:
        return " ".join([RUNNER, f"--log-file={self.path}", *options, "--", command])

    def start(self, program: str, *options: str, **circumstances: Unpack[Circumstances]) -> Running:
        """Python running a program, whose output is logged."""
        command = commandline.join([PYTHON, "-c", program])
        return self.node.start_line(self.line(*options, command=command), **circumstances)

    def run(self, program: str, *options: str, **circumstances: Unpack[Circumstances]) -> Result:
        return self.start(program, *options, **circumstances).wait()

    def left(self) -> list[Path]:
        return sorted(self.place.glob("kubelet-*.log"))

    def everything(self) -> bytes:
        """What all files hold, the oldest first. Of one that is being left just now it may miss some."""
        return b"".join(map(_content, [*self.left(), self.node.path(self.path)]))

    def output(self) -> bytes:
        """The same without what the runner says itself."""
        return OWN_LINE.sub(b"", self.everything())

    def said(self) -> list[str]:
        """What the runner said itself."""
        return [line.decode().partition("] ")[2].rstrip("\n") for line in OWN_LINE.findall(self.everything())]
