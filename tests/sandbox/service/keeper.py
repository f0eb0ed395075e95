"""A resident service without threads, on a clock that goes on only while it waits."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host import winerror
from agent.host.port import Host
from agent.host.sandbox.places import name_key
from agent.host.sandbox.programs import SERVICES
from agent.host.sandbox.service_document import run
from agent.host.sandbox.state import State
from agent.host.services import ServiceState
from agent.spec import Specification
from sandbox.engine.world import changed
from service.keeping import Keeping
from service.telling import Event, Telling
from service.work_queue import Signal, Signals, Source

OWN = Signal(Source.FILE, r"C:\ProgramData\wmcb\node.json")
"""Somebody's run has ended, or a pause."""


class Clock:
    def __init__(self, host: Host) -> None:
        self._begun = host.clock.now()
        self._boot = host.clock.boot()
        self.time = 0.0

    def now(self) -> float:
        return self._begun + self.time

    def monotonic(self) -> float:
        return self.time

    def boot(self) -> int:
        return self._boot

    def restarted(self, boot: int) -> None:
        """Windows has been."""
        self._boot = boot

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class _Waiting(Signals):
    """Waits by putting the clock forward, never beyond `horizon`."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.horizon = 0.0

    def take(self, seconds: float | None) -> Sequence[Signal]:
        taken = super().take(0.0)
        if not taken:
            left = self.horizon - self._clock.time
            self._clock.time += left if seconds is None else min(seconds, left)
        return taken


class _Watches:
    def __init__(self) -> None:
        self.services: set[str] = set()
        self.folders: set[PureWindowsPath] = set()
        self.keys: set[str] = set()
        self.routing = False
        self.is_stale = False

    def follow(
        self,
        services: Iterable[str],
        folders: Iterable[PureWindowsPath],
        keys: Iterable[str] = (),
        *,
        routing: bool = False,
    ) -> bool:
        before = (self.services, self.folders, self.keys, self.routing)
        self.services, self.folders, self.keys = set(services), set(folders), set(keys)
        self.routing = routing
        lets_go = self.is_stale or before != (self.services, self.folders, self.keys, self.routing)
        self.is_stale = False
        return lets_go

    def renew(self) -> None:
        self.is_stale = True


class Keeper:
    """What happens to the machine is signalled by hand."""

    def __init__(self, folder: pathlib.Path, host: Host, **ports: dict[str, Any]) -> None:
        self._folder = folder
        self.clock = Clock(host)
        self.starts: list[float] = []
        self.started: list[str] = []
        self._services = host.services
        given = {"services": {"start": self._start}, **ports}
        self.host = changed(replace(host, clock=self.clock), **given)
        self.log: list[str] = []
        self.begin()

    def begin(self) -> None:
        """The service is started, perhaps anew."""
        self.signals = _Waiting(self.clock)
        self.watches = _Watches()
        telling = Telling(self.host, self.log.append)
        self.keeping = Keeping(self.host, self.signals, telling, self.watches)  # type: ignore[arg-type]

    def _start(self, name: str) -> None:
        self.starts.append(self.clock.time)
        self.started.append(name)
        self._services.start(name)

    def make(self, specification: Specification) -> None:
        make_so(replace(self.host, services=self._services), specification, Silent())
        self.signals.put(OWN)
        self.pass_time(10)

    def pass_time(self, seconds: float) -> None:
        self.signals.horizon = self.clock.time + seconds
        while self.clock.time < self.signals.horizon:
            self.keeping.turn()

    def turns(self, seconds: float) -> int:
        """How often it does something while this time passes."""
        self.signals.horizon = self.clock.time + seconds
        number = 0
        while self.clock.time < self.signals.horizon:
            self.keeping.turn()
            number += 1
        return number

    def happened(self, *signals: Signal) -> None:
        for signal in signals:
            self.signals.put(signal)
        self.pass_time(1)

    def crash(self, name: str = "kubelet") -> None:
        with State(self._folder).changing(SERVICES) as document:
            document[name_key(name)]["run"] = run(
                ServiceState.STOPPED, exit_code=winerror.ERROR_PROCESS_ABORTED
            )
        self.happened(Signal(Source.SERVICE, name))

    def touched(self, path: PureWindowsPath) -> None:
        self.happened(Signal(Source.FILE, str(path)))

    def told(self) -> list[tuple[Event, str]]:
        """Since the last time."""
        file = self._folder / ".sandbox" / "events.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        events = [json.loads(line) for line in lines]
        return [(Event(each["id"]), each["text"]) for each in events if each["source"] == "wmcb"]
