"""A restart of Windows, waited for from afar."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.wmcb.windows.plugins.module_utils.machine import Machine, Unfit

# So that the answer to the command comes back; planned, for an operating system's reconfiguration.
_SHUTDOWN = ("/r", "/t", "3", "/d", "p:2:4")
_PAUSE = 2.0


def restart(machine: Machine, seconds: float) -> None:
    """Returns when it can be reached again."""
    end = time.monotonic() + seconds
    with suppress(AnsibleConnectionFailure):  # it was quicker than its answer
        ended = machine.run("shutdown.exe", _SHUTDOWN)
        if ended.code:
            raise Unfit(f"Windows cannot be restarted: {(ended.err or ended.out).strip()}")
    _until(lambda: not _answers(machine), end, "was to restart, and goes on")
    _until(lambda: _answers(machine), end, "was restarted, and does not come back")


def _answers(machine: Machine) -> bool:
    with suppress(AnsibleError):
        machine.connect_anew()
        return machine.answers()
    return False


def _until(condition: Callable[[], bool], end: float, instead: str) -> None:
    while not condition():
        if time.monotonic() > end:
            raise Unfit(f"the machine {instead}")
        time.sleep(_PAUSE)
