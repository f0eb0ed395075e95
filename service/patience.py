"""How often the same thing is mended before it is left alone for a while."""

from collections.abc import Collection, Mapping

from agent.spec import Key

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_RAN_WELL_SECONDS = 600.0

_OFTEN = 3
_WHILE_SECONDS = 600.0


class Starts:
    """Of one service: at once when it ran well before, else after a pause that doubles each time."""

    def __init__(self) -> None:
        self.pause = 0.0
        """Before the next start, if it stops now."""
        self._last: float | None = None
        self._due: float | None = None

    def due(self, now: float) -> float:
        """When one that is found stopped may be started."""
        if self._due is None:
            if self._last is not None and now - self._last >= _RAN_WELL_SECONDS:
                self.pause = 0.0
            self._due = now + self.pause
        return self._due

    def started(self, now: float) -> None:
        self._last, self._due = now, None
        self.pause = min(max(_FIRST_PAUSE_SECONDS, 2 * self.pause), _LONGEST_PAUSE_SECONDS)

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
        self._pauses: dict[Key, float] = {}

    def looked(self, keys: Collection[Key] | None, unseen: Mapping[Key, str]) -> Mapping[Key, float]:
        """At these, or at everything; in how many seconds each of the unseen ones is to be tried again."""
        seen = [key for key in self.faults if key not in unseen and (keys is None or key in keys)]
        for key in seen:
            del self.faults[key], self._pauses[key]
        self.faults |= unseen
        for key in unseen:
            before = self._pauses.get(key, 0.0)
            self._pauses[key] = min(max(_FIRST_PAUSE_SECONDS, 2 * before), _WHILE_SECONDS)
        return {key: self._pauses[key] for key in unseen}


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
