"""Whether programs that run are well, asked every now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agent.host.errors import HostError
from agent.host.port import ServiceState
from agent.spec import HealthCheck

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent.engine.target import Record
    from agent.host.port import Host
    from agent.spec import Key

EVERY_SECONDS = 10.0
_ANSWER_WITHIN_SECONDS = 2.0
_WELL = 200


class Health:
    """Remembers since when a service has not been well."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._unwell_since: dict[Key, float] = {}

    def hung(self, records: Iterable[Record]) -> Mapping[Key, str]:
        """What runs and has not been well for longer than it may, and how that shows. Asks each."""
        found = {}
        for key, check in _asked(records):
            if not self._runs(key.name) or (lack := self._lack(check)) is None:
                self._unwell_since.pop(key, None)
                continue
            now = self._host.clock.monotonic()
            unwell = now - self._unwell_since.setdefault(key, now)
            if unwell >= check.within_seconds:
                del self._unwell_since[key]
                found[key] = f"{lack} for {unwell:.0f} seconds"
        return found

    def is_needed(self, records: Iterable[Record]) -> bool:
        """Whether anything runs that can be asked."""
        return any(self._runs(key.name) for key, _ in _asked(records))

    def _runs(self, name: str) -> bool:
        try:
            return self._host.services.status(name).state is ServiceState.RUNNING
        except HostError:
            return False

    def _lack(self, check: HealthCheck) -> str | None:
        subject = f"http://127.0.0.1:{check.port}{check.path}"
        try:
            answer = self._host.loopback.get(check.port, check.path, _ANSWER_WITHIN_SECONDS)
        except HostError:
            return f"{subject} has not answered"
        return None if answer == _WELL else f"{subject} has answered {answer}"


def _asked(records: Iterable[Record]) -> Iterable[tuple[Key, HealthCheck]]:
    for record in records:
        well = record.target.wanted.get("well")
        if isinstance(well, list):
            port, path = cast("Sequence[int | str]", well)
            yield record.target.key, HealthCheck(int(port), str(path))
