"""Runs that are killed, not told: before they make one change more of the machine."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from sandbox.engine.world import Power

assert sys.platform != "win32", "tests/windows kills the exe itself"

KILLED = -signal.SIGKILL
_UNEXPECTED = 70


class Fatal(Power):
    def spend(self, change: Callable[[], Any]) -> Any:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().spend(change)


class Runs:
    """A process that forks another for each run to be killed: what a run imports is imported once.

    A run is a function of a module, given how many changes it may make, and texts.
    """

    def __init__(self, said: pathlib.Path) -> None:
        """`said` is the file that gets what the runs say."""
        self._said = said
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve({str(self._said)!r})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)

    def killed(self, changes: int, run: Callable[..., int], *given: str) -> int:
        """KILLED, or the exit code of a run that makes no more changes than that."""
        return self._asked(changes, run, *given)

    def undisturbed(self, run: Callable[..., int], *given: str) -> int:
        return self._asked(None, run, *given)

    def said(self) -> str:
        return self._said.read_text(errors="replace")

    def _asked(self, changes: int | None, run: Callable[..., int], *given: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(
            json.dumps([changes, run.__module__, run.__name__, *given]), file=self._process.stdin, flush=True
        )
        return int(self._process.stdout.readline() or _UNEXPECTED)


def serve(said: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    kept = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(kept, stream)
    for line in sys.stdin:
        changes, module, name, *given = json.loads(line)
        run = getattr(importlib.import_module(module), name)
        if changes is None:
            code = _ended(run, Power(sys.maxsize), given)
        elif process := os.fork():
            code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        else:
            os._exit(_ended(run, Fatal(changes), given))
        print(code, file=answers, flush=True)


def _ended(run: Callable[..., int], power: Power, given: list[str]) -> int:
    try:
        return run(power, *given)
    except BaseException:  # noqa: BLE001 - whoever asked is told
        traceback.print_exc()
        return _UNEXPECTED
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
