"""What a change may have done to the kubelet where that shows only later, and what there was before."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from agent.spec import Key
from service.desired import Desired
from service.health import Hung
from service.standing import Standing

_SECONDS = 60.0
"""What becomes ill later may do so for any reason."""
_KEPT_SECONDS = 900.0
"""It is called hung only when it has been ill for longer than it may be."""


@dataclass(frozen=True, slots=True)
class Trial:
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
