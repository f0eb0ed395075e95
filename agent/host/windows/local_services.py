"""This machine's services: the parts put together."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from typing import TYPE_CHECKING

from agent.host.windows.local_scm import LocalServiceControlManager
from agent.host.windows.service_program import serve
from agent.host.windows.service_watch import ServiceWatch, WatchedService
from agent.host.windows.services import WindowsServices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.host.port import Clock


def local_services(clock: Clock) -> WindowsServices:
    def watch(names: Iterable[str]) -> ServiceWatch:
        return ServiceWatch(names, clock)

    return WindowsServices(LocalServiceControlManager(), clock, WatchedService, watch, serve)
