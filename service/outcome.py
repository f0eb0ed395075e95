"""What became of a ConfigMap that is followed: recorded, told, and on trial for a while."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent.engine.inventory import Inventory
from agent.engine.parts import FOLLOWED
from agent.engine.run import Done
from agent.host.port import Host
from agent.spec import Key
from service import standing
from service.arguments import Followed
from service.health import Hung, Soundness
from service.standing import Standing, State
from service.telling import Event, Telling

if TYPE_CHECKING:
    from service.desired import Desired
    from service.succeeding import Lag


PAUSED = "wmcb/paused"
"""An annotation of the Node: nothing is changed or repaired while it has a value other than false."""
_NOT_DONE = "not done"
_MOST_CUT_OFF = 3
_SECONDS = 60.0
"""What becomes ill later may do so for any reason."""
_KEPT_SECONDS = 900.0
"""It is called hung only when it has been ill for longer than it may be."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a change may have done to the kubelet where that shows only later, and what there was before."""

    wanted: Desired
    former: Desired | None
    """What was made before; None for nothing."""
    standing: Standing
    """As it was then."""
    well: Collection[Key]
    """Who was well before the change, and after it."""
    began: float

    def is_over(self, now: float) -> bool:
        return now > self.began + _KEPT_SECONDS

    def harm(self, hung: Mapping[Key, Hung]) -> str | None:
        """That one of these became ill soon after the change; None if none did."""
        for key, each in hung.items():
            if key in self.well and each.since <= self.began + _SECONDS:
                later = max(0.0, each.since - self.began)
                return f"{key} became ill {later:.0f} seconds later: {each.how}"
        return None


class Outcome:
    """Works in the one thread that decides."""

    def __init__(self, host: Host, followed: Followed, telling: Telling) -> None:
        self._host = host
        self._followed = followed
        self._telling = telling
        self.standing = Standing(followed.place)
        self._is_read = False
        self.was_cut_off = False
        """The run before; what it was to make has not been begun again."""
        self.made: Desired | None = None
        """What all of the part was made of last, as far as this process has seen that."""
        self.trial: Trial | None = None

    @property
    def pause(self) -> str | None:
        """Who wants nothing to be changed or repaired, and why; None for nobody."""
        if (reason := self.standing.paused_by_node) is not None:
            return _because(f"its Node's annotation {PAUSED}", reason)
        if (reason := self.standing.paused_by_document) is not None:
            return _because(str(self._followed), reason)
        return None

    def forget(self) -> None:
        """This machine is no node."""
        self.standing, self._is_read = Standing(self._followed.place), False

    def remember(self) -> None:
        if self._is_read:
            return
        known = standing.read(self._host)
        if known is not None and known.followed == self._followed.place:
            self.standing = known
        self._is_read = True

    def may_begin(self, wanted: Desired) -> bool:
        """What is begun again and again, and never comes to an end, may be what cuts it off."""
        if self.was_cut_off:
            known = self.standing.times if self.standing.cut_off == wanted.content else 0
            self.stand(cut_off=wanted.content, times=known + 1)
            self.was_cut_off = False
        if self.standing.cut_off == wanted.content and self.standing.times >= _MOST_CUT_OFF:
            times = self.standing.times
            self.stand(failed=wanted.content, cut_off="", times=0)
            self.fail(f"it was cut off {times} times")
            return False
        self.stand(failed="", failed_by="")
        return True

    def put_on_trial(
        self, wanted: Desired, done: Done, inventory: Inventory, sound: Soundness, *, is_whole: bool
    ) -> None:
        """Where it is known what there was before, all of it."""
        was, former = inventory.recipe_of(FOLLOWED), self.made
        self.trial = self.made = None
        if not is_whole or done.awaiting:
            return
        self.made = wanted
        if has_nothing(inventory):
            former = None
        elif former is None or former.digest != was:
            return
        if done.plan.changes:
            now = self._host.clock.monotonic()
            self.trial = Trial(wanted, former, self.standing, sound.well, now)

    def stand_as_applied(self, wanted: Desired, lag: Lag | None) -> None:
        self._telling.is_over(_NOT_DONE)
        is_new = self.standing.applied != wanted.digest
        self.stand(
            state=lag.state if lag else State.APPLIED,
            error=lag.text if lag else "",
            turn=lag.turn if lag else None,
            applied=wanted.digest,
            version=wanted.version if is_new else self.standing.version or wanted.version,
            documents=wanted.hashes,
        )

    def wait(self, times: list[float | None]) -> float | None:
        """Record that it waits for each of these times; None stands for one that does not come by time alone.

        Returns the first of them.
        """
        known = sorted(time for time in times if time is not None)
        last = None if None in times else known[-1]
        self.stand(state=State.PENDING, error="", turn=last)
        self._telling.tell_once(_NOT_DONE, Event.PENDING, f"{self._followed}: {_waits(last)}")
        return known[0] if known else None

    def wait_for_restart(self, done: Done) -> None:
        text = f"{'; '.join(done.awaiting.values())}; nobody but you restarts it"
        self._telling.tell_once(_NOT_DONE, Event.PENDING, f"{self._followed}: {text}")
        self.stand(state=State.PENDING, error=text, turn=None)

    def miss(self) -> None:
        text = f"there is no {self._followed}; what it made stays"
        self._telling.tell_once(_NOT_DONE, Event.MISSING, text)
        self.stand(state=State.MISSING, error="", turn=None, paused_by_document=None)

    def refuse(self, text: str) -> None:
        self._telling.tell_once(_NOT_DONE, Event.REFUSED, f"{text}; nothing was changed")
        self.stand(state=State.REFUSED, error=text, turn=None)

    def fail(self, text: str) -> None:
        why = text.removeprefix(f"{self._followed}, ")
        line = f"{self._followed} could not be made so: {why}; not tried again until it is changed"
        self._telling.tell_once(_NOT_DONE, Event.FAILED, line)
        self.stand(state=State.FAILED, error=text, turn=None, failed_by=text)

    def stand(self, **changes: Any) -> None:
        now = replace(self.standing, **changes)
        if now != self.standing:
            self.standing = now
            standing.write(self._host, now)


def has_nothing(inventory: Inventory) -> bool:
    """Of the ConfigMap. No recipe is there also while something of it awaits a restart of Windows."""
    return not inventory.recipe_of(FOLLOWED) and not any(
        FOLLOWED in record.parts for record in inventory.records.values()
    )


def _because(who: str, reason: str) -> str:
    return f"{who} wants it{f' ({reason})' if reason else ''}"


def _waits(at: float | None) -> str:
    if at is None:
        return "this node does not take part in its rollout yet"
    return time.strftime("this node's turn comes at %Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
