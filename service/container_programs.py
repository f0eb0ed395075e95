"""Programs in HostProcess containers that told HNS what it has forgotten: their processes are ended, in the
order in which they build upon each other, and the kubelet starts their containers anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

from agent.engine.target import Record
from agent.host.errors import HostError, NotFound
from agent.host.networks import HNS
from agent.host.port import Host
from agent.host.services import ServiceState
from agent.resources.container_program import running
from agent.resources.hns import delete_what_leads_nowhere
from agent.spec import Key
from service.renewals import Renewals

_AGAIN_SECONDS = 1.0
"""Nobody tells that there is a network."""
_PATIENCE_SECONDS = 300.0
"""Then every full look is often enough."""


class ContainerPrograms:
    """Remembers which networks there were when each of them was well."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[tuple[Key, str], str | None] = {}
        self._bereft: dict[Key, str] = {}
        """Why each is to start anew."""
        self._waits_since: float | None = None

    @property
    def again_seconds(self) -> float | None:
        """When to look again, though nothing has happened."""
        now = self._host.clock.monotonic()
        if self._waits_since is None or now - self._waits_since > _PATIENCE_SECONDS:
            return None
        return _AGAIN_SECONDS

    def note(self, records: Mapping[Key, Record], renewals: Renewals) -> None:
        """Whom HNS has forgotten, since nobody else remembers that it has started anew."""
        for key in records:
            if renewals.has_forgotten(HNS, partial(running, self._host, key.name)):
                self._bereft[key] = f"service {HNS}, which it depends on, has started anew"

    def end_bereft(self, records: Mapping[Key, Record]) -> Iterator[tuple[Key, str]]:
        """Whoever was ended, and why. Raises HostError."""
        networks = self._networks()
        for key, record in records.items():
            if networks is not None:
                self._compare(key, record, networks)
        for key in [key for key in self._bereft if key not in records]:
            del self._bereft[key]
        makers_first = sorted(self._bereft.items(), key=lambda each: bool(_of(records[each[0]], "needs")))
        for key, why in makers_first:
            if networks is not None and all(each in networks for each in _of(records[key], "needs")):
                del self._bereft[key]
                if self._end(key):
                    yield key, why
        if not self._bereft:
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = self._host.clock.monotonic()

    def _networks(self) -> Mapping[str, str] | None:
        """Their ids. None while HNS does not run, or cannot be asked: it is heard of when that is over.
        To ask would start it, and what it has forgotten would be told twice.
        """
        with suppress(HostError):
            if self._host.services.status(HNS).state is ServiceState.RUNNING:
                return {each.name: each.id for each in self._host.networks.list()}
        return None

    def _compare(self, key: Key, record: Record, networks: Mapping[str, str]) -> None:
        makes, needs = _of(record, "makes"), _of(record, "needs")
        for name in (*makes, *needs):
            known, now = self._known.get((key, name)), networks.get(name)
            self._known[key, name] = now
            if known is not None and now is None and name in makes:
                self._bereft.setdefault(key, f"network {name}, which it makes, was gone")
            elif known is not None and now != known and name in needs:
                self._bereft.setdefault(key, f"network {name}, which it needs, has been made anew")

    def _end(self, key: Key) -> bool:
        """Whether there was one. What it told of endpoints that are lost goes before it tells anew."""
        processes = running(self._host, key.name)
        for pid in processes:
            with suppress(NotFound):
                self._host.processes.end(pid)
        if processes:
            delete_what_leads_nowhere(self._host)
        return bool(processes)


def _of(record: Record, field: str) -> Sequence[str]:
    return cast("Sequence[str]", record.target.manner.get(field, ()))
