"""Settings that a machine has once."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, cast

from agent.host.errors import (
    HostError,
    NotFound,
    ServiceAlreadyRunning,
    ServiceCannotAccept,
    ServiceNotRunning,
)
from agent.host.port import DefaultProxy, FeatureState, Host, RegistryKind, RegistryValue
from agent.host.registry_contents import is_renamed, next_host_name
from agent.host.services import ServiceState, StartType
from agent.resources.kind import CannotBeSo, Kept, Kind, Setting, State, Value
from agent.resources.service import ask_shared_to_stop
from agent.spec import HostName, Want
from agent.spec.machine import DnsSuffixes, Proxy, WindowsFeature
from agent.spec.services import W32TIME


class HostNameResource(Kind[HostName]):
    """What the machine is called, or will be when it has been restarted."""

    firm = frozenset({"name"})

    def wanted(self, want: HostName) -> State:
        return {"name": want.name}

    def same(self, field: str, wanted: Value, found: Value) -> bool:  # noqa: ARG002 - there is one
        return str(wanted).upper() == str(found).upper()

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is one
        return {"name": _later(host)}

    def awaits_restart(self, host: Host, name: str) -> str | None:  # noqa: ARG002 - there is one
        later = _later(host)
        if self.same("name", later, host.facts.host_name()) and not is_renamed(host.registry):
            return None
        return f"this machine is called {later} when it has been restarted"

    def apply(self, host: Host, want: HostName, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - whatever it was
        host.power.rename(want.name)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        assert before is not None, "a machine always has a name"
        host.power.rename(str(before["name"]))
        if self.awaits_restart(host, name) is None:
            return None
        return f"this machine is called {before['name']} again when it has been restarted"


def _later(host: Host) -> str:
    """What it is called after its next start."""
    return next_host_name(host.registry) or host.facts.host_name()


_DNS_KEY = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
_BY_POLICY = r"SOFTWARE\Policies\Microsoft\Windows NT\DNSClient"
_SUFFIXES = "SearchList"
_RESOLVER = "Dnscache"


class DnsSuffixesResource(Setting[DnsSuffixes]):
    """The machine's DNS suffixes, by the registry, and by a word to the resolver, which reads it then."""

    firm = frozenset({"suffixes"})
    common_keys = (_DNS_KEY,)

    def wanted(self, want: DnsSuffixes) -> State:
        return {"suffixes": list(want.suffixes)}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is one
        found, policy = (_suffixes_at(host, key) for key in (_DNS_KEY, _BY_POLICY))
        if not found and not policy:
            return None
        state: dict[str, Value] = {"suffixes": _listed(found), "stored": found}
        return {**state, "by_policy": policy} if policy else state

    def same(self, field: str, wanted: Value, found: Value) -> bool:  # noqa: ARG002 - there is one
        return _folded(wanted) == _folded(found)

    def shown(self, field: str, value: Value, manner: State) -> str:
        return ", ".join(map(str, value)) if isinstance(value, list) else super().shown(field, value, manner)

    def obstacle(self, want: DnsSuffixes, found: State | None) -> str | None:  # noqa: ARG002 - whatever is wanted
        if found is not None and found.get("by_policy"):
            return f"a group policy says the DNS suffixes ({found['by_policy']}), and counts; change it there"
        return None

    def put(self, host: Host, name: str, state: State) -> None:  # noqa: ARG002 - there is one
        suffixes = state.get("stored", ",".join(map(str, cast("Sequence[Value]", state["suffixes"]))))
        host.registry.write(_DNS_KEY, _SUFFIXES, RegistryValue(RegistryKind.STRING, str(suffixes)))
        _tell(host)

    def take_away(self, host: Host, name: str) -> str | None:  # noqa: ARG002 - there is one
        with suppress(NotFound):
            host.registry.remove(_DNS_KEY, _SUFFIXES)
        _tell(host)
        return None


def _suffixes_at(host: Host, key: str) -> str:
    value = host.registry.read(key, _SUFFIXES)
    return value.data if value is not None and isinstance(value.data, str) else ""


def _listed(stored: str) -> list[Value]:
    """Windows takes blanks for commas."""
    return list(stored.replace(",", " ").split())


def _folded(suffixes: Value) -> list[str]:
    return [str(each).lower() for each in cast("Sequence[Value]", suffixes or ())]


def _tell(host: Host) -> None:
    """It reads the list when it starts, and when it is told."""
    with suppress(NotFound, ServiceNotRunning, ServiceCannotAccept):
        host.services.tell_of_parameters(_RESOLVER)


_PROXY_KEY = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Internet Settings\Connections"
"""In which WinHTTP keeps it."""


class ProxyResource(Setting[Proxy]):
    """The machine's proxy, as WinHTTP has it."""

    firm = frozenset({"server", "bypass"})
    common_keys = (_PROXY_KEY,)

    def wanted(self, want: Proxy) -> State:
        return {"server": want.server, "bypass": want.bypass}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is one
        found = host.proxies.default()
        return None if found is None else {"server": found.server, "bypass": found.bypass}

    def put(self, host: Host, name: str, state: State) -> None:  # noqa: ARG002 - there is one
        host.proxies.set_default(DefaultProxy(str(state["server"]), str(state["bypass"])))

    def remove(self, host: Host, name: str) -> None:  # noqa: ARG002 - there is one
        host.proxies.set_default(None)


_TIME_KEY = f"SYSTEM\\CurrentControlSet\\Services\\{W32TIME}"
_TIME_SERVICE_SECONDS = 60.0
_IS_UP = (ServiceState.RUNNING, ServiceState.START_PENDING)
"""One that somebody has begun to start will run, though whoever it was may be no more."""
_BY_ITSELF = (StartType.AUTOMATIC.name, StartType.DELAYED.name)


class TimeServiceResource(Kind[Want]):
    """Windows' time service: whether it is started with Windows, and runs."""

    firm = frozenset({"start", "runs"})
    common_keys = (_TIME_KEY,)  # Windows does not tell otherwise that somebody has it started no more
    wanted_of_all: ClassVar[State] = {"start": StartType.AUTOMATIC.name, "runs": True}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all of it is cheap
        installed = host.services.read(W32TIME)
        if installed is None:
            return None
        runs = host.services.status(W32TIME).state in _IS_UP
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
            _start_time_service(host)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        found = self.observe(host, name, {})
        if found is None or before is None:
            return None
        if found["start"] != before["start"]:
            _set_start(host, StartType[str(before["start"])])
        if found["runs"] != before["runs"]:
            if before["runs"]:
                _start_time_service(host)
            else:
                ask_shared_to_stop(host, W32TIME, _TIME_SERVICE_SECONDS)
        return None


def _set_start(host: Host, start: StartType) -> None:
    """Word for word as it is otherwise: it is Windows' own."""
    installed = host.services.read(W32TIME)
    assert installed is not None, "it was there just now"
    host.services.restore(replace(installed, definition=replace(installed.definition, start=start)))


def _start_time_service(host: Host) -> None:
    with suppress(ServiceAlreadyRunning):
        host.services.start(W32TIME)
    host.services.wait(W32TIME, ServiceState.RUNNING, _TIME_SERVICE_SECONDS)


TAKEN_BACK = "taken_back"
"""In a feature's manner, where somebody has asked that it goes with the rest."""

_FEATURE = "feature"
"""Not `state`: that is what a service does just now, to the engine."""
_ENABLED = FeatureState.ENABLED.value
_AFTER_RESTART = {
    FeatureState.ENABLE_PENDING: FeatureState.ENABLED,
    FeatureState.DISABLE_PENDING: FeatureState.DISABLED,
}


class WindowsFeatureResource(Kind[WindowsFeature]):
    """A part of Windows that can be switched on."""

    firm = frozenset({_FEATURE})
    wanted_of_all: ClassVar[State] = {_FEATURE: _ENABLED}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it has one field
        state = host.features.state(name)
        return None if state is None else {_FEATURE: _AFTER_RESTART.get(state, state).value}

    def awaits_restart(self, host: Host, name: str) -> str | None:
        with suppress(HostError):  # who wants to know more of it asks for its state, and is told
            state = host.features.state(name)
            if state in _AFTER_RESTART:
                return (
                    f"Windows feature {name} is {_AFTER_RESTART[state].value} when Windows has been restarted"
                )
        return None

    def obstacle(self, want: WindowsFeature, found: State | None) -> str | None:
        if found is None:
            return f"this Windows has no feature {want.name}; mind its spelling, and which edition has it"
        return None

    def apply(self, host: Host, want: WindowsFeature, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - whatever it was
        host.features.enable(want.name, with_parents=want.with_parents)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is not None and before[_FEATURE] == _ENABLED:
            host.features.enable(name, with_parents=True)
        elif not manner.get(TAKEN_BACK):
            return f"Windows feature {name} stays enabled: others may rely on it by now"
        else:
            host.features.disable(name)
        return self.awaits_restart(host, name)
