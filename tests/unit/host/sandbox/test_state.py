"""What the sandbox keeps beside C:, shared by several processes."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import HostError
from agent.host.port import DiskSpace, EventLevel, ListeningPort
from agent.host.sandbox.state import State

from .conftest import Sandbox

C = PureWindowsPath("C:\\")


@pytest.fixture
def state(tmp_path: pathlib.Path) -> State:
    return State(tmp_path)


def test_a_document_is_changed_as_a_whole_or_not_at_all(state: State) -> None:
    with state.changing("x.json") as document:
        document["a"] = 1
    with pytest.raises(ZeroDivisionError), state.changing("x.json") as document:
        document["a"] = 1 / 0
    assert state.read("x.json") == {"a": 1}


def test_a_document_that_is_not_there_is_empty(state: State) -> None:
    assert state.read("x.json") == {}


def test_several_processes_count_together(sandbox: Sandbox) -> None:
    code = (
        "from agent.host.sandbox.state import State\n"
        f"state = State(pathlib.Path({str(sandbox.directory)!r}))\n"
        "for _ in range(50):\n"
        "    with state.changing('count.json') as document:\n"
        "        document['count'] = document.get('count', 0) + 1\n"
    )
    others = [subprocess.Popen(sandbox.other_process(code)) for _ in range(4)]
    assert [other.wait(60) for other in others] == [0] * 4
    assert State(sandbox.directory).read("count.json") == {"count": 200}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no bells")
def test_a_bell_that_is_taken_down_while_it_is_rung_hinders_nobody(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    bell, real_write = state.bell(), os.write

    def write(descriptor: int, data: bytes) -> int:
        bell.close()
        return real_write(descriptor, data)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        with state.changing("x.json") as document:
            document["a"] = 1
    assert state.read("x.json") == {"a": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no bells")
def test_a_bell_whose_owner_was_killed_is_taken_down(sandbox: Sandbox) -> None:
    code = (
        "import os, signal\n"
        "from agent.host.sandbox.state import State\n"
        f"bell = State(pathlib.Path({str(sandbox.directory)!r})).bell()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run(sandbox.other_process(code), check=False)
    bells = sandbox.directory / ".sandbox" / "bells"
    assert len(list(bells.iterdir())) == 1
    with State(sandbox.directory).changing("x.json") as document:
        document["a"] = 1
    assert list(bells.iterdir()) == []


def test_facts_are_plausible_until_a_file_says_otherwise(sandbox: Sandbox) -> None:
    facts = sandbox.machine.host.facts
    assert (facts.architecture(), facts.containers_feature()) == ("amd64", True)
    sandbox.set_facts(
        architecture="arm64",
        containers_feature=None,
        memory=1 << 30,
        host_name="other",
        disk={"total": 10, "free": 1},
        listening_ports=[{"address": "0.0.0.0", "port": 10250, "pid": 4}],  # noqa: S104
        addresses=[],
    )
    assert (facts.architecture(), facts.containers_feature()) == ("arm64", None)
    assert (facts.memory(), facts.host_name(), facts.addresses()) == (1 << 30, "other", [])
    assert facts.disk(C) == DiskSpace(10, 1)
    assert facts.listening_ports() == [ListeningPort("0.0.0.0", 10250, 4)]  # noqa: S104
    assert facts.windows_version().server


def test_events_are_lines_of_a_file(sandbox: Sandbox) -> None:
    for text in ("first", "second\nline"):
        sandbox.machine.host.events.write("wmcb", EventLevel.WARNING, 7, text)
    lines = (sandbox.directory / ".sandbox" / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert [(event["source"], event["level"], event["id"], event["text"]) for event in events] == [
        ("wmcb", "WARNING", 7, "first"),
        ("wmcb", "WARNING", 7, "second\nline"),
    ]


def test_a_reboot_is_asked_for_once(sandbox: Sandbox) -> None:
    power = sandbox.machine.host.power
    power.reboot("because", 30)
    asked = json.loads((sandbox.directory / ".sandbox" / "power.json").read_text())["asked"]
    assert (asked["reason"], asked["seconds"]) == ("because", 30)
    with pytest.raises(HostError) as refused:
        power.reboot("because", 30)
    assert refused.value.code == 1115
