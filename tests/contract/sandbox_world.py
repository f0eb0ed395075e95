"""The sandbox as a world: what somebody else does on the machine is done by the operating system's means."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PureWindowsPath

from agent.host.port import EventLevel, Principal
from agent.host.protection import PRIVATE_DIRECTORY, SIDS
from agent.host.sandbox.machine import Machine
from agent.host.sandbox.places import Drive, name_key
from agent.host.sandbox.programs import Programs
from agent.host.sandbox.registry import LOG
from agent.host.sandbox.service_document import ServiceDocument
from agent.host.sandbox.state import FOLDER_NAME, State
from agent.host.sddl import SecurityDescriptor
from agent.host.services import Control
from contract.world import Sharing

REPOSITORY = pathlib.Path(__file__).parents[2]
_LOCKS = {Sharing.NOTHING: fcntl.LOCK_EX, Sharing.READING: fcntl.LOCK_SH}


class SandboxWorld:
    under_wine = False
    folder = PureWindowsPath("C:\\contract")

    def __init__(self, directory: pathlib.Path) -> None:
        self.machine = Machine(directory, run_services=True)
        self.host = self.machine.host
        self._directory = directory
        self._drive = Drive(directory)
        self.host.files.make_directory(self.folder, PRIVATE_DIRECTORY)

    def granted(self, descriptor: SecurityDescriptor, principal: Principal) -> int:
        return descriptor.granted(SIDS[principal])

    def outside(self, path: PureWindowsPath) -> pathlib.Path:
        return pathlib.Path(self._drive.locate("find", path).file)

    @contextmanager
    def hold_open(self, path: PureWindowsPath, sharing: Sharing) -> Iterator[None]:
        descriptor = os.open(self.outside(path), os.O_RDONLY)
        try:
            fcntl.flock(descriptor, _LOCKS[sharing])
            yield
        finally:
            os.close(descriptor)

    def leave_lock(self, name: str) -> None:
        (self._directory / FOLDER_NAME / "locks" / f"exclusive-{name}").touch()

    @contextmanager
    def run_from(self, path: PureWindowsPath) -> Iterator[int]:
        shutil.copyfile("/bin/sleep", self.outside(path))
        self.outside(path).chmod(0o755)
        with subprocess.Popen([self.outside(path), "600"]) as program:
            try:
                yield program.pid
            finally:
                program.kill()

    def plant_file(self, path: PureWindowsPath, content: bytes = b"", *, read_only: bool = False) -> None:
        self.outside(path).write_bytes(content)
        if read_only:
            self.outside(path).chmod(0o444)

    def plant_folder(self, path: PureWindowsPath, *, read_only: bool = False) -> None:
        self.outside(path).mkdir(0o555 if read_only else 0o777)

    def plant_link(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        self.outside(path).symlink_to(self.outside(target))

    plant_junction = plant_link

    @contextmanager
    def serve_pipe(self, name: str) -> Iterator[None]:
        facts = self._directory / FOLDER_NAME / "facts.json"
        facts.write_text(json.dumps({"pipes": [name]}))
        yield
        facts.unlink()

    @contextmanager
    def connect_to_pipe(self, name: str) -> Iterator[None]:
        assert self.host.facts.pipe_exists(name)
        yield

    def events(self, source: str) -> Sequence[tuple[EventLevel, int, str]]:
        lines = (self._directory / FOLDER_NAME / LOG).read_text(encoding="utf-8").splitlines()
        found = [line for line in map(json.loads, lines) if line["source"] == source]
        return [(EventLevel[line["level"]], line["id"], line["text"]) for line in found]

    def other_process(self, code: str) -> tuple[str, ...]:
        opening = (
            f"import pathlib, sys; sys.path.insert(0, {os.fspath(REPOSITORY)!r})\n"
            "from agent.host.sandbox import open_sandbox\n"
            f"host = open_sandbox(pathlib.Path({os.fspath(self._directory)!r}), run_services=True)\n"
        )
        return (sys.executable, "-c", opening + code)

    def service_command(self, *behaviour: str) -> tuple[str, ...]:
        program = pathlib.Path(__file__).with_name("service_program.py")
        return (sys.executable, os.fspath(program), *behaviour)

    def ask(self, service: str, control: Control) -> None:
        state = State(self._directory)
        with ServiceDocument(state, Programs(state)).changing() as document:
            document[name_key(service)]["run"]["controls"].append(control.value)


@contextmanager
def open_world(directory: pathlib.Path) -> Iterator[SandboxWorld]:
    world = SandboxWorld(directory)
    try:
        yield world
    finally:
        world.machine.shut_down()
