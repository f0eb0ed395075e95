"""This machine's services: the parts put together."""

from __future__ import annotations

import sys

assert sys.platform == "win32"


from collections.abc import Iterable

from agent.host import winerror
from agent.host.port import Clock, ServiceProgram
from agent.host.windows.api.processes import Process
from agent.host.windows.failure import Win32Error
from agent.host.windows.local_scm import LocalServiceControlManager
from agent.host.windows.service_program import serve
from agent.host.windows.service_watch import ServiceWatch, WatchedService
from agent.host.windows.services import WindowsServices


def local_services(clock: Clock) -> WindowsServices:
    def watch(names: Iterable[str]) -> ServiceWatch:
        return ServiceWatch(names, clock)

    return WindowsServices(LocalServiceControlManager(), clock, _lives, _view, watch, _serve)


def _view(name: str) -> WatchedService:
    return WatchedService(name)


def _serve(name: str, program: ServiceProgram) -> int:
    return serve(name, program)


def _lives(pid: int) -> bool:
    try:
        with Process(pid) as process:
            return process.exit_code() is None
    except Win32Error as failure:
        # One that may not be looked at is there.
        return failure.winerror != winerror.ERROR_INVALID_PARAMETER
