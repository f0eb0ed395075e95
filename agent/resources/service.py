"""A Windows service: its registration, whether it runs, and whether it is well."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PureWindowsPath

from agent.amounts import in_seconds
from agent.host import commandline
from agent.host.definitions import document_of
from agent.host.errors import (
    BadName,
    DependentsRunning,
    HostError,
    NotFound,
    ServiceAlreadyRunning,
    ServiceFailed,
    TimedOut,
)
from agent.host.port import Host
from agent.host.services import ServiceState
from agent.redaction import redacted, redacted_words
from agent.resources import service_state
from agent.resources.kind import CannotBeSo, Kept, Kind, NotWell, State, Value, veiled
from agent.resources.stopping import ask_to_stop, end, running_by_need
from agent.resources.trees import is_file
from agent.spec import Service

_RECOVERY = "recovery"
_RESTARTING_FIELDS = frozenset({"command", "account", "environment", "sid_type", "well", "makes"})
"""What a running program has taken over when it started."""

_OF_ITS_KEY = frozenset({"dependencies", "environment"})
"""What is read from the registry, which may be closed to users. Every Windows knows of both."""

_SETTINGS = r"SYSTEM\CurrentControlSet\Services"
_OF_ITS_RUN = ("state", "well", "makes")
_COMING_UP = (ServiceState.RUNNING.name, ServiceState.START_PENDING.name)

_WELL = 200
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.1
_ANSWER_WITHIN_SECONDS = 2.0
_LOG_TAIL = 4096
_LOG_LINES = 10
_HURRIED_MILLISECONDS = 10_000
_STOP_SECONDS = 60.0
_START_SECONDS = 60.0


class ServiceResource(Kind[Service]):
    firm = frozenset({"command", "state", "well", "makes"})

    def wanted(self, want: Service) -> State:
        wanted: dict[str, Value] = document_of(service_state.definition(want))
        if want.preshutdown_seconds is None:
            del wanted["preshutdown_milliseconds"]
        if want.running:
            wanted["state"] = ServiceState.RUNNING.name
            if want.health is not None:
                # Asked anew at each look, so the state says how.
                wanted["well"] = [want.health.port, want.health.path]
            if want.makes is not None:
                wanted["makes"] = str(want.makes)
        return wanted

    def manner(self, want: Service) -> State:
        # Whole milliseconds: a state has no fractions.
        manner: dict[str, Value] = {"stop_within_milliseconds": int(want.stop_within_seconds * 1000)}
        if want.restarts_with:
            manner["restarts_with"] = list(want.restarts_with)
        if want.health is not None:
            manner["well_within_milliseconds"] = int(want.health.within_seconds * 1000)
        return manner | ({"log": str(want.log)} if want.log else {})

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        installed = host.services.read(name)
        if installed is None:
            return None
        state = host.services.status(name).state
        found = service_state.of_installed(installed) | {"state": state.name}
        if isinstance(asked := wanted.get("well"), list):
            runs = state is ServiceState.RUNNING
            found["well"] = asked if runs and _answer(host, int(asked[0]), str(asked[1])) == _WELL else None
        if (made := wanted.get("makes")) is not None:
            found["makes"] = made if is_file(host.files, PureWindowsPath(str(made))) else None
        return found

    def registry_keys(self, name: str) -> tuple[str, ...]:
        # By its notifications the SCM tells how a service runs, and not that somebody has set it otherwise.
        return (f"{_SETTINGS}\\{name}",)

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        return service_state.comparable(field, wanted) == service_state.comparable(field, found)

    def hidden(self, found: State) -> Collection[str]:
        unsupported = found.get("unsupported")
        return _OF_ITS_KEY.intersection(unsupported) if isinstance(unsupported, list | tuple) else ()

    def shown(self, field: str, value: Value, manner: State) -> str:
        if field == "well" and isinstance(value, list):
            return f"{_place(int(value[0]), str(value[1]))} answers {_WELL}"
        if field == "environment" and isinstance(value, dict):
            return ", ".join(f"{name}={veiled(each)}" for name, each in value.items()) or "nothing"
        if field == _RECOVERY:
            return service_state.recovery_in_words(value)
        if isinstance(value, list | tuple):
            words = redacted_words(map(str, value))
            return (_command_line(words) if field == "command" else " ".join(words)) or "nothing"
        return super().shown(field, value, manner)

    def lacking(self, field: str, wanted: Value, manner: State) -> str:
        if field == "well" and isinstance(wanted, list):
            return f"{_place(int(wanted[0]), str(wanted[1]))} does not answer {_WELL}"
        return super().lacking(field, wanted, manner)

    def apply(self, host: Host, want: Service, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it has no content
        definition = service_state.definition(want)
        if found is None:
            host.services.create(definition)
        elif not self._is_registered_so(want, found):
            host.services.change(definition)
        if not want.running:
            return
        if found is not None and found["state"] not in (ServiceState.STOPPED.name, *_COMING_UP):
            self.pause(host, want.name, self.manner(want))  # paused, or stopping for ever
        with _log_told(host, want):
            _start(host, want.name)

    def finish(self, host: Host, want: Service) -> None:
        if want.running:
            with _log_told(host, want):
                host.services.wait(want.name, ServiceState.RUNNING, want.start_within_seconds)
                _wait_until_well(host, want)

    def _is_registered_so(self, want: Service, found: State) -> bool:
        registration = (item for item in self.wanted(want).items() if item[0] not in _OF_ITS_RUN)
        return all(self.same(field, value, found.get(field)) for field, value in registration)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        """Stops what was stopped, and starts nothing: what it uses may not have been restored yet."""
        there = host.services.read(name)
        if before is None:
            if there is not None:
                self.pause(host, name, manner)
                host.services.delete(name)
            return None
        if not self.is_active(before):
            self.pause(host, name, manner)
        host.services.restore(service_state.installed(name, before))
        return None

    # A service runs, and holds on to what it uses.

    def is_active(self, found: State) -> bool:
        return found["state"] != ServiceState.STOPPED.name

    def disturbed(self, fields: Iterable[str]) -> bool:
        return not _RESTARTING_FIELDS.isdisjoint(fields)

    def pause(self, host: Host, name: str, manner: State) -> None:
        milliseconds = manner.get("stop_within_milliseconds")
        seconds = milliseconds / 1000 if isinstance(milliseconds, int) else _STOP_SECONDS
        try:
            _stop(host, name, seconds)
        except DependentsRunning:
            others = ", ".join(running_by_need(host).get(name.upper(), ()))
            raise CannotBeSo(
                f"service {name} cannot be stopped while {others} runs; stop that first"
            ) from None

    def hurried(self, manner: State) -> State:
        milliseconds = manner.get("stop_within_milliseconds")
        least = min(milliseconds, _HURRIED_MILLISECONDS) if isinstance(milliseconds, int) else milliseconds
        return {**manner, "stop_within_milliseconds": least}

    def with_what_a_pause_took(self, found: State, before: State) -> State | None:
        if found.get(_RECOVERY) == before.get(_RECOVERY):
            return None
        return {**found, "state": before["state"], _RECOVERY: before[_RECOVERY]}

    def resume(self, host: Host, name: str, before: State) -> str | None:
        try:
            if before["state"] in _COMING_UP:
                _start(host, name)
                host.services.wait(name, ServiceState.RUNNING, _START_SECONDS)
            else:
                host.services.start(name)  # it did not run well before either
        except ServiceAlreadyRunning:
            return None
        except HostError as fault:
            return f"service {name} was started again, and does not run: {fault}"
        return None


@contextmanager
def _log_told(host: Host, want: Service) -> Iterator[None]:
    try:
        yield
    except (ServiceFailed, TimedOut, NotWell) as failure:
        raise NotWell(str(failure), _last_lines(host, want.log)) from failure


def _start(host: Host, name: str) -> None:
    with suppress(ServiceAlreadyRunning):
        host.services.start(name)


def _stop(host: Host, name: str, seconds: float) -> None:
    """In its own time, or, when it does not heed the request, without being asked."""
    try:
        ask_to_stop(host, name, seconds)
    except TimedOut:
        if not end(host, name, seconds):
            raise


def _wait_until_well(host: Host, want: Service) -> None:
    within = want.start_within_seconds if want.health is None else want.health.within_seconds
    deadline = host.clock.monotonic() + within
    pause = _FIRST_PAUSE_SECONDS
    while (lack := _lack(host, want)) is not None:
        if host.services.status(want.name).state is not ServiceState.RUNNING:
            host.services.wait(want.name, ServiceState.RUNNING, _ANSWER_WITHIN_SECONDS)  # raises: it says why
        if host.clock.monotonic() > deadline:
            raise NotWell(f"service {want.name} runs, but {lack} after {in_seconds(within)}")
        host.clock.sleep(pause)
        pause = min(1.2 * pause, _LONGEST_PAUSE_SECONDS)


def _lack(host: Host, want: Service) -> str | None:
    """What a service that runs has still to show."""
    health = want.health
    if health is not None and (answer := _answer(host, health.port, health.path)) != _WELL:
        told = f"answers {answer}" if answer else "does not answer"
        return f"{_place(health.port, health.path)} {told}"
    if want.makes is not None and not is_file(host.files, want.makes):
        return f"has not made {want.makes}"
    return None


def _command_line(words: Sequence[str]) -> str:
    """As Windows hands it to the program; as it stands where the program's path has a quote in it."""
    with suppress(BadName):
        return commandline.join(words) if words else ""
    return " ".join(words)


def _place(port: int, path: str) -> str:
    return f"http://127.0.0.1:{port}{path}"


def _answer(host: Host, port: int, path: str) -> int:
    """0 for none."""
    try:
        return host.loopback.get(port, path, _ANSWER_WITHIN_SECONDS)
    except (NotFound, TimedOut):
        return 0


def _last_lines(host: Host, log: PureWindowsPath | None) -> Sequence[str]:
    if log is None:
        return ()
    with suppress(HostError):
        tail = host.files.tail(log, _LOG_TAIL).decode(errors="replace")
        # As a whole: a key in it has many lines, none of which looks like one.
        return redacted(tail).splitlines()[-_LOG_LINES:]
    return ()


KIND = ServiceResource()
