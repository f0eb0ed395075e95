"""DNS suffixes and the time service: Windows' own, as they are wanted and as they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.engine.progress import Silent
from agent.engine.repairing import drifted, repair
from agent.engine.run import preview, reset, take_back
from agent.host.errors import ServiceCannotAccept
from agent.host.port import Host, RegistryKind, RegistryValue
from agent.host.protection import PROGRAM_FILE
from agent.host.services import ServiceDefinition, ServiceState, ServiceStatus, StartType
from agent.resources.kind import CannotBeSo
from agent.spec import Specification
from agent.spec.machine import DnsSuffixes
from agent.spec.services import W32TIME, TimeService
from sandbox.engine.test_run import run, without_state
from sandbox.engine.world import Killed, Power, changed, powered

TCPIP = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
POLICY = r"SOFTWARE\Policies\Microsoft\Windows NT\DNSClient"
SUFFIXES = Specification.of([DnsSuffixes(("example.com", "corp.example.com"))])
TIME = Specification.of([TimeService()])


def listening(host: Host, told: list[str]) -> Host:
    """With a resolver that is told when something has changed."""
    return changed(host, services={"tell_of_parameters": told.append})


def text(value: str) -> RegistryValue:
    return RegistryValue(RegistryKind.STRING, value)


@pytest.mark.parametrize("before", [None, "", "old.example old2.example", "a,b"])
def test_suffixes_are_stored_told_kept_and_given_back(host: Host, before: str | None) -> None:
    if before is not None:
        host.registry.write(TCPIP, "SearchList", text(before))
    told: list[str] = []
    heard = listening(host, told)
    assert len(run(heard, SUFFIXES)) == 1
    assert host.registry.read(TCPIP, "SearchList") == text("example.com,corp.example.com")
    assert told == ["Dnscache"]
    assert run(heard, SUFFIXES) == []
    host.registry.write(TCPIP, "SearchList", text("Example.com CORP.example.com"))
    assert drifted(host).drifts == (), "Windows takes it for the same"
    host.registry.write(TCPIP, "SearchList", text("corp.example.com,example.com"))
    (drift,) = drifted(host).drifts
    assert repair(heard, Silent(), {drift.key}).left == ()
    reset(heard, Silent())
    found = host.registry.read(TCPIP, "SearchList")
    assert (found and found.data) == (before or None)
    assert told == ["Dnscache"] * 3


def test_a_group_policy_counts_for_more_and_that_is_told(host: Host) -> None:
    host.registry.write(POLICY, "SearchList", text("policy.example"))
    with pytest.raises(CannotBeSo, match=r"a group policy says the DNS suffixes \(policy\.example\)"):
        preview(host, SUFFIXES)


def make_time_service(host: Host, start: StartType) -> None:
    program = PureWindowsPath(r"C:\Windows\System32\svchost.exe")
    host.files.write(program, b"MZ", PROGRAM_FILE)
    host.services.create(ServiceDefinition(W32TIME, (str(program), "-k", "LocalService"), start=start))


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize(
    "start", [StartType.AUTOMATIC, StartType.DELAYED, StartType.MANUAL, StartType.DISABLED]
)
def test_the_time_service_runs_and_is_as_it_was_again(host: Host, start: StartType, runs: bool) -> None:
    make_time_service(host, StartType.MANUAL)
    if runs:
        host.services.start(W32TIME)
    installed: Any = host.services.read(W32TIME)
    host.services.change(ServiceDefinition(W32TIME, installed.definition.command, start=start))
    whole = without_state(host)
    run(host, TIME)
    now: Any = host.services.read(W32TIME)
    assert now.definition.start is (start if start is StartType.DELAYED else StartType.AUTOMATIC)
    assert host.services.status(W32TIME).state is ServiceState.RUNNING
    assert run(host, TIME) == []
    host.services.stop(W32TIME)
    (drift,) = drifted(host).drifts
    assert drift.fields == ("runs",)
    assert repair(host, Silent(), {drift.key}).left == ()
    assert host.services.status(W32TIME).state is ServiceState.RUNNING
    reset(host, Silent())
    assert without_state(host) == whole


def test_a_kill_while_the_time_service_starts_leaves_none_that_runs(host: Host) -> None:
    make_time_service(host, StartType.MANUAL)
    power, states = Power(left=10_000), [ServiceState.START_PENDING]

    def start(name: str) -> None:
        host.services.start(name)
        power.dead = True
        raise Killed

    with pytest.raises(Killed):
        run(changed(powered(host, power), services={"start": start}), TIME)

    def status(name: str) -> ServiceStatus:
        return replace(host.services.status(name), state=states[-1])

    def stop(name: str, seconds: float | None = None) -> None:
        if states == [ServiceState.START_PENDING]:
            states.append(ServiceState.RUNNING)
            raise ServiceCannotAccept("stop", name, 1061)
        states.append(ServiceState.STOPPED)
        host.services.stop(name, seconds)

    take_back(changed(host, services={"status": status, "stop": stop}), Silent())
    assert host.services.status(W32TIME).state is ServiceState.STOPPED


def test_a_windows_without_one_is_told(host: Host) -> None:
    with pytest.raises(CannotBeSo, match="this Windows has no service W32Time"):
        preview(host, TIME)
