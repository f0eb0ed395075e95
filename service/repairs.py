"""What is repaired when, and what is told of it: not the same thing over and over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from agent.amounts import in_seconds
from agent.backoff import Backoff
from agent.engine.repairing import Drift, Found, Repaired, missing
from agent.engine.target import Record
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources.kind import field_in_words
from agent.spec import Key
from service.renewals import Renewals
from service.telling import LEFT, Event, Telling
from service.work_queue import Agenda, Errand

if TYPE_CHECKING:
    from service.mending import Mending


FULL_LOOK_SECONDS = 600.0
"""A net below the watches: Windows may lose count of changes, and of some it tells nobody."""
TROUBLE_SECONDS = 60.0
_NOT_RESTARTED = "not restarted"
_RAN_WELL_SECONDS = 600.0

_OFTEN = 3
_WHILE_SECONDS = 600.0


class Repairs:
    """Remembers what was repaired, and what was in vain."""

    def __init__(
        self,
        host: Host,
        telling: Telling,
        agenda: Agenda[Key | Errand],
        renewals: Renewals,
        make_mending: Callable[[], Mending] | None,
    ) -> None:
        self._host = host
        self._telling = telling
        self._agenda = agenda
        self._renewals = renewals
        self._make_mending = make_mending
        self._mending: Mending | None = None
        self.starts: dict[Key, Starts] = {}
        self._repeats = Repeats()
        self._attempts = Repeats()
        """What could not be put right."""
        self._unseen = Unseen()

    def due(self, keys: Collection[Key] | None, found: Found, records: Mapping[Key, Record]) -> list[Drift]:
        """Return what is to be repaired now, of what was found at a look at these, or at everything."""
        self._note_unseen(keys, found.unseen)
        self._forget_what_is_well(records if keys is None else keys, found)
        now = self._host.clock.monotonic()
        chosen = [drift for drift in found.drifts if self._is_time_for(drift, now)]
        return self._without_what_is_fetched_first(chosen)

    def ends(self, chosen: Sequence[Drift]) -> Mapping[Key, str]:
        """Return how those services have ended that have stopped."""
        return {drift.key: self._end_of(drift) for drift in chosen if drift.has_stopped}

    def tidy(self) -> None:
        """Remove what was fetched for a repair."""
        if self._mending is not None:
            self._mending.tidy()

    def tell_of_restarts(self, event: Event, whys: Mapping[Key, str], repaired: Repaired) -> None:
        for key, why in whys.items():
            if key in repaired.restarted:
                self._renewals.restarted(key)
                self._telling.is_over((_NOT_RESTARTED, key))
                self._telling.tell(event, f"{key} was restarted: {why}")
            elif key not in repaired.postponed:
                self._tell_not_restarted(key, why, repaired.trouble)

    def _tell_not_restarted(self, key: Key, why: str, trouble: Sequence[str]) -> None:
        again = self._host.clock.monotonic() + TROUBLE_SECONDS
        self._renewals.put_off(key, again)
        self._agenda.at(key, again)
        if not self._telling.stands((_NOT_RESTARTED, key)):
            lines = "; ".join(line for line in trouble if key.shown in line)
            text = f"{key} has to be restarted ({why}), and could not be"
            self._telling.tell_once(
                (_NOT_RESTARTED, key), Event.TROUBLE, f"{text}: {lines or 'it cannot be looked at'}"
            )

    def tell_of(self, chosen: Sequence[Drift], ends: Mapping[Key, str], repaired: Repaired) -> None:
        left = {drift.key: drift for drift in repaired.left}
        now = self._host.clock.monotonic()
        for drift in chosen:
            remaining = left.get(drift.key, Drift(drift.key, ())).fields
            mended = tuple(field for field in drift.fields if field not in remaining)
            if drift.has_stopped:
                self.starts[drift.key].started(now)
                if mended:
                    text = f"{drift.key} had stopped ({ends[drift.key]}), and was started"
                    self._telling.tell(Event.STARTED, text)
            else:
                self._repeats.repaired(drift.key, mended, now)
                self._attempts.repaired(drift.key, remaining, now)
                if mended:
                    was = "was gone" if drift.is_missing else "had been changed"
                    text = f"{drift.key} {was}, and was put right ({_named(mended)})"
                    self._telling.tell(Event.REPAIRED, text)
            if remaining:
                self._tell_of_left(drift.key, remaining, repaired.trouble)

    def _tell_of_left(self, key: Key, fields: tuple[str, ...], trouble: Sequence[str]) -> None:
        why = self._mending.why(key.name) if self._mending is not None else None
        why = why or "; ".join(line for line in trouble if key.shown in line)
        text = f"{key} is not as it was made ({_named(fields)}), and could not be put right"
        advice = "make the node again with the options that made it"
        self._telling.tell_once((LEFT, key), Event.NOT_REPAIRED, f"{text}: {why or advice}")
        self._agenda.after(0.0 if fields == ("state",) else FULL_LOOK_SECONDS, key)

    def _note_unseen(self, keys: Collection[Key] | None, unseen: Mapping[Key, str]) -> None:
        for key, seconds in self._unseen.looked(keys, unseen).items():
            self._agenda.after(seconds, key)
        if self._unseen.faults:
            lines = (f"{key}: {why}" for key, why in self._unseen.faults.items())
            text = f"cannot look at everything: {'; '.join(lines)}"
            self._telling.tell_once("unseen", Event.TROUBLE, text)
        else:
            self._telling.is_over("unseen")

    def _forget_what_is_well(self, keys: Collection[Key], found: Found) -> None:
        otherwise = {*found.unseen, *(drift.key for drift in found.drifts)}
        for key in keys:
            if key not in otherwise:
                for topic in ("stops", "again", LEFT):
                    self._telling.is_over((topic, key))
                self._attempts.forget(key)
                if not self._renewals.awaits(key):
                    self._telling.is_over((_NOT_RESTARTED, key))
                if key in self.starts:
                    self.starts[key].runs()

    def _is_time_for(self, drift: Drift, now: float) -> bool:
        if drift.has_stopped:
            due = self.starts.setdefault(drift.key, Starts()).due(now)
        else:
            due = max(each.due(drift.key, drift.fields, now) for each in (self._repeats, self._attempts))
        if due <= now:
            return True
        self._agenda.at(drift.key, due)
        if drift.has_stopped:
            pause = self.starts[drift.key].pause
            text = (
                f"{drift.key} keeps stopping ({self._end_of(drift)}); started again after {in_seconds(pause)}"
            )
            self._telling.tell_once(("stops", drift.key), Event.STOPS_AGAIN, text)
        elif not self._telling.stands((LEFT, drift.key)):
            text = (
                f"{drift.key} is changed again and again ({_named(drift.fields)}); repaired every ten minutes"
            )
            self._telling.tell_once(("again", drift.key), Event.AGAIN_AND_AGAIN, text)
        return False

    def _end_of(self, drift: Drift) -> str:
        try:
            return f"exit code {self._host.services.status(drift.key.name).exit_code}"
        except HostError:
            return "it is gone"

    def _without_what_is_fetched_first(self, chosen: list[Drift]) -> list[Drift]:
        """What is fetched is told when it is there, or cannot be had."""
        if self._make_mending is None or not any("sha256" in drift.fields for drift in chosen):
            return chosen
        lacking = missing(self._host, chosen)
        if not lacking:
            return chosen
        self._mending = self._mending or self._make_mending()
        if not self._mending.begin(lacking):
            return chosen
        return [drift for drift in chosen if drift.key.name not in lacking]


def _named(fields: Sequence[str]) -> str:
    return ", ".join(map(field_in_words, fields))


class Starts:
    """Of one service: at once when it ran well before, else after a pause that doubles each time."""

    def __init__(self) -> None:
        self.pause = 0.0
        """Before the next start, if it stops now."""
        self._backoff = Backoff(1.0, 300.0)
        self._last: float | None = None
        self._due: float | None = None

    def due(self, now: float) -> float:
        """When one that is found stopped may be started."""
        if self._due is None:
            if self._last is not None and now - self._last >= _RAN_WELL_SECONDS:
                self.pause = 0.0
                self._backoff.reset()
            self._due = now + self.pause
        return self._due

    def started(self, now: float) -> None:
        self._last, self._due = now, None
        self.pause = self._backoff.next()

    def runs(self) -> None:
        """Whoever has started it."""
        self._due = None


class Repeats:
    """Of repairs: where somebody changes the same field again and again, once in ten minutes has to do."""

    def __init__(self) -> None:
        self._repairs: dict[tuple[Key, str], _Repairs] = {}

    def due(self, key: Key, fields: tuple[str, ...], now: float) -> float:
        """When these may be repaired."""
        return max((self._due((key, field), now) for field in fields), default=now)

    def repaired(self, key: Key, fields: tuple[str, ...], now: float) -> None:
        for field in fields:
            self._repairs.setdefault((key, field), _Repairs()).add(now)

    def forget(self, key: Key) -> None:
        for what in [each for each in self._repairs if each[0] == key]:
            del self._repairs[what]

    def _due(self, what: tuple[Key, str], now: float) -> float:
        repairs = self._repairs.get(what)
        if repairs is None:
            return now
        if now - repairs.last >= 2 * _WHILE_SECONDS:
            del self._repairs[what]  # it has stayed as it was made
            return now
        return max(now, repairs.last + _WHILE_SECONDS) if repairs.are_many else now


class Unseen:
    """Of what could not be looked at: tried again after a pause that doubles.

    While Windows starts much is not there yet; other things stay so for good.
    """

    def __init__(self) -> None:
        self.faults: dict[Key, str] = {}
        self._pauses: dict[Key, Backoff] = {}

    def looked(self, keys: Collection[Key] | None, unseen: Mapping[Key, str]) -> Mapping[Key, float]:
        """At these, or at everything; in how many seconds each of the unseen ones is to be tried again."""
        seen = [key for key in self.faults if key not in unseen and (keys is None or key in keys)]
        for key in seen:
            del self.faults[key], self._pauses[key]
        self.faults |= unseen
        return {key: self._pauses.setdefault(key, Backoff(1.0, _WHILE_SECONDS)).next() for key in unseen}


class _Repairs:
    def __init__(self) -> None:
        self._times: list[float] = []
        self.are_many = False

    @property
    def last(self) -> float:
        return self._times[-1]

    def add(self, now: float) -> None:
        self._times = [*self._times, now][-_OFTEN:]
        if len(self._times) == _OFTEN and now - self._times[0] < _WHILE_SECONDS:
            self.are_many = True
