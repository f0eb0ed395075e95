"""The resident service, between start and stop."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

import pytest

from agent.host.port import Host
from agent.host.sandbox import open_sandbox
from agent.host.services import Control
from service.program import STOP_SECONDS, resident
from service.work_queue import Agenda, Signal, Signals, Source


class Scm:
    """Asks what it is told to ask, and writes down what the service says."""

    def __init__(self, *requests: Control) -> None:
        self.arguments: Sequence[str] = ()
        self.heard: list[object] = []
        self._requests = list(requests)

    def running(self) -> None:
        self.heard.append("running")

    def stopping(self, wait_hint_seconds: float) -> None:
        self.heard.append(wait_hint_seconds)

    def next(self, seconds: float | None = None) -> Control | None:
        assert seconds is None or seconds >= 600, "it waits to be asked, and does not poll"
        return self._requests.pop(0)

    def hand_on(self, take: Callable[[Control], None]) -> None:
        def ask() -> None:
            for each in self._requests:
                take(each)

        self.asking = threading.Thread(target=ask)
        self.asking.start()

    def stopped(self, exit_code: int) -> None:
        raise AssertionError(f"it says so itself, with {exit_code}, and its process is ended")


def _silent(_: Host) -> object:
    return lambda _: None


@pytest.mark.parametrize(
    "end", [Control.STOP, Control.PRESHUTDOWN, Control.SHUTDOWN], ids=lambda each: each.name
)
def test_runs_until_it_is_asked_to_end(end: Control, tmp_path: pathlib.Path) -> None:
    others = set(
        threading.enumerate()
    )  # of tests before this one, which may also begin more that are daemons
    scm = Scm(Control.PARAMETERS_CHANGED, end)
    opened: list[str] = []

    def open_host() -> Host:
        opened.extend(str(each) for each in scm.heard)
        return open_sandbox(tmp_path)

    assert resident(scm, lambda: True, open_host, _silent) == 0  # type: ignore[arg-type]
    assert scm.heard == ["running", STOP_SECONDS]
    assert opened[:1] == ["running"], "nothing is looked at before Windows knows that it runs"
    scm.asking.join()
    begun = set(threading.enumerate()) - others
    assert all(each.daemon for each in begun), "nothing keeps the process from ending"


def test_where_there_is_no_node_it_loads_nothing_until_it_is_told_of_one(tmp_path: pathlib.Path) -> None:
    scm = Scm(Control.PARAMETERS_CHANGED, Control.STOP)
    answers = [False, True]
    opened: list[str] = []

    def open_host() -> Host:
        opened.append(f"{len(answers)} answers left")
        return open_sandbox(tmp_path)

    assert resident(scm, lambda: answers.pop(0), open_host, _silent) == 0  # type: ignore[arg-type]
    assert opened == ["0 answers left"]
    assert resident(Scm(Control.STOP), lambda: False, open_host, _silent) == 0  # type: ignore[arg-type]
    assert len(opened) == 1


FAILING = """
from service.program import resident

class Scm:
    def running(self): ...
    def hand_on(self, take): ...

def open_host():
    raise ValueError

resident(Scm(), lambda: True, open_host, lambda host: print)
"""


def test_where_it_cannot_go_on_its_process_ends_with_an_error() -> None:
    """By which Windows starts it again."""
    done = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_alike_signals_that_wait_together_are_one() -> None:
    signals = Signals()
    one, other = Signal(Source.SERVICE, "kubelet"), Signal(Source.FILE, "C:\\k")
    for signal in (one, other, one, one):
        signals.put(signal)
    assert signals.take(None) == (one, other)
    assert signals.take(0) == ()


class _Clock:
    time = 100.0

    def monotonic(self) -> float:
        return self.time


def test_an_agenda_has_each_thing_once_and_at_its_soonest_time() -> None:
    clock = _Clock()
    agenda = Agenda[str](clock)  # type: ignore[arg-type]
    assert (agenda.left(), agenda.due()) == (None, set())
    for seconds in (5, 2, 7):
        agenda.after(seconds, "look")
    agenda.after(3, "ask")
    assert (agenda.left(), agenda.due()) == (2, set())
    clock.time += 4
    assert (agenda.left(), agenda.due()) == (0, {"look", "ask"})
    assert agenda.left() is None
