"""What the tests give to the command line: a machine in a folder, programs and documents."""

from __future__ import annotations

import json
import shlex
import struct
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

import pytest

from agent.cli import main
from agent.host.port import Host
from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.sandbox import open_sandbox
from agent.host.services import ServiceDefinition
from sandbox.engine.world import picture

DATA = Path(__file__).parents[2] / "data" / "ignition"
WORKER = DATA / "worker-3.4.ign"
CONTAINERD = ServiceDefinition("containerd", (r"C:\Program Files\containerd\containerd.exe",))


def program(machine: int = 0x8664, tail: bytes = b"") -> bytes:
    """As much of a Windows program as anybody here looks at."""
    head = bytearray(256)
    head[:2] = b"MZ"
    struct.pack_into("<I", head, 0x3C, 0x80)
    head[0x80:0x84] = b"PE\0\0"
    struct.pack_into("<H", head, 0x84, machine)
    return bytes(head) + tail


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def error_lines(self) -> list[str]:
        return self.err.splitlines()


@dataclass
class Machine:
    """A Windows machine in a folder of its own, and the command line that is used on it."""

    folder: Path
    """Holds the machine's folder and what is given to wmcb."""
    output: pytest.CaptureFixture[str]

    @property
    def place(self) -> Path:
        return self.folder / "machine"

    @property
    def called(self) -> str:
        """What a command about it begins with, as people are told it."""
        return shlex.join(["wmcb", "--sandbox", str(self.place)])

    @property
    def host(self) -> Host:
        return open_sandbox(self.place)

    def facts(self, **facts: Any) -> dict[str, Any]:
        """Sets some, and returns what was set before."""
        document = self.place / ".sandbox" / "facts.json"
        known: dict[str, Any] = json.loads(document.read_bytes()) if document.exists() else {}
        document.write_text(json.dumps(known | facts))
        return {"administrator": True} | known

    def give(self, name: str, content: bytes | str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    @property
    def kubelet(self) -> str:
        path = self.folder / "given" / "kubelet.exe"
        return str(path) if path.exists() else self.give("given/kubelet.exe", program())

    @property
    def node(self) -> tuple[str, ...]:
        """The options that make a node."""
        return ("--ignition", str(WORKER), "--kubelet", self.kubelet, "--kubelet-version", "1.31")

    def wmcb(self, *words: str) -> Answer:
        self.output.readouterr()
        code = main.run(["--sandbox", str(self.place), *words])
        return Answer(code, *self.output.readouterr())

    def put(self, path: str, content: bytes) -> None:
        """A file on the machine, with the folders above it."""
        files = self.host.files
        place = PureWindowsPath(path)
        for folder in reversed(place.parents[:-1]):
            if files.observe(folder) is None:
                files.make_directory(folder, PROGRAM_DIRECTORY)
        files.write(place, content, PROGRAM_FILE)

    def picture(self) -> dict[str, object]:
        """Of all that the machine holds, as an administrator sees it."""
        told = self.facts(administrator=True)
        seen = picture(self.host)
        self.facts(**told)
        return seen

    def read(self, path: str) -> bytes:
        return self.host.files.read(PureWindowsPath(path))
