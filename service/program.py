"""What the resident service does between start and stop."""

from __future__ import annotations

from agent.host.port import Control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.host.port import ServiceControls

STOP_SECONDS = 5.0
"""How long it may take from a request to stop until it has stopped."""

_ENDING = (Control.STOP, Control.PRESHUTDOWN, Control.SHUTDOWN)


def resident(controls: ServiceControls) -> int:
    """Runs as long as Windows lets it; its exit code."""
    controls.running()
    while controls.next() not in _ENDING:
        pass  # parameters changed: there are none yet
    controls.stopping(STOP_SECONDS)
    return 0
