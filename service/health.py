"""Whether programs that run are well, asked every now and then."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from agent.amounts import in_seconds
from agent.engine.target import NODE, Record
from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.services import ServiceState
from agent.resources.kind import NotWell
from agent.spec import HealthCheck, Key

EVERY_SECONDS = 10.0
_SOON_SECONDS = 1.0
"""After a start: what hangs soon after it was well is given no more time than what hangs later."""
_ANSWER_WITHIN_SECONDS = 2.0
_WELL = 200
_ON_THE_WAY = (ServiceState.START_PENDING, ServiceState.STOP_PENDING)
_UP = (ServiceState.RUNNING, *_ON_THE_WAY)
_ASK_AGAIN_SECONDS = 0.1
_SOONEST_SECONDS = 0.1
"""What is left by a clock's fractions alone is not asked for over and over."""


@dataclass(frozen=True, slots=True)
class Hung:
    how: str
    """In which way, and for how long."""
    since: float


class Health:
    """Remembers since when a service has not been well."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._unwell_since: dict[Key, tuple[int | None, float]] = {}
        """In which process: one that has been started since then has its whole time."""
        self._seen_well: dict[Key, int | None] = {}
        """In which process: of one that has just begun nobody knows whether it hangs, or is slow to start."""
        self._patience: float | None = None

    def again_seconds(self, records: Iterable[Record]) -> float | None:
        """When to ask next: what is not well is not left longer than it may be so. None for nobody to ask."""
        running = [key for key, _ in _asked(records) if _state(self._host, key.name) in _UP]
        if not running:
            return None
        soon = [self._soon(key) for key in running if not self._was_well(key)]
        patience = [] if self._patience is None else [self._patience]
        return max(_SOONEST_SECONDS, min([EVERY_SECONDS, *soon, *patience]))

    def _soon(self, key: Key) -> float:
        """At first, and ever more seldom."""
        now = self._host.clock.monotonic()
        _, since = self._unwell_since.get(key, (None, now))
        return max(_SOON_SECONDS, (now - since) / 2)

    def hung(self, records: Iterable[Record]) -> Mapping[Key, Hung]:
        """What runs and has not been well for longer than it may, until it is `seen_to`. Asks each."""
        found, self._patience = {}, None
        for record in records:
            for key, check in _asked([record]):
                if (lack := self._lack(key, check)) is None:
                    self._unwell_since.pop(key, None)
                    continue
                now = self._host.clock.monotonic()
                since = self._since(key, now)
                left = self._limit(record, check) - (now - since)
                if left <= 0:
                    found[key] = Hung(f"{lack} for {in_seconds(round(now - since))}", since)
                else:
                    self._patience = left if self._patience is None else min(left, self._patience)
        return found

    def _since(self, key: Key, now: float) -> float:
        """Return since when the process that runs now has not been healthy."""
        process = _process(self._host, key.name)
        former, since = self._unwell_since.get(key, (process, now))
        if process != former:
            since = now
        self._unwell_since[key] = process, since
        return since

    def seen_to(self, keys: Iterable[Key]) -> None:
        """Give each of these its whole time again: it was restarted, or what had harmed it was taken back."""
        for key in keys:
            self._unwell_since.pop(key, None)

    def still(self, hung: Mapping[Key, Hung], records: Iterable[Record]) -> Mapping[Key, Hung]:
        """Those of them that are no better now."""
        lacking = {
            key for key, check in _asked(records) if key in hung and self._lack(key, check) is not None
        }
        return {key: each for key, each in hung.items() if key in lacking}

    def _lack(self, key: Key, check: HealthCheck) -> str | None:
        """What has stopped has none. What stays on its way up or down, nobody else sees to."""
        state = _state(self._host, key.name)
        if state in _ON_THE_WAY:
            return f"it has been {state.name}"
        if state is not ServiceState.RUNNING:
            return None
        lack = _lack(self._host, check)
        if lack is None:
            self._seen_well[key] = _process(self._host, key.name)
        return lack

    def _limit(self, record: Record, check: HealthCheck) -> float:
        given = _start_seconds(record)
        if self._was_well(record.target.key):
            return min(check.within_seconds, given)
        return check.within_seconds if math.isinf(given) else given

    def _was_well(self, key: Key) -> bool:
        """Since its start."""
        return key in self._seen_well and self._seen_well[key] == _process(self._host, key.name)


class Soundness:
    """What makes the machine a node, the kubelet above all: where it is well now, it is to be so later."""

    def __init__(self, host: Host, records: Iterable[Record]) -> None:
        self._host = host
        self._well: list[tuple[Key, HealthCheck]] = []
        self.lack: str | None = None
        """Of what runs and is not well just now: nobody could tell whether a change has harmed it."""
        for record in records:
            if record.parts[0] == NODE:
                self._ask(record)

    def _ask(self, record: Record) -> None:
        for key, check in _asked([record]):
            if not _runs(self._host, key.name):
                continue
            if (lack := _lack(self._host, check)) is None:
                within = min(check.within_seconds, _start_seconds(record))
                self._well.append((key, replace(check, within_seconds=within)))
            else:
                self.lack = f"{key}: {lack}"

    @property
    def well(self) -> Collection[Key]:
        return frozenset(key for key, _ in self._well)

    def confirm(self) -> None:
        """Raises NotWell for what is not as well any more, and does not become so in the time that it has."""
        for key, check in self._well:
            deadline = self._host.clock.monotonic() + check.within_seconds
            while (lack := self._fault(key, check)) is not None:
                if self._host.clock.monotonic() >= deadline:
                    raise NotWell(f"{key} is not well any more: {lack}")
                self._host.clock.sleep(_ASK_AGAIN_SECONDS)

    def _fault(self, key: Key, check: HealthCheck) -> str | None:
        return _lack(self._host, check) if _runs(self._host, key.name) else "it does not run"


def _start_seconds(record: Record) -> float:
    """What it is given after its start until it has to be well."""
    milliseconds = record.target.manner.get("well_within_milliseconds")
    return milliseconds / 1000 if isinstance(milliseconds, int) else math.inf


def _runs(host: Host, name: str) -> bool:
    return _state(host, name) is ServiceState.RUNNING


def _state(host: Host, name: str) -> ServiceState:
    return state_and_process(host, name)[0]


def _process(host: Host, name: str) -> int | None:
    return state_and_process(host, name)[1]


def state_and_process(host: Host, name: str) -> tuple[ServiceState, int | None]:
    """Of a service; one that cannot be asked counts as stopped."""
    try:
        status = host.services.status(name)
    except HostError:
        return ServiceState.STOPPED, None
    return status.state, status.pid


def _lack(host: Host, check: HealthCheck) -> str | None:
    subject = f"http://127.0.0.1:{check.port}{check.path}"
    try:
        answer = host.loopback.get(check.port, check.path, _ANSWER_WITHIN_SECONDS)
    except HostError:
        return f"{subject} has not answered"
    return None if answer == _WELL else f"{subject} has answered {answer}"


def _asked(records: Iterable[Record]) -> Iterable[tuple[Key, HealthCheck]]:
    for record in records:
        well = record.target.wanted.get("well")
        if isinstance(well, list):
            port, path = cast("Sequence[int | str]", well)
            yield record.target.key, HealthCheck(int(port), str(path))
