"""How a plan looks on a console, and elsewhere."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import PureWindowsPath

import pytest

from agent.cli import main
from agent.host.protection import PRIVATE_DIRECTORY
from agent.host.sddl import SecurityDescriptor
from agent.host.services import Recovery, RecoveryAction, SidType
from sandbox.cli.given import Machine, program

CODES = re.compile(r"\x1b\[\d+m")


class Console(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(machine: Machine, patch: pytest.MonkeyPatch, stream: io.StringIO, *words: str) -> str:
    patch.setattr(sys, "stdout", stream)
    main.run(["--sandbox", str(machine.place), *words])
    return stream.getvalue()


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_on_a_console_it_has_colours_and_a_legend(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(machine, monkeypatch, Console(), "plan", *machine.node)
    assert "\x1b[32m+ create    file C:\\k\\kubelet.exe\x1b[0m" in text
    assert "+ create" not in CODES.sub("", text).splitlines(), "of one sign there is none"
    machine.wmcb(*machine.node)
    machine.host.services.stop("kubelet")
    machine.host.files.remove(PureWindowsPath(r"C:\k\kubelet.exe"))
    text = shown(machine, monkeypatch, Console(), "plan", *machine.node)
    assert CODES.sub("", text).splitlines()[-2] == "+ create  ~ change"


COMMANDS = [("plan",), ("preflight",), ("status",), ("reset", "--dry-run")]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_in_a_pipe_there_are_none(
    command: tuple[str, ...], machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And on a console that wants none: all else is the same."""
    machine.wmcb(*machine.node)
    machine.host.services.stop("kubelet")
    words = (*command, *machine.node) if command[0] in ("plan", "preflight") else command
    coloured = shown(machine, monkeypatch, Console(), *words)
    assert CODES.search(coloured)
    piped = shown(machine, monkeypatch, io.StringIO(), *words)
    assert piped == CODES.sub("", coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(machine, monkeypatch, Console(), *words) == piped


def test_a_drifted_service_shows_what_is_otherwise(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    machine.host.services.stop("kubelet")
    lines = machine.wmcb("plan", *machine.node).out.splitlines()
    assert lines[:2] == ["~ change    service kubelet", "    state: STOPPED -> RUNNING"]
    assert re.fullmatch(r"1 to change, \d+ as they are to be", lines[-1])


def recommanded(machine: Machine, *more: str) -> None:
    """Somebody gives the kubelet's command other words."""
    services = machine.host.services
    installed = services.read("kubelet")
    assert installed is not None
    services.change(replace(installed.definition, command=(*installed.definition.command, *more)))


def test_of_a_long_command_line_the_words_that_differ_are_shown(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    recommanded(machine, "--max-pods=50", "--reserved=" + "x" * 400)
    says = [
        "~ change    service kubelet",
        "    command:",
        "      - --max-pods=50",
        "      - --reserved=" + "x" * 400,
    ]
    assert machine.wmcb("plan", *machine.node).out.splitlines()[:4] == says
    assert machine.wmcb("status").out.splitlines()[1:4] == says[1:]


def test_fields_have_words_for_people_and_names_for_programs(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    services = machine.host.services
    installed = services.read("kubelet")
    assert installed is not None
    sid = SidType.RESTRICTED
    services.change(replace(installed.definition, display_name="Mine", sid_type=sid))
    for command in (("plan", *machine.node), ("plan", *machine.node, "-v"), ("status",), ("status", "-v")):
        text = machine.wmcb(*command).out
        assert "    display name: Mine -> Kubernetes kubelet\n    SID type: RESTRICTED -> NONE\n" in text
    (change,) = machine.wmcb("plan", *machine.node, "--output=json").document["changes"]
    assert [each["field"] for each in change["differences"]] == ["display_name", "sid_type"]


def test_what_is_to_be_there_is_shown_whole(machine: Machine) -> None:
    (command,) = (
        line
        for line in machine.wmcb("plan", *machine.node).out.splitlines()
        if line.startswith("    command: ")
    )
    assert len(command) > 300
    assert "--windows-service" in command
    assert not command.endswith("...")


SECRETS = [
    ("--bearer-token=HIDDEN",),
    ("--bearer-token", "HIDDEN"),
    ("--Password=HIDDEN", "--v=5"),
    ("--manifest-url-header=Authorization:HIDDEN",),
]


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("words", SECRETS, ids=" ".join)
def test_no_secret_of_a_command_line_is_shown(words: tuple[str, ...], output: str, machine: Machine) -> None:
    machine.wmcb(*machine.node)
    recommanded(machine, *words)
    for command in (("plan", *machine.node), ("status",)):
        out = machine.wmcb(*command, "--output", output).out
        assert "HIDDEN" not in out
        assert words[0].partition("=")[0] in out
        assert "(hidden, " in out


def test_a_folder_made_by_hand_on_the_way_is_closed(machine: Machine) -> None:
    """C:'s own rights let everybody who has logged on put another in its place."""
    (machine.place / "etc").mkdir()
    closed = "none but SYSTEM and administrators may change it"
    found = "SYSTEM and administrators: everything; users: read and run; whoever has logged on: "
    told = f"    who may do what: {found}read, run, write and delete -> {closed}"
    lines = machine.wmcb("plan", *machine.node).out.splitlines()
    assert lines[lines.index(r"~ change    directory C:\etc") + 1] == told
    document = machine.wmcb("plan", *machine.node, "--output=json").document
    (change,) = (each for each in document["changes"] if each["resource"] == ["directory", r"C:\etc"])
    (difference,) = change["differences"]
    assert (difference["field"], difference["wanted"]) == ("open_to_users", "nobody")

    machine.wmcb(*machine.node)
    assert machine.wmcb("status").code == 0
    machine.host.files.set_descriptor(PureWindowsPath(r"C:\var"), SecurityDescriptor.parse("O:AUD:P"))
    status = machine.wmcb("status")
    told = f"    who may do what: owned by whoever has logged on; nobody: anything -> {closed}"
    assert (status.code, status.out.splitlines()[:2]) == (1, [r"~ directory C:\var", told])


def test_recovery_is_told_in_words(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    installed = machine.host.services.read("kubelet")
    assert installed is not None
    actions = ((RecoveryAction.RESTART, 2500), (RecoveryAction.REBOOT, 60_000), (RecoveryAction.NONE, 0))
    machine.host.services.change(replace(installed.definition, recovery=Recovery(actions, 86_400)))
    wanted = "restart after 5 s, all is forgiven after 600 s, also when it ends with an error"
    assert machine.wmcb("status").out.splitlines()[1] == (
        "    recovery: restart after 2.5 s, restart Windows after 60 s, nothing after 0 s,"
        f" all is forgiven after 86400 s, not when it ends with an error -> {wanted}"
    )
    machine.host.services.change(replace(installed.definition, recovery=Recovery()))
    assert machine.wmcb("status").out.splitlines()[1] == f"    recovery: nothing -> {wanted}"


def test_a_services_command_line_is_shown_as_windows_gets_it(machine: Machine) -> None:
    document = (
        "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\nservices:\n"
        "- name: demo\n  program: 'C:\\Program Files\\demo.exe'\n  arguments: [{}]\n"
    )
    first = machine.give("node.yaml", document.format("--name=a b, --path, 'C:\\x y\\', \"\", 'a\"b'"))
    machine.put(r"C:\Program Files\demo.exe", program())
    planned = machine.wmcb("plan", "--node-config", first)
    assert planned.out.splitlines()[1] == (
        r'''    command: "C:\Program Files\demo.exe" "--name=a b" --path "C:\x y\\" "" "a\"b"'''
    )
    assert machine.wmcb("prepare", "--node-config", first).code == 0
    second = machine.give("node.yaml", document.format("--name=c d, --path, 'C:\\x y\\', \"\", 'a\"b'"))
    assert machine.wmcb("plan", "--node-config", second).out.splitlines()[1:4] == [
        "    command:",
        '      - "--name=a b"',
        '      + "--name=c d"',
    ]


def test_what_stands_in_the_way_is_to_be_moved_first(machine: Machine) -> None:
    """A run would not touch it."""
    config = PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf")
    machine.wmcb(*machine.node)
    machine.host.files.remove(config)
    machine.host.files.make_directory(config, PRIVATE_DIRECTORY)
    status = machine.wmcb("status")
    assert status.out.splitlines()[:3] == [
        f"~ file {config}",
        "    type: directory -> file",
        f"move {config} away, then run this again to repair that: "
        f"wmcb {' '.join(machine.node)} --sandbox {machine.place}",
    ]
    assert machine.wmcb(*machine.node).code == 1
    machine.host.files.move(config, PureWindowsPath(r"C:\aside"))
    assert machine.wmcb(*machine.node).code == 0
    assert machine.wmcb("status").code == 0


def test_a_kubelet_that_is_not_well_is_told_by_its_address(machine: Machine) -> None:
    healthz = "http://127.0.0.1:10248/healthz"
    assert f"    well: {healthz} answers 200" in machine.wmcb("plan", *machine.node).out.splitlines()
    assert machine.wmcb(*machine.node).code == 0
    machine.facts(answers={"10248": 500})
    assert f"    well: {healthz} does not answer 200" in machine.wmcb("status").out.splitlines()
