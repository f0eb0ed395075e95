"""The log of what wmcb does on a machine: it grows to its limit, and no further."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.cli.run_log import RunLog
from agent.engine.state_folder import StateFolder
from agent.host.errors import InUse
from agent.host.sandbox.files import SandboxFiles
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
    def refuse(
        _: SandboxFiles,
        path: PureWindowsPath,
        target: PureWindowsPath,  # noqa: ARG001
        *,
        patience: float,
    ) -> None:
        assert patience == 0, "no run waits for that"
        raise InUse("move", str(path), 32)

    monkeypatch.setattr(SandboxFiles, "move", refuse)
    folder = StateFolder.of(machine.host).path / "logs"
    for number in range(9):
        RunLog(machine.host, largest=200).write(f"line {number}: {'x' * 30}")
    assert machine.host.files.list(folder) == ["wmcb.log"]
    lines = machine.host.files.read(folder / "wmcb.log").decode().splitlines()
    assert [line.split(" ")[2] for line in lines] == [f"{number}:" for number in range(9)]


@pytest.mark.parametrize("held", ["wmcb.log", "wmcb.0.log", "wmcb.1.log", "wmcb.2.log"])
def test_where_somebody_has_one_open_for_a_while_no_former_one_goes_before_its_time(
    held: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StateFolder.of(machine.host).path / "logs"
    for number in range(16):  # three former ones, and the last is full
        RunLog(machine.host, largest=200).write(f"line {number:02}: {'x' * 30}")
    before = told(machine, folder)
    move = SandboxFiles.move

    def refuse(
        files: SandboxFiles, path: PureWindowsPath, target: PureWindowsPath, *, patience: float
    ) -> None:
        if path.name == held:
            raise InUse("move", str(path), 32)
        move(files, path, target, patience=patience)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(SandboxFiles, "move", refuse)
        for number in range(16, 26):
            RunLog(machine.host, largest=200).write(f"line {number:02}: {'x' * 30}")
    lines = told(machine, folder)
    assert lines == sorted(lines)
    oldest_gone = 4 if held != "wmcb.log" else 0
    assert lines == [*before[oldest_gone:], *(f"{number:02}:" for number in range(16, 26))]
    RunLog(machine.host, largest=200).write("line 26: it goes on")
    assert "wmcb.0.log" not in machine.host.files.list(folder)
    assert told(machine, folder)[-1] == "26:"


def told(machine: Machine, folder: PureWindowsPath) -> list[str]:
    """From the oldest on."""
    names = ["wmcb.3.log", "wmcb.2.log", "wmcb.1.log", "wmcb.0.log", "wmcb.log"]
    there = [name for name in names if name in machine.host.files.list(folder)]
    lines = [line for name in there for line in machine.host.files.read(folder / name).decode().splitlines()]
    return [line.split(" ")[2] for line in lines]
