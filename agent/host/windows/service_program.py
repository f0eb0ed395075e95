"""Being a service: what a process does that the SCM started.

Needs little, for the resident service pays for all of it at each start: no subprocess, no asyncio.
"""

import os
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import servicemanager
import win32service

from agent.host import winerror
from agent.host.errors import HostError
from agent.host.services import ENDING, Control, ServiceProgram, ServiceState
from agent.host.windows.failure import telling

START_HINT_SECONDS = 30.0
"""How long the SCM shall think nothing of it when a service says no word while it starts."""
_STOP_HINT_SECONDS = 30.0
"""The same of one that was asked to end, until it says itself how long that takes."""

# Of the last two requests of a Windows that shuts down preshutdown comes first and leaves more time; shutdown
# still comes to a service that was too slow for it.
_ACCEPTED = (
    win32service.SERVICE_ACCEPT_STOP
    | win32service.SERVICE_ACCEPT_SHUTDOWN
    | win32service.SERVICE_ACCEPT_PARAMCHANGE
    | win32service.SERVICE_ACCEPT_PRESHUTDOWN
)

_NO_ERROR = 0
_FAILED = 1
_CONTROLS = {control.value: control for control in Control}


def serve(name: str, program: ServiceProgram) -> int:
    """Services.serve: runs `program` as the service `name`; its exit code.

    Of servicemanager only what hosts a service is used: its calls for the event log rewrite an event source.
    So no exception leaves what it calls here: it would write that to the log.
    """
    service = _Service(name, program)

    class Entry:
        """What servicemanager makes an object of in a thread of the SCM's, and calls SvcRun of."""

        _svc_name_ = name

        def __init__(self, words: Sequence[str]) -> None:
            service.begin(words[1:])

        def SvcRun(self) -> None:  # noqa: N802 - servicemanager's name
            service.run()
            # If this returned, servicemanager would report STOPPED with exit code 0 after what was reported.
            # The dispatcher returns instead, and the process ends.
            threading.Event().wait()

    with telling("run", f"service {name}", "start it as a service"):
        servicemanager.PrepareToHostSingle(Entry)
        servicemanager.StartServiceCtrlDispatcher()  # type: ignore[no-untyped-call]
    if service.failure is not None:
        raise service.failure
    return service.exit_code


class _Service:
    def __init__(self, name: str, program: ServiceProgram) -> None:
        self._name = name
        self._program = program
        self._controls: _Controls | None = None
        self.exit_code = 0
        self.failure: BaseException | None = None

    def begin(self, arguments: Sequence[str]) -> None:
        """Take up the talk with the SCM. What it raises servicemanager takes for the service's failure."""
        controls = _Controls(arguments)
        try:
            handle = servicemanager.RegisterServiceCtrlHandler(self._name, self._handle, True)
        except BaseException as failure:
            self.failure = failure
            # The one exception that servicemanager does not write to the event log.
            raise servicemanager.startup_error from failure
        self._controls = controls
        controls.report_to(handle)

    def run(self) -> None:
        assert self._controls is not None
        try:
            self._controls.starting()
            self.exit_code = self._program(self._controls)
        except BaseException as failure:  # noqa: BLE001 - told by serve(); and the SCM must hear that this is the end
            self.failure, self.exit_code = failure, _FAILED
        try:
            self._controls.stopped(self.exit_code)
        except HostError:
            # Without that word the dispatcher would never return. The SCM sees the end of the process.
            os._exit(self.exit_code or _FAILED)

    def _handle(self, control: int, _event: int, _data: object) -> int:
        """Called in the dispatcher's thread; must answer at once, or the SCM takes the service for hung."""
        if control == win32service.SERVICE_CONTROL_INTERROGATE:
            return _NO_ERROR
        if control not in _CONTROLS or self._controls is None:
            return winerror.ERROR_CALL_NOT_IMPLEMENTED
        asked = _CONTROLS[control]
        if asked in ENDING:
            # Before the SCM has its answer: whoever asks for a stop and then looks would see nothing of it.
            # Wine's ends a process that is asked twice while it is RUNNING, and says RUNNING ever after.
            with suppress(HostError):
                self._controls.stopping(_STOP_HINT_SECONDS)
        try:
            self._controls.take(asked)
        except BaseException as failure:  # noqa: BLE001 - told by serve(), and not in servicemanager's words
            self.failure = failure
            return winerror.ERROR_GEN_FAILURE
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

    def starting(self) -> None:
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
        status = (
            win32service.SERVICE_WIN32_OWN_PROCESS,
            state.value,
            accepted,
            winerror.ERROR_SERVICE_SPECIFIC_ERROR if exit_code else 0,
            exit_code,
            self._checkpoint,
            int(hint_seconds * 1000),
        )
        with telling("report", f"that the service is {state.name}"):
            win32service.SetServiceStatus(self._handle, status)
