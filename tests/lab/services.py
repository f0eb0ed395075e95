"""A node's services, as its Service Control Manager tells them to the lab's own scm.exe."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class State(IntEnum):
    STOPPED = 1
    START_PENDING = 2
    STOP_PENDING = 3
    RUNNING = 4
    CONTINUE_PENDING = 5
    PAUSE_PENDING = 6
    PAUSED = 7


class Control(IntEnum):
    STOP = 1
    INTERROGATE = 4
    SHUTDOWN = 5
    PRESHUTDOWN = 15


@dataclass(frozen=True)
class Service:
    """What QueryServiceStatusEx says. `pid` is the one that Windows programs see, and not Linux's."""

    type: int
    state: State
    accepts: int
    exit_code: int
    specific_exit_code: int
    checkpoint: int
    wait_hint: int
    pid: int


NO_SUCH_SERVICE = 1060


def parse(printed: str) -> tuple[int, Service | None]:
    """The Win32 error and, if asked for and there was one, the service."""
    told = {name: int(value) for name, value in (line.split("=", 1) for line in printed.split())}
    error = told.pop("error")
    return error, Service(state=State(told.pop("state")), **told) if told else None
