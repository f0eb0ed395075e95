"""Services as the sandbox has them: how each is registered and runs, in a document, and how it is watched."""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from agent.host import commandline, definitions, winerror
from agent.host.errors import NotFound, host_error
from agent.host.port import Clock, Watch
from agent.host.sandbox.places import name_key
from agent.host.sandbox.programs import SERVICES, Programs
from agent.host.sandbox.state import Bell, Document, State
from agent.host.services import ServiceDefinition, ServiceEvent, ServiceState, ServiceStatus

NEVER_STARTED = 1077
_PRESHUTDOWN_MILLISECONDS = 10_000


def fresh() -> Document:
    """What a record has beside the registration, when it is new."""
    stopped = run(ServiceState.STOPPED, exit_code=NEVER_STARTED)
    return {"preshutdown_milliseconds": _PRESHUTDOWN_MILLISECONDS, "marked": False, "run": stopped}


def registration(definition: ServiceDefinition, line: str) -> Document:
    record = definitions.document_of(definition) | {"name": definition.name, "image_path": line}
    del record["command"]
    if definition.preshutdown_milliseconds is None:
        del record["preshutdown_milliseconds"]
    return record


def definition_of(record: Document) -> ServiceDefinition:
    command = commandline.split(record["image_path"])
    return definitions.definition_of(record["name"], record | {"command": command})


def run(
    state: ServiceState, *, exit_code: int = 0, own_exit_code: int = 0, checkpoint: int = 0, hint: int = 0
) -> Document:
    """What a service reports of itself, or the SCM of it."""
    return {
        "state": state.name,
        "exit_code": exit_code,
        "own_exit_code": own_exit_code,
        "checkpoint": checkpoint,
        "hint": hint,
    }


def state_of(record: Document) -> ServiceState:
    return ServiceState[record["run"]["state"]]


def status_of(record: Document) -> ServiceStatus:
    now, state = record["run"], state_of(record)
    process = now.get("process")
    return ServiceStatus(
        state=state,
        pid=process["pid"] if process and state is not ServiceState.STOPPED else None,
        exit_code=now["exit_code"],
        service_exit_code=now["own_exit_code"],
        checkpoint=now["checkpoint"],
        wait_hint_milliseconds=now["hint"],
    )


_SILENT_START_SECONDS = 0.1
"""A program that knows nothing of services counts as running when it has lived so long."""


class ServiceDocument:
    """Always as it is once it is written down whose process has ended since."""

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


class WatchedService(AbstractContextManager["WatchedService"]):
    """A ServiceView (agent.host.waiting)."""

    def __init__(self, document: ServiceDocument, name: str) -> None:
        self._document = document
        self._name = name
        self._seen: ServiceStatus | None = None
        self._bell = document.bell()

    def __exit__(self, *_: object) -> None:
        self._bell.close()

    def status(self) -> ServiceStatus:
        record = self._document.read().get(name_key(self._name))
        if record is not None:
            self._seen = status_of(record)
        elif self._seen is not None:
            # On Windows a deleted service lives as long as somebody has it open; it goes when it has stopped.
            self._seen = replace(self._seen, state=ServiceState.STOPPED, pid=None)
        else:
            raise NotFound("wait for", f"service {self._name}", winerror.ERROR_SERVICE_DOES_NOT_EXIST)
        return self._seen

    def ended(self, pid: int) -> int | None:
        return self._document.exit_code(pid)

    def wait(self, seconds: float) -> None:
        self._document.wait(self._bell, [self._name], seconds)


class ServiceWatch(Watch[ServiceEvent]):
    """By the sandbox's bell and the end of their processes. One thread at a time waits; any may close it."""

    def __init__(self, document: ServiceDocument, names: Iterable[str], clock: Clock) -> None:
        self._document = document
        self._clock = clock
        self._names = list(names)
        self._closed = False
        self._waiting = threading.Lock()
        self._bell = document.bell()
        try:
            seen = document.read()
            self._seen = {name: _look(existing(seen, "watch", name)) for name in self._names}
        except BaseException:
            self._bell.close()
            raise

    def wait(self, seconds: float) -> Sequence[ServiceEvent]:
        deadline = self._clock.monotonic() + seconds
        with self._waiting:
            while not self._closed:
                events = self._news()
                left = deadline - self._clock.monotonic()
                if events or left <= 0:
                    return events
                self._document.wait(self._bell, self._names, left)
        return []

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._bell.ring()
        with self._waiting:
            self._bell.close()

    def _news(self) -> list[ServiceEvent]:
        document = self._document.read()
        events = []
        for name in [*self._names]:
            record = document.get(name_key(name))
            if record is None:
                self._names.remove(name)
                events.append(ServiceEvent(name, None))
            elif (look := _look(record)) != self._seen[name]:
                self._seen[name] = look
                events.append(ServiceEvent(name, look[0]))
        return events


def _look(record: Document) -> tuple[ServiceState, int | None]:
    """Equal as long as the service has neither changed its state nor been started anew."""
    status = status_of(record)
    return status.state, status.pid
