"""Services that others keep, and what of ours lives by them: a new process of theirs knows nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agent.host.errors import HostError
from agent.host.port import ServiceState
from agent.resources import kind_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from agent.engine.target import Record
    from agent.host.port import Host
    from agent.spec import Key


class Renewals:
    """Remembers in which process each of these services runs."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[str, tuple[bool, int | None]] = {}

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

    def renewed(self, records: Mapping[Key, Record]) -> Collection[str]:
        """Those that have started anew. Told once."""
        return {name for name in self.services(records) if self._is_renewed(name)}

    def due(self, records: Mapping[Key, Record], renewed: Collection[str]) -> Mapping[Key, str]:
        """Which of our services are to be restarted because those were, and why."""
        found = {}
        for key, record in records.items():
            causes = set(_restarts_with(record)).intersection(renewed)
            if causes and self._now(key.name)[0]:
                found[key] = f"service {', '.join(sorted(causes))}, which it depends on, has started anew"
        return found

    def _is_renewed(self, name: str) -> bool:
        """Not where it starts for the first time since this service did: it has forgotten nothing then."""
        now, known = self._now(name), self._known.get(name)
        runs = now[0]
        if runs or known is not None:
            self._known[name] = now
        return runs and known is not None and known != now

    def _now(self, name: str) -> tuple[bool, int | None]:
        """Whether it runs, and in which process."""
        try:
            status = self._host.services.status(name)
        except HostError:
            return (False, None)
        return (status.state is ServiceState.RUNNING, status.pid)


def _restarts_with(record: Record) -> Sequence[str]:
    return cast("Sequence[str]", record.target.manner.get("restarts_with", ()))
