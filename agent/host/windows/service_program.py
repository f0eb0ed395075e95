"""Being a service: what a process does that the SCM started.

Needs little, for the resident service pays for all of it at each start: no subprocess, no asyncio.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import queue
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.host.errors import HostError
from agent.host.port import ENDING, Control, ServiceState
from agent.host.windows.api import service_dispatch
from agent.host.windows.api.service_dispatch import Handler, ServiceMain, Status
from agent.host.windows.failure import telling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.host.port import ServiceProgram

START_HINT_SECONDS = 30.0
"""How long the SCM shall think nothing of it when a service says no word while it starts."""
_STOP_HINT_SECONDS = 30.0
"""The same of one that was asked to end, until it says itself how long that takes."""

_OWN_PROCESS = 0x10
_ACCEPT_STOP = 0x001
_ACCEPT_SHUTDOWN = 0x004
_ACCEPT_PARAMETERS = 0x008
_ACCEPT_PRESHUTDOWN = 0x100
# Of the last two requests of a Windows that shuts down preshutdown comes first and leaves more time; shutdown
# still comes to a service that was too slow for it.
_ACCEPTED = _ACCEPT_STOP | _ACCEPT_SHUTDOWN | _ACCEPT_PARAMETERS | _ACCEPT_PRESHUTDOWN

_NO_ERROR = 0
_CALL_NOT_IMPLEMENTED = 120
_SERVICE_SPECIFIC_ERROR = 1066
_FAILED = 1
_INTERROGATE = 4
_CONTROLS = {control.value: control for control in Control}


def serve(name: str, program: ServiceProgram) -> int:
    """Services.serve: runs `program` as the service `name`; its exit code."""
    service = _Service(name, program)
    main = ServiceMain(service.main)
    with telling("run", f"service {name}", "start it as a service"):
        service_dispatch.dispatch(name, main)
    if service.failure is not None:
        raise service.failure
    return service.exit_code


class _Service:
    def __init__(self, name: str, program: ServiceProgram) -> None:
        self._name = name
        self._program = program
        self._controls: _Controls | None = None
        # Windows keeps its address until the process ends.
        self._handler = Handler(self._handle)
        self.exit_code = 0
        self.failure: BaseException | None = None

    def main(self, count: int, texts: Sequence[str]) -> None:
        """ServiceMain: called in a thread of the SCM's own. When it returns the service must be STOPPED."""
        try:
            arguments = texts[1:count]
            self._controls = controls = _Controls(arguments)
            controls.report_to(service_dispatch.register(self._name, self._handler))
        except BaseException as failure:  # noqa: BLE001 - told by serve(); here nobody would see it
            self.failure = failure
            return
        try:
            self.exit_code = self._program(controls)
        except BaseException as failure:  # noqa: BLE001 - the same; and the SCM must hear that this is the end
            self.failure, self.exit_code = failure, _FAILED
        controls.stopped(self.exit_code)

    def _handle(self, control: int, _event: int, _data: int, _context: int) -> int:
        """Called in the dispatcher's thread; must answer at once, or the SCM takes the service for hung."""
        if control == _INTERROGATE:
            return _NO_ERROR
        if control not in _CONTROLS or self._controls is None:
            return _CALL_NOT_IMPLEMENTED
        asked = _CONTROLS[control]
        if asked in ENDING:
            # Before the SCM has its answer: whoever asks for a stop and then looks would see nothing of it.
            # Wine's ends a process that is asked twice while it is RUNNING, and says RUNNING ever after.
            with suppress(HostError):
                self._controls.stopping(_STOP_HINT_SECONDS)
        self._controls.take(asked)
        return _NO_ERROR


class _Controls:
    """ServiceControls of the port."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = arguments
        self._requests = queue.SimpleQueue[Control]()
        self.take: Callable[[Control], None] = self._requests.put
        self._handle = 0
        self._checkpoint = 0

    def report_to(self, handle: int) -> None:
        self._handle = handle
        self._report(ServiceState.START_PENDING, hint_seconds=START_HINT_SECONDS)

    def running(self) -> None:
        self._report(ServiceState.RUNNING, accepted=_ACCEPTED)

    def stopping(self, wait_hint_seconds: float) -> None:
        self._report(ServiceState.STOP_PENDING, hint_seconds=wait_hint_seconds)

    def stopped(self, exit_code: int) -> None:
        self._report(ServiceState.STOPPED, exit_code=exit_code)

    def next(self, seconds: float | None = None) -> Control | None:
        try:
            return self._requests.get(timeout=seconds)
        except queue.Empty:
            return None

    def hand_on(self, take: Callable[[Control], None]) -> None:
        self.take = take
        while (earlier := self.next(0)) is not None:
            take(earlier)

    def _report(
        self, state: ServiceState, *, accepted: int = 0, hint_seconds: float = 0, exit_code: int = 0
    ) -> None:
        # Each word while something is pending must differ from the last, or the SCM takes it for standstill.
        pending = state in (ServiceState.START_PENDING, ServiceState.STOP_PENDING)
        self._checkpoint = self._checkpoint + 1 if pending else 0
        status = Status(
            type=_OWN_PROCESS,
            state=state.value,
            accepted=accepted,
            exit_code=_SERVICE_SPECIFIC_ERROR if exit_code else 0,
            service_exit_code=exit_code,
            checkpoint=self._checkpoint,
            wait_hint=int(hint_seconds * 1000),
        )
        with telling("report", f"that the service is {state.name}"):
            service_dispatch.set_status(self._handle, status)
