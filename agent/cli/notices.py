"""What a run has to say before it begins, and not each time anew."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from agent.cli.run_log import RunLog
from agent.cli.streams import tell
from agent.host.port import Host
from agent.redaction import redacted

_WARNING = "warning: "


class Notices:
    """A warning that stands in the log of an earlier run is no news: little memory stays little memory."""

    def __init__(self, host: Host, *, also_known: bool) -> None:
        self._host = host
        self._also_known = also_known
        self.lines: list[str] = []
        """For the log of this run."""
        self._withheld: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        if self._also_known or not line.startswith(_WARNING) or redacted(line) not in self._known:
            tell(f"wmcb: {line}")
        else:
            self._withheld.append(line)

    def tell_the_rest(self) -> None:
        """To a run that changes something: what is warned of may be what that comes of."""
        for line in self._withheld:
            tell(f"wmcb: {line}")

    @cached_property
    def _known(self) -> Collection[str]:
        return RunLog(self._host).latest()
