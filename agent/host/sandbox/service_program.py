"""Being a service of the sandbox: what a process does that its service control manager started."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from agent.host import winerror
from agent.host.errors import NotAService
from agent.host.port import ENDING, Control, ServiceProgram, ServiceState
from agent.host.sandbox.bell import Bell
from agent.host.sandbox.places import name_key
from agent.host.sandbox.service_document import ServiceDocument
from agent.host.sandbox.service_records import run

DIRECTORY_VARIABLE = "WMCB_SANDBOX"
SERVICE_VARIABLE = "WMCB_SANDBOX_SERVICE"
"""How a program that the sandbox starts finds its sandbox, and knows that it is a service."""
_FAILED = 1
_START_HINT_SECONDS = 30.0
_LONGEST_WAIT_SECONDS = 3600.0


def serve(document: ServiceDocument, name: str, program: ServiceProgram) -> int:
    """Services.serve."""
    own_name = os.environ.get(SERVICE_VARIABLE, "")
    if name_key(own_name) != name_key(name) or name_key(name) not in document.read():
        raise NotAService(
            "run",
            f"service {name}",
            winerror.ERROR_FAILED_SERVICE_CONTROLLER_CONNECT,
            "start it as a service",
        )
    with closing(document.bell()) as bell:
        controls = SandboxControls(document, bell, name)
        exit_code = _FAILED
        try:
            exit_code = program(controls)
        finally:
            controls.stopped(exit_code)
    return exit_code


class SandboxControls:
    """ServiceControls of the port."""

    def __init__(self, document: ServiceDocument, bell: Bell, name: str) -> None:
        self._document = document
        self._bell = bell
        self._key = name_key(name)
        self._checkpoint = 0
        self.arguments: Sequence[str] = tuple(document.read()[self._key]["run"].get("arguments", ()))
        self._report(ServiceState.START_PENDING, hint_seconds=_START_HINT_SECONDS)

    def running(self) -> None:
        self._report(ServiceState.RUNNING)

    def stopping(self, wait_hint_seconds: float) -> None:
        self._report(ServiceState.STOP_PENDING, hint_seconds=wait_hint_seconds)

    def stopped(self, exit_code: int) -> None:
        self._report(ServiceState.STOPPED, own_exit_code=exit_code)

    def next(self, seconds: float | None = None) -> Control | None:
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        while True:
            if (control := self._take()) is not None:
                return control
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._bell.wait(min(left, _LONGEST_WAIT_SECONDS))

    def hand_on(self, take: Callable[[Control], None]) -> None:
        threading.Thread(target=self._hand_on, args=(take,), daemon=True).start()

    def _hand_on(self, take: Callable[[Control], None]) -> None:
        control = None
        while control not in ENDING:
            if (control := self.next()) is not None:
                take(control)

    def _take(self) -> Control | None:
        if not self._document.read()[self._key]["run"]["controls"]:
            return None
        with self._document.changing() as document:
            return Control(document[self._key]["run"]["controls"].pop(0))

    def _report(self, state: ServiceState, *, hint_seconds: float = 0, own_exit_code: int = 0) -> None:
        pending = state in (ServiceState.START_PENDING, ServiceState.STOP_PENDING)
        self._checkpoint = self._checkpoint + 1 if pending else 0
        with self._document.changing() as document:
            document[self._key]["run"] |= {"speaks": True} | run(
                state,
                exit_code=winerror.ERROR_SERVICE_SPECIFIC_ERROR if own_exit_code else 0,
                own_exit_code=own_exit_code,
                checkpoint=self._checkpoint,
                hint=int(hint_seconds * 1000),
            )
