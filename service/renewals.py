"""Services that others keep, and what of ours lives by them: a new process of theirs knows nothing of it.

One that started anew while nobody looked is known by its time: whoever told it something is older than it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from agent.engine.target import Record
from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.services import ServiceState
from agent.resources import kind_named
from agent.spec import Key
from service.health import state_and_process

_MAY_HAVE_STARTED_IT_SECONDS = 5.0
"""Windows starts such a service when a program asks it for the first time, soon after that began itself."""


@dataclass(frozen=True, slots=True)
class _Bereft:
    """Of our services, one that has not been restarted yet."""

    why: str
    pid: int | None
    not_before: float = 0.0


class Renewals:
    """Remembers in which process each of these services runs, and who is to be restarted for it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[str, tuple[bool, int | None]] = {}
        self._renewed: Collection[str] = ()
        self._first_seen: Mapping[str, float] = {}
        """When those began that the last look saw for the first time."""
        self._bereft: dict[Key, _Bereft] = {}

    @staticmethod
    def services(records: Mapping[Key, Record]) -> Iterable[str]:
        """Those that resources of ours live by."""
        kept_by = (kind_named(key.kind).kept_by for key in records)
        needed = (name for record in records.values() for name in _restarts_with(record))
        return dict.fromkeys([*(name for name in kept_by if name is not None), *needed])

    @staticmethod
    def kept(service: str, records: Mapping[Key, Record]) -> Iterable[Key]:
        """What may be lost with it."""
        return [key for key in records if kind_named(key.kind).kept_by == service]

    def look(self, records: Mapping[Key, Record]) -> None:
        """Which have started anew since the last time."""
        known = set(self._known)
        self._renewed = {name for name in self.services(records) if self._is_renewed(name)}
        new = [name for name in self._known if name not in known]
        self._first_seen = {name: time for name in new if (time := self._began(self._now(name)[1]))}

    def due(self, records: Mapping[Key, Record]) -> Mapping[Key, str]:
        """Which of our services are to be restarted because of that, and why: each until that is done."""
        for key in [key for key in self._bereft if key not in records or self._has_ended(key)]:
            del self._bereft[key]
        for key, record in records.items():
            causes = [name for name in _restarts_with(record) if self._has_forgotten_service(name, key.name)]
            if causes:
                why = f"service {', '.join(sorted(causes))}, which it depends on, has started anew"
                self._bereft[key] = _Bereft(why, self._now(key.name)[1])
        now = self._host.clock.monotonic()
        return {key: each.why for key, each in self._bereft.items() if each.not_before <= now}

    def awaits(self, key: Key) -> bool:
        return key in self._bereft

    def restarted(self, key: Key) -> None:
        self._bereft.pop(key, None)

    def put_off(self, key: Key, until: float) -> None:
        if key in self._bereft:
            self._bereft[key] = replace(self._bereft[key], not_before=until)

    def has_forgotten(self, name: str, processes: Callable[[], Iterable[int]]) -> bool:
        """Whether that service knows nothing of what these processes have told it."""
        if name in self._renewed:
            return True
        if (began := self._first_seen.get(name)) is None:
            return False
        times = [time for pid in processes() if (time := self._began(pid))]
        return any(began - time > _MAY_HAVE_STARTED_IT_SECONDS for time in times)

    def _has_forgotten_service(self, name: str, ours: str) -> bool:
        runs, pid = self._now(ours)
        return runs and self.has_forgotten(name, lambda: [] if pid is None else [pid])

    def _has_ended(self, key: Key) -> bool:
        """The process that was to; another one knows what there is to know."""
        runs, pid = self._now(key.name)
        return pid != self._bereft[key].pid or (pid is None and not runs)

    def _began(self, pid: int | None) -> float | None:
        try:
            return None if pid is None else self._host.processes.started_at(pid)
        except HostError:
            return None

    def _is_renewed(self, name: str) -> bool:
        """Not where it starts for the first time since this service did: it has forgotten nothing then."""
        now, known = self._now(name), self._known.get(name)
        runs = now[0]
        if runs or known is not None:
            self._known[name] = now
        return runs and known is not None and known != now

    def _now(self, name: str) -> tuple[bool, int | None]:
        """Whether it runs, and in which process."""
        state, pid = state_and_process(self._host, name)
        return state is ServiceState.RUNNING, pid


def _restarts_with(record: Record) -> Sequence[str]:
    return cast("Sequence[str]", record.target.manner.get("restarts_with", ()))
