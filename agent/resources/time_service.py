"""Windows' time service: whether it is started with Windows, and runs."""

from contextlib import suppress
from dataclasses import replace

from agent.host.errors import ServiceAlreadyRunning
from agent.host.port import Host, ServiceState, StartType
from agent.resources.kind import CannotBeSo, Kept, Kind, State, Value
from agent.resources.stopping import ask_shared_to_stop
from agent.spec import Want
from agent.spec.services import W32TIME

_KEY = f"SYSTEM\\CurrentControlSet\\Services\\{W32TIME}"
_SECONDS = 60.0
_UP = (ServiceState.RUNNING, ServiceState.START_PENDING)
"""One that somebody has begun to start will run, though whoever it was may be no more."""
_BY_ITSELF = (StartType.AUTOMATIC.name, StartType.DELAYED.name)


class TimeServiceResource(Kind[Want]):
    firm = frozenset({"start", "runs"})
    common_keys = (_KEY,)  # Windows does not tell otherwise that somebody has it started no more

    def wanted(self, want: Want) -> State:  # noqa: ARG002 - there is one
        return {"start": StartType.AUTOMATIC.name, "runs": True}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all of it is cheap
        installed = host.services.read(W32TIME)
        if installed is None:
            return None
        runs = host.services.status(W32TIME).state in _UP
        return {"start": installed.definition.start.name, "runs": runs}

    def services(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - there is one
        return (W32TIME,)

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        return wanted == found or (field == "start" and wanted in _BY_ITSELF and found in _BY_ITSELF)

    def shown(self, field: str, value: Value, manner: State) -> str:
        return StartType[str(value)].value if field == "start" else super().shown(field, value, manner)

    def obstacle(self, want: Want, found: State | None) -> str | None:  # noqa: ARG002 - there is one
        if found is None:
            return f"this Windows has no service {W32TIME}; w32tm /register brings it back"
        return None

    def apply(self, host: Host, want: Want, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - there is one
        if found is None:
            raise CannotBeSo(f"there is no service {W32TIME} any more")
        if found["start"] not in _BY_ITSELF:
            _set_start(host, StartType.AUTOMATIC)
        if not found["runs"]:
            _start(host)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        found = self.observe(host, name, {})
        if found is None or before is None:
            return None
        if found["start"] != before["start"]:
            _set_start(host, StartType[str(before["start"])])
        if found["runs"] != before["runs"]:
            if before["runs"]:
                _start(host)
            else:
                ask_shared_to_stop(host, W32TIME, _SECONDS)
        return None


def _set_start(host: Host, start: StartType) -> None:
    """Word for word as it is otherwise: it is Windows' own."""
    installed = host.services.read(W32TIME)
    assert installed is not None, "it was there just now"
    host.services.restore(replace(installed, definition=replace(installed.definition, start=start)))


def _start(host: Host) -> None:
    with suppress(ServiceAlreadyRunning):
        host.services.start(W32TIME)
    host.services.wait(W32TIME, ServiceState.RUNNING, _SECONDS)


KIND = TimeServiceResource()
