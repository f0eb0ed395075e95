"""The log of what wmcb does on a machine: it grows to its limit, and no further."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli.run_log import RunLog
from agent.engine.state_folder import StateFolder
from agent.host.errors import InUse
from agent.host.sandbox.files import SandboxFiles

if TYPE_CHECKING:
    from pathlib import PureWindowsPath

    import pytest

    from sandbox.cli.given import Machine


def test_it_is_rotated_and_three_former_ones_are_kept(machine: Machine) -> None:
    folder = StateFolder.of(machine.host).path / "logs"
    for number in range(60):
        RunLog(machine.host, largest=200).write(f"line {number:02}: {'x' * 30}")
    names = machine.host.files.list(folder)
    assert names == ["wmcb.1.log", "wmcb.2.log", "wmcb.3.log", "wmcb.log"]
    contents = [machine.host.files.read(folder / name).decode().splitlines() for name in names]
    assert all(sum(map(len, lines)) < 200 + 60 for lines in contents)
    third, second, first, last = contents[2], contents[1], contents[0], contents[3]
    told = [line.split(" ")[2] for line in (*third, *second, *first, *last)]
    assert told == [f"{number:02}:" for number in range(60 - len(told), 60)], "the latest, in their order"


def test_where_somebody_has_it_open_it_grows_and_no_line_is_lost(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: SandboxFiles, path: PureWindowsPath, target: PureWindowsPath) -> None:  # noqa: ARG001
        raise InUse("move", str(path), 32)

    monkeypatch.setattr(SandboxFiles, "move", refuse)
    folder = StateFolder.of(machine.host).path / "logs"
    for number in range(9):
        RunLog(machine.host, largest=200).write(f"line {number}: {'x' * 30}")
    assert machine.host.files.list(folder) == ["wmcb.log"]
    lines = machine.host.files.read(folder / "wmcb.log").decode().splitlines()
    assert [line.split(" ")[2] for line in lines] == [f"{number}:" for number in range(9)]
