"""A command that only looks makes nothing: no sandbox either, where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent.cli import main
from sandbox.cli.given import WORKER, Machine

NODE = ("--ignition", "{ignition}", "--kubelet", "{kubelet}", "--kubelet-version=1.31")
LOOKING: list[tuple[tuple[str, ...], int, str]] = [
    (("status",), 1, "wmcb has put nothing on this machine"),
    (("plan", *NODE), 0, "to create, 0 as they are to be"),
    ((*NODE, "--dry-run"), 0, "to create, 0 as they are to be"),
    (("preflight",), 3, "containerd-service"),
    (("reset", "--dry-run"), 0, "nothing to do: wmcb has put nothing on this machine"),
]
COMMANDS = [command for command, _, _ in LOOKING]


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("place", ["nope", "nope/deeper", "empty"])
@pytest.mark.parametrize(("command", "code", "says"), LOOKING, ids=[" ".join(c) for c, _, _ in LOOKING])
def test_where_there_is_no_sandbox_none_is_made(
    command: tuple[str, ...], code: int, says: str, place: str, machine: Machine
) -> None:
    folder = machine.folder / "elsewhere"
    (folder / "empty").mkdir(parents=True)
    words = [word.format(ignition=WORKER, kubelet=machine.kubelet) for word in command]
    machine.output.readouterr()
    assert main.run(["--sandbox", str(folder / place), *words]) == code
    told = machine.output.readouterr()
    assert says in told.out
    assert told.err.splitlines()[0] == (
        f"wmcb: there is no sandbox in {folder / place} yet;"
        " a machine fresh from its installation stands for it"
    )
    assert everything_in(folder) == ["empty"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_of_somebody_else_is_not_taken_for_one(command: tuple[str, ...], machine: Machine) -> None:
    folder = machine.folder / "elsewhere"
    folder.mkdir()
    (folder / "file").touch()
    words = [word.format(ignition=WORKER, kubelet=machine.kubelet) for word in command]
    machine.output.readouterr()
    assert main.run(["--sandbox", str(folder), *words]) == 2
    told = machine.output.readouterr()
    assert told == (
        "",
        f"wmcb: --sandbox {folder}: it is no sandbox yet, and other things are in it;"
        " name a folder of the sandbox's own\n",
    )
    assert everything_in(folder) == ["file"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_in_a_sandbox_nothing_is_made(command: tuple[str, ...], machine: Machine) -> None:
    before = everything_in(machine.place)
    words = [word.format(ignition=WORKER, kubelet=machine.kubelet) for word in command]
    machine.wmcb(*words)
    assert everything_in(machine.place) == before


@pytest.mark.skipif(sys.platform == "win32", reason="there the machine itself is looked at")
@pytest.mark.parametrize("command", ["status", "preflight", "reset"])
def test_without_windows_there_is_nothing_to_look_at(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([command]) == 2
    assert capsys.readouterr().err == (
        f"wmcb: {command} needs Windows; this is {sys.platform} (--sandbox DIR tries it out in a folder)\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there the machine itself is looked at")
@pytest.mark.parametrize(
    "command", [("plan", *NODE), (*NODE, "--dry-run"), ("reset", "--dry-run")], ids=" ".join
)
def test_without_windows_a_machine_is_imagined_and_said_to_be(
    command: tuple[str, ...], machine: Machine
) -> None:
    words = [word.format(ignition=WORKER, kubelet=machine.kubelet) for word in command]
    machine.output.readouterr()
    assert main.run(words) == 0
    imagined = (
        f"wmcb: this is {sys.platform}: a Windows machine fresh from its installation is imagined,"
        " its name and addresses, too (--sandbox DIR is for one that stays)"
    )
    assert machine.output.readouterr().err.splitlines()[-1] == imagined


@pytest.mark.skipif(sys.platform == "win32", reason="there the machine itself is looked at")
def test_the_imagined_machine_lacks_what_setup_leaves_out_and_has_what_it_brings(machine: Machine) -> None:
    document = machine.give(
        "node.yaml",
        "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
        "windowsFeatures: [{name: Containers}]\ntimeService: {running: true}\n",
    )
    machine.output.readouterr()
    assert main.run(["plan", "--node-config", document]) == 0
    assert machine.output.readouterr().out.splitlines()[:5] == [
        "~ change    time service W32Time",
        "    start: manual -> automatic",
        "    runs: False -> True",
        "~ change    windows feature Containers",
        "    feature: disabled -> enabled",
    ]


@pytest.mark.parametrize("command", [("status",), NODE], ids=["status", "run"])
def test_a_folder_that_may_not_be_written_to_is_no_sandbox(
    command: tuple[str, ...], machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    words = [word.format(ignition=WORKER, kubelet=machine.kubelet) for word in command]
    monkeypatch.setattr("agent.host.sandbox.state.State.__init__", denied)
    answer = machine.wmcb(*words)
    assert answer.code == 2
    fault = "it may not be written to; name a folder of your own"
    assert answer.error_lines == [f"wmcb: --sandbox {machine.place}: {fault}"]


@pytest.mark.skipif(sys.platform == "win32", reason="there the machine itself is looked at")
def test_who_gives_wrong_options_is_told_of_these_alone(machine: Machine) -> None:
    machine.output.readouterr()
    assert main.run(["plan", "--ignition", str(WORKER), "--kubelet", "/nowhere/kubelet.exe"]) == 2
    (line,) = machine.output.readouterr().err.splitlines()
    assert line == "wmcb: --kubelet /nowhere/kubelet.exe: there is no such file"
