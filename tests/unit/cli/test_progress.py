"""What is told while the engine works."""

from __future__ import annotations

import io
import sys
from typing import TypeVar

import pytest

from agent.cli import engine_run
from agent.cli.arguments import Request
from agent.cli.engine_run import Display

Stream = TypeVar("Stream", bound=io.StringIO)


class Console(io.StringIO):
    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """The lines as somebody sees them."""
        lines = []
        for line in self.getvalue().split("\n"):
            shown = ""
            for part in line.split("\r"):
                shown = part + shown[len(part) :]
            lines.append(shown.rstrip())
        return lines


def hear(stream: Stream, patch: pytest.MonkeyPatch) -> Stream:
    """In place of standard error. Not as a fixture: pytest sets its own when a test begins."""
    patch.setattr(sys, "stderr", stream)
    patch.setenv("TERM", "xterm")
    patch.delenv("NO_COLOR", raising=False)
    patch.setattr(engine_run, "_columns", lambda: 40)
    return stream


def shown(*options: str) -> Display:
    return engine_run.display(Request((), None, dict.fromkeys(options, "")))


def files(display: Display, number: int, verb: str = "create") -> None:
    for each in range(number):
        display.step(verb, "file", f"C:\\{each}")


def test_in_a_pipe_many_files_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = hear(io.StringIO(), monkeypatch)
    display = shown()
    display.step("stop", "service", "kubelet")
    display.step("create", "directory", "C:\\k")
    files(display, 500)
    files(display, 2, "change")
    display.step("change", "service", "kubelet")
    display.end()
    assert pipe.getvalue().splitlines() == [
        "stop service kubelet",
        "create 1 directory and 500 files",
        "change file C:\\0",
        "change file C:\\1",
        "change service kubelet",
    ]


def test_what_is_last_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = hear(io.StringIO(), monkeypatch)
    display = shown()
    files(display, 4)
    display.remark("a remark")
    files(display, 5)
    display.end()
    assert pipe.getvalue().splitlines() == ["create 4 files", "a remark", "create 5 files"]


def test_each_step_for_whoever_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = hear(io.StringIO(), monkeypatch)
    display = shown("--verbose")
    files(display, 5)
    display.end()
    assert len(pipe.getvalue().splitlines()) == 5


def test_on_a_console_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    console = hear(Console(), monkeypatch)
    display = shown()
    display.expect(3)
    display.step("create", "file", "C:\\a\\long\\name\\that\\does\\not\\fit\\at\\all")
    assert console.screen() == ["[1/3] create file C:\\a\\long\\name\\tha..."]
    display.step("create", "file", "C:\\b")
    assert console.screen() == ["[2/3] create file C:\\b"]
    display.remark("a remark")
    display.step("start", "service", "kubelet")
    assert console.screen() == ["a remark", "[3/3] start service kubelet"]
    display.end()
    sys.stderr.write("done\n")
    assert console.screen() == ["a remark", "done", ""]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_console_that_wants_plain_lines_gets_them(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = hear(Console(), monkeypatch)
    monkeypatch.setenv(name, value)
    display = shown()
    display.step("start", "service", "kubelet")
    display.end()
    assert console.getvalue() == "start service kubelet\n"


def test_nobody_to_hear_it_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    for display in (shown(), engine_run.OneLine()):
        display.step("start", "service", "kubelet")
        display.end()
