"""Changes that Windows loses count of, and watches that outlive those who began them."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import gc
import threading
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
import win32event
import win32file

from agent.host.errors import AccessDenied
from agent.host.files import FileChange
from agent.host.windows.api.processes import wait_for_any
from agent.host.windows.failure import failed
from agent.host.windows.file_watch import FileWatch, JointWatch
from agent.host.windows.machine import WindowsClock

SOON = 20.0
INCOMPLETE, ABORTED, ENUMERATE, DENIED = 996, 995, 1022, 5


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[FileWatch]:
    with FileWatch(PureWindowsPath(tmp_path), recursive=True, clock=WindowsClock()) as watch:
        yield watch


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """What the next questions after a result are answered: a code, or None for a result without names."""
    codes: list[int | None] = []
    real = win32file.GetOverlappedResult

    def result(folder: int, overlapped: Any, wait: bool) -> int:
        if not codes:
            return real(folder, overlapped, wait)
        if (code := codes.pop(0)) is not None:
            raise failed(code, "GetOverlappedResult")
        return 0

    monkeypatch.setattr(win32file, "GetOverlappedResult", result)
    return codes


@pytest.mark.parametrize("answer", [None, ABORTED, ENUMERATE], ids=["no names", "aborted", "enumerate"])
def test_changes_that_windows_lost_count_of_are_told_as_such(
    watch: FileWatch, tmp_path: Path, answers: list[int | None], answer: int | None
) -> None:
    (tmp_path / "before").touch()
    # The request must be over before another can be made with the same memory.
    while not watch._changes.take():
        pass
    (tmp_path / "next").touch()
    _wait_for_the_result(watch)
    answers.append(answer)
    assert list(watch.wait(0)) == [FileChange(None)]
    (tmp_path / "after").touch()
    heard: list[FileChange] = []
    while FileChange(PureWindowsPath(tmp_path / "after")) not in heard:
        heard.extend(watch.wait(SOON) or pytest.fail("it went deaf"))


def test_another_failure_is_told_by_its_code(watch: FileWatch, answers: list[int | None]) -> None:
    answers.append(DENIED)
    with pytest.raises(AccessDenied):
        watch.wait(SOON)


def test_a_watch_goes_on_after_the_thread_that_began_it(tmp_path: Path) -> None:
    made: list[FileWatch] = []

    def begin() -> None:
        made.append(FileWatch(PureWindowsPath(tmp_path), recursive=False, clock=WindowsClock()))

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    with made[0] as watch:
        (tmp_path / "file").touch()
        # Windows gives up a request with the thread that made it: then something may have been lost.
        assert watch.wait(SOON)[0].path in (None, PureWindowsPath(tmp_path / "file"))
        (tmp_path / "other").touch()
        assert watch.wait(SOON)


def test_a_watch_is_closed_once_whoever_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whoever waits, and at the same moment by whoever wants that to end."""
    watch = FileWatch(PureWindowsPath(tmp_path), recursive=False, clock=WindowsClock())
    other = threading.Thread(target=watch.close)

    set_event = win32event.SetEvent

    def signal(handle: int) -> None:
        if not other.ident:
            other.start()
            other.join(0.5)  # as far as it comes
        set_event(handle)

    monkeypatch.setattr(win32event, "SetEvent", signal)
    watch.close()
    other.join()
    assert list(watch.wait(0)) == []


def test_a_watch_that_was_forgotten_is_closed(tmp_path: Path) -> None:
    for number in range(50):
        FileWatch(PureWindowsPath(tmp_path), recursive=False, clock=WindowsClock())
        gc.collect(1)  # it is young; all that pytest holds is not
        (tmp_path / str(number)).touch()
    tmp_path.rename(tmp_path.with_name("renamed"))


def test_one_of_several_folders_that_is_gone_is_told_and_let_go(
    tmp_path: Path, answers: list[int | None]
) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    gone, other = (PureWindowsPath(folder) for folder in folders)
    with JointWatch([gone, other], WindowsClock()) as watch:
        answers.extend([DENIED, INCOMPLETE])
        assert list(watch.wait(SOON)) == [FileChange(gone)]
        folders[0].rename(tmp_path / "renamed")  # nothing holds it any more
        (folders[1] / "file").touch()
        assert watch.wait(SOON)[0] == FileChange(other / "file")


def _wait_for_the_result(watch: FileWatch) -> None:
    assert wait_for_any([watch._changes.event], SOON) == 0
