"""What differs between the commands that make a node: names of options, and who hears of warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.cli import options
from agent.cli.failure import BadUsage
from agent.cli.streams import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from agent.cli.arguments import Option


def _tell(line: str) -> None:
    tell(f"wmcb: {line}")


@dataclass(frozen=True, slots=True)
class Asking:
    ignored: Collection[str] = ()
    """Ids of checks whose errors are no more than warnings."""
    ignition: Option = options.IGNITION
    kubelet: Option = options.KUBELET
    notice: Callable[[str], None] = _tell
    """Takes a line for a person."""

    def warn(self, text: str) -> None:
        self.notice(f"warning: {text}")

    def object_to(self, check: str, text: str) -> None:
        """Raises BadUsage, unless somebody wants to go on in spite of it."""
        if check not in self.ignored:
            raise BadUsage(text)
        self.warn(text)
