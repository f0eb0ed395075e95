"""A Windows service: its registration, whether it runs, and whether it is well; and how it is stopped.

Beside it the names under which programs write to Windows' Application log.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import cast

from agent.amounts import in_seconds
from agent.host import commandline
from agent.host.definitions import definition_of, document_of
from agent.host.errors import (
    BadName,
    DependentsRunning,
    HostError,
    NotFound,
    ServiceAlreadyRunning,
    ServiceCannotAccept,
    ServiceFailed,
    ServiceNotRunning,
    TimedOut,
)
from agent.host.port import Host
from agent.host.registry_contents import MESSAGE_FILE, source_key
from agent.host.services import (
    InstalledService,
    Recovery,
    RecoveryAction,
    ServiceDefinition,
    ServiceState,
    StartType,
)
from agent.redaction import redacted, redacted_words
from agent.resources.kind import CannotBeSo, Kept, Kind, NotWell, Setting, State, Value, veiled, without_none
from agent.resources.trees import is_file
from agent.spec import EventSource, Service

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
_LOG_TAIL = 8192
_LOG_LINES = 10
_HURRIED_MILLISECONDS = 10_000
_STOP_SECONDS = 60.0
_END_SECONDS = 10.0
_START_SECONDS = 60.0


_IN_WORDS = {
    RecoveryAction.NONE: "nothing",
    RecoveryAction.RESTART: "restart",
    RecoveryAction.REBOOT: "restart Windows",
    RecoveryAction.RUN_COMMAND: "run a command",
    RecoveryAction.RESTART_ITSELF: "restart of its own",
}
_CASELESS = frozenset({"account", "dependencies"})


class ServiceResource(Kind[Service]):
    firm = frozenset({"command", "state", "well", "makes"})

    def wanted(self, want: Service) -> State:
        wanted: dict[str, Value] = document_of(_definition(want))
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
        manner: dict[str, Value] = {
            "stop_within_milliseconds": int(want.stop_within_seconds * 1000),
            "restarts_with": list(want.restarts_with) or None,
            "well_within_milliseconds": int(want.health.within_seconds * 1000) if want.health else None,
            "log": str(want.log) if want.log else None,
        }
        return without_none(manner)

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        installed = host.services.read(name)
        if installed is None:
            return None
        state = host.services.status(name).state
        found = _state_of(installed) | {"state": state.name}
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
        return _comparable(field, wanted) == _comparable(field, found)

    def hidden(self, found: State) -> Collection[str]:
        unsupported = found.get("unsupported")
        return _OF_ITS_KEY.intersection(unsupported) if isinstance(unsupported, list | tuple) else ()

    def shown(self, field: str, value: Value, manner: State) -> str:
        if field == "well" and isinstance(value, list):
            return f"{_place(int(value[0]), str(value[1]))} answers {_WELL}"
        if field == "environment" and isinstance(value, dict):
            return ", ".join(f"{name}={veiled(each)}" for name, each in value.items()) or "nothing"
        if field == _RECOVERY:
            return _recovery_in_words(value)
        if isinstance(value, list | tuple):
            words = redacted_words(map(str, value))
            return (_command_line(words) if field == "command" else " ".join(words)) or "nothing"
        return super().shown(field, value, manner)

    def lacking(self, field: str, wanted: Value, manner: State) -> str:
        if field == "well" and isinstance(wanted, list):
            return f"{_place(int(wanted[0]), str(wanted[1]))} does not answer {_WELL}"
        return super().lacking(field, wanted, manner)

    def apply(self, host: Host, want: Service, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it has no content
        definition = _definition(want)
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
        host.services.restore(_installed(name, before))
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
            stop(host, name, seconds, despite=TimedOut)
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
        details = last_lines(host, want.log, _LOG_LINES) if want.log else ()
        raise NotWell(str(failure), details) from failure


def _start(host: Host, name: str) -> None:
    with suppress(ServiceAlreadyRunning):
        host.services.start(name)


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


def last_lines(host: Host, log: PureWindowsPath, most: int) -> Sequence[str]:
    """Return what a service's program has logged last, without secrets; nothing where there is no log yet."""
    with suppress(HostError):
        tail = host.files.tail(log, _LOG_TAIL).decode(errors="replace")
        # As a whole: a key in it has many lines, none of which looks like one.
        return redacted(tail).splitlines()[-most:]
    return ()


class EventSourceResource(Setting[EventSource]):
    """A name under which programs write to Windows' Application log."""

    firm = frozenset({"message_file"})

    def wanted(self, want: EventSource) -> State:
        return {"message_file": str(want.message_file)}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it has one field
        try:
            value = host.registry.read(source_key(name), MESSAGE_FILE)
        except NotFound:
            return None
        return None if value is None else {"message_file": str(value.data)}

    def registry_keys(self, name: str) -> tuple[str, ...]:
        return (source_key(name),)

    def put(self, host: Host, name: str, state: State) -> None:
        host.events.register(name, PureWindowsPath(str(state["message_file"])))

    def remove(self, host: Host, name: str) -> None:
        host.events.unregister(name)


# A service's registration as a state, and back.


def _definition(want: Service) -> ServiceDefinition:
    recovery = Recovery()
    if want.restart is not None:
        actions = tuple((RecoveryAction.RESTART, int(pause * 1000)) for pause in want.restart.after_seconds)
        recovery = Recovery(actions, want.restart.forgiven_after_seconds, on_error_exit=True)
    preshutdown = want.preshutdown_seconds
    return ServiceDefinition(
        want.name,
        (str(want.program), *want.arguments),
        want.display_name or want.name,
        want.description,
        StartType(want.start.value),
        want.dependencies,
        recovery=recovery,
        environment=dict(want.environment),
        preshutdown_milliseconds=None if preshutdown is None else int(preshutdown * 1000),
    )


def _state_of(service: InstalledService) -> dict[str, Value]:
    return {
        **document_of(service.definition),
        "image_path": service.image_path,
        "unsupported": list(service.unsupported),
    }


def _installed(name: str, state: State) -> InstalledService:
    """The other way: a service as it was once read."""
    unsupported = cast("Sequence[str]", state["unsupported"])
    return InstalledService(definition_of(name, state), str(state["image_path"]), tuple(unsupported))


def _recovery_in_words(value: Value) -> str:
    recovery = cast("Mapping[str, Value]", value)
    actions = cast("Sequence[tuple[str, int]]", recovery["actions"])
    steps = [f"{_IN_WORDS[RecoveryAction[action]]} after {pause / 1000:g} s" for action, pause in actions]
    if not steps:
        return "nothing"
    forgiven = f"all is forgiven after {recovery['reset_seconds']} s"
    too = "also when it ends with an error" if recovery["on_error_exit"] else "not when it ends with an error"
    return ", ".join([*steps, forgiven, too])


def _comparable(field: str, value: Value) -> Value:
    """Equal for what Windows takes for the same."""
    if field in _CASELESS:
        return [str(each).upper() for each in value] if isinstance(value, list) else str(value).upper()
    return value


# How a service is stopped: asked, or else ended, and waited for until its program can be replaced.


def stop(host: Host, name: str, seconds: float, *, despite: type[HostError] = HostError) -> None:
    """In its own time, or, where one of these errors keeps it from that, without being asked."""
    try:
        ask_to_stop(host, name, seconds)
    except despite:
        if not end(host, name, seconds):
            raise


def ask_to_stop(host: Host, name: str, seconds: float) -> None:
    """Nothing happens where it does not run, or is not there."""
    process = _process_of(host, name)
    ask_shared_to_stop(host, name, seconds)
    if process is not None:
        _wait_until_gone(host, process)


def ask_shared_to_stop(host: Host, name: str, seconds: float) -> None:
    """The same of one whose process is others', too, and stays."""
    try:
        host.services.stop(name, seconds)
    except NotFound:
        return
    except ServiceNotRunning:
        pass  # or its process has ended, which the SCM has yet to see
    except ServiceCannotAccept:
        # On its way up or down it takes no request: it is asked again once it is up, if it ever is.
        with suppress(ServiceFailed, ServiceNotRunning):
            host.services.wait(name, ServiceState.RUNNING, seconds)
            host.services.stop(name, seconds)
    host.services.wait(name, ServiceState.STOPPED, seconds)


def end(host: Host, name: str, seconds: float) -> bool:
    """Without being asked; False where it has no process."""
    process = _process_of(host, name)
    if process is None:
        return False
    _forget_recovery(host, name)
    with suppress(NotFound):
        host.processes.end(process)
    host.services.wait(name, ServiceState.STOPPED, seconds)
    _wait_until_gone(host, process)
    return True


def running_by_need(host: Host) -> Mapping[str, Sequence[str]]:
    """Services that run, by the name, in capitals, of each service that they need."""
    found: dict[str, list[str]] = {}
    for name, status in host.services.list().items():
        if status.state is ServiceState.STOPPED:
            continue
        with suppress(HostError):  # such as a virus scanner's, that nobody may read
            installed = host.services.read(name)
            for needed in installed.definition.dependencies if installed else ():
                found.setdefault(needed.upper(), []).append(name)
    return found


def _process_of(host: Host, name: str) -> int | None:
    with suppress(NotFound):
        return host.services.status(name).pid
    return None


def _wait_until_gone(host: Host, process: int) -> None:
    """A service says that it has stopped, and ends; until then its program cannot be removed. In vain no
    longer than it takes any of them: the id may be another process's by now.
    """
    with suppress(NotFound, TimedOut):
        host.processes.wait(process, _END_SECONDS)


def _forget_recovery(host: Host, name: str) -> None:
    """A process that is ended has failed, to Windows, which would start the service again."""
    installed = host.services.read(name)
    if installed is not None:
        without = replace(installed.definition, recovery=Recovery())
        host.services.restore(replace(installed, definition=without))
