"""The services' document, always as it is once it is written down whose process has ended since."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from agent.host import winerror
from agent.host.errors import NotFound, host_error
from agent.host.port import ServiceState
from agent.host.sandbox.bell import Bell
from agent.host.sandbox.places import name_key
from agent.host.sandbox.programs import SERVICES, Programs
from agent.host.sandbox.service_records import run, state_of
from agent.host.sandbox.state import Document, State

_SILENT_START_SECONDS = 0.1
"""A program that knows nothing of services counts as running when it has lived so long."""


class ServiceDocument:
    def __init__(self, state: State, programs: Programs) -> None:
        self._state = state
        self._programs = programs

    def read(self) -> Document:
        """Records by their names' keys."""
        document = self._state.read(SERVICES)
        if not any(self._has_news(record) for record in document.values()):
            return document
        with self.changing() as document:
            return document

    @contextmanager
    def changing(self) -> Iterator[Document]:
        with self._state.changing(SERVICES) as document:
            for key, record in [*document.items()]:
                self._settle(record)
                if record["marked"] and state_of(record) is ServiceState.STOPPED:
                    del document[key]
            yield document

    def bell(self) -> Bell:
        return self._state.bell()

    def wait(self, bell: Bell, names: list[str], seconds: float) -> None:
        """Until something may have changed about these services."""
        keepers = []
        for record in self._chosen(names):
            process = record["run"].get("process")
            if process and self._programs.exit_code(process) is not None:
                return
            if process:
                keepers.append(process["keeper"])
                seconds = min(seconds, _silence_left(record))
        bell.wait(seconds, keepers)

    def exit_code(self, pid: int) -> int | None:
        """Of a service's process that has ended."""
        for record in self._state.read(SERVICES).values():
            process = record["run"].get("process")
            if process and process["pid"] == pid:
                return self._programs.exit_code(process)
            if record["run"].get("ended", [None])[0] == pid:
                return int(record["run"]["ended"][1])
        return None

    def _chosen(self, names: list[str]) -> list[Document]:
        document = self._state.read(SERVICES)
        return [record for name in names if (record := document.get(name_key(name))) is not None]

    def _has_news(self, record: Document) -> bool:
        process = record["run"].get("process")
        if record["marked"] and state_of(record) is ServiceState.STOPPED:
            return True
        return bool(process) and (_silence_left(record) <= 0 or self._programs.exit_code(process) is not None)

    def _settle(self, record: Document) -> None:
        now = record["run"]
        process = now.get("process")
        if not process:
            return
        exit_code = self._programs.exit_code(process)
        if exit_code is None:
            if _silence_left(record) <= 0:
                now |= run(ServiceState.RUNNING)
            return
        self._programs.forget(process)
        last_word = {name: now[name] for name in run(ServiceState.STOPPED)}
        if state_of(record) is not ServiceState.STOPPED:
            # One that knows nothing of services was stopped by a signal, and that is how it ends.
            was_stopped = state_of(record) is ServiceState.STOP_PENDING and not now["speaks"]
            last_word = run(
                ServiceState.STOPPED, exit_code=0 if was_stopped else winerror.ERROR_PROCESS_ABORTED
            )
        record["run"] = last_word | {"ended": [process["pid"], exit_code]}


def existing(document: Document, action: str, name: str) -> Document:
    record: Document | None = document.get(name_key(name))
    if record is None:
        raise NotFound(action, f"service {name}", winerror.ERROR_SERVICE_DOES_NOT_EXIST)
    return record


def unmarked(document: Document, action: str, name: str) -> Document:
    record = existing(document, action, name)
    if record["marked"]:
        raise host_error(action, f"service {name}", winerror.ERROR_SERVICE_MARKED_FOR_DELETE)
    return record


def _silence_left(record: Document) -> float:
    """How long until a program that says nothing of itself counts as running."""
    now = record["run"]
    if now["speaks"] or state_of(record) is not ServiceState.START_PENDING:
        return float("inf")
    return float(now["since"]) + _SILENT_START_SECONDS - time.time()
