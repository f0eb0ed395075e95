"""What the resident service does about what happens to a machine, on a clock of its own."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.engine.machine_lock import COMMAND_LOCK
from agent.engine.progress import Silent
from agent.engine.repairing import Found, drifted
from agent.engine.run import make_so, reset, status
from agent.engine.undoing import Undone
from agent.host.errors import HostError, InUse, NotFound, TimedOut
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.registry_contents import source_key
from agent.host.services import ServiceState, ServiceStatus, StartType
from agent.spec import Credentials, File, HealthCheck, Inline, Key, Service, Specification
from agent.spec.files import ContainerdConfiguration
from agent.spec.machine import PathEntry, RegistryType, RegistryValue
from agent.spec.services import W32TIME, TimeService
from sandbox.engine import nodes
from sandbox.engine.nodes import BOOTSTRAP, CERTIFICATE, CONFIG, KUBELET, K
from sandbox.engine.test_windows_settings import make_time_service
from sandbox.engine.world import Killed, Power, picture, powered, stopped
from sandbox.service.keeper import OWN, Keeper
from service import pausing
from service.health import EVERY_SECONDS
from service.telling import Event
from service.work_queue import Signal, Source

STATE = PureWindowsPath(r"C:\ProgramData\wmcb")
CHANGED = b"CHANGED BY HAND"
MINUTE = 60.0


def machine(host: Host) -> dict[str, object]:
    """All but what wmcb keeps for itself."""
    return picture(host, but=(STATE,))


# Services


def test_a_stopped_service_is_started_at_once(keeper: Keeper) -> None:
    keeper.crash()
    assert not stopped(keeper.host, "kubelet")
    assert keeper.told() == [(Event.STARTED, "service kubelet had stopped (exit code 1067), and was started")]


def test_one_that_keeps_stopping_is_started_after_growing_pauses(keeper: Keeper) -> None:
    waited = []
    for _ in range(12):
        crashed = keeper.clock.time
        keeper.crash()
        keeper.pass_time(300)
        waited.append(round(keeper.starts[-1] - crashed))
    assert waited == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    texts = [text for event, text in keeper.told() if event is Event.STOPS_AGAIN]
    assert texts[0] == "service kubelet keeps stopping (exit code 1067); started again after 1 second"
    assert len(texts) == 10, "for each pause once"


def test_one_that_ran_well_for_long_is_started_at_once_again(keeper: Keeper) -> None:
    for _ in range(5):
        keeper.crash()
        keeper.pass_time(MINUTE)
    keeper.pass_time(10 * MINUTE)
    keeper.told()
    keeper.crash()
    assert not stopped(keeper.host, "kubelet")
    assert [event for event, _ in keeper.told()] == [Event.STARTED]


def test_somebody_elses_start_is_not_fought(keeper: Keeper) -> None:
    pending = replace(keeper.host.services.status("kubelet"), state=ServiceState.START_PENDING)
    other = Keeper(
        keeper._folder, keeper.host, services={"status": lambda _: pending, "start": keeper._start}
    )
    other.happened(Signal(Source.SERVICE, "kubelet"))
    assert keeper.starts == []
    assert [event for event, _ in other.told()] == [Event.KEEPING]


def test_one_that_cannot_be_started_is_told_and_tried_again(keeper: Keeper) -> None:
    keeper.host.services.stop("kubelet")
    keeper.host.files.remove(KUBELET)
    keeper.host.files.remove(STATE / "made" / Inline(b"MZ 1").sha256)
    keeper.happened(Signal(Source.SERVICE, "kubelet"))
    keeper.pass_time(MINUTE)
    assert len(keeper.starts) > 3
    assert Event.NOT_REPAIRED in [event for event, _ in keeper.told()]
    keeper.host.files.write(KUBELET, b"MZ 1", PROGRAM_FILE)
    keeper.pass_time(MINUTE)
    assert not stopped(keeper.host, "kubelet")


# Drift


def test_a_value_in_containerds_configuration_is_put_right_at_once(keeper: Keeper) -> None:
    path = K / "config.toml"
    want = ContainerdConfiguration(path, version=2, sandbox_image="pause:1")
    make_so(keeper.host, Specification.of([want]), Silent(), part="followed")
    keeper.happened(OWN)
    keeper.told()
    text = keeper.host.files.read(path).replace(b"pause:1", b"pause:2")
    keeper.host.files.write(path, b"# mine\n" + text, PROGRAM_FILE)
    keeper.happened(Signal(Source.FILE, str(path)))
    keeper.pass_time(1.0)
    assert keeper.host.files.read(path) == b"# mine\n" + text.replace(b"pause:2", b"pause:1")
    assert [event for event, _ in keeper.told()] == [Event.REPAIRED]


def _service(host: Host, **fields: Any) -> None:
    installed = host.services.read("kubelet")
    assert installed is not None
    host.services.change(replace(installed.definition, **fields))


def _deleted(host: Host) -> None:
    host.services.stop("kubelet")
    host.services.delete("kubelet")


def _folder_gone(host: Host) -> None:
    host.files.remove(CONFIG)
    host.files.remove_directory(CONFIG.parent)


AS_SERVICE = Signal(Source.SERVICE, "kubelet")
DRIFTS: dict[str, tuple[Callable[[Host], object], Signal, str]] = {
    "a file's content": (
        lambda host: host.files.write(CONFIG, CHANGED, PRIVATE_FILE),
        Signal(Source.FILE, str(CONFIG)),
        r"file C:\etc\kubernetes\kubelet.conf had been changed, and was put right (sha256)",
    ),
    "a file's descriptor": (
        lambda host: host.files.set_descriptor(CONFIG, PROGRAM_FILE),
        Signal(Source.FILE, str(CONFIG)),
        r"file C:\etc\kubernetes\kubelet.conf had been changed, and was put right (descriptor)",
    ),
    "a file is gone": (
        lambda host: host.files.remove(CONFIG),
        Signal(Source.FILE, str(CONFIG)),
        r"file C:\etc\kubernetes\kubelet.conf was gone, and was put right (type, descriptor, sha256)",
    ),
    "a folder's descriptor": (
        lambda host: host.files.set_descriptor(CONFIG.parent, PROGRAM_DIRECTORY),
        Signal(Source.FILE, str(CONFIG.parent)),
        r"directory C:\etc\kubernetes had been changed, and was put right (descriptor)",
    ),
    "a folder is gone": (
        _folder_gone,
        Signal(Source.ASKED),
        r"directory C:\etc\kubernetes was gone, and was put right (type, descriptor, open)",
    ),
    "a program's content": (
        lambda host: host.files.write(KUBELET, CHANGED, PROGRAM_FILE),
        Signal(Source.FILE, str(KUBELET)),
        r"file C:\k\kubelet.exe had been changed, and was put right (sha256)",
    ),
    "a variable": (
        lambda host: host.environment.set("NODE_ROLE", "CHANGED"),
        Signal(Source.ASKED),
        "environment variable NODE_ROLE had been changed, and was put right (value)",
    ),
    "an event source": (
        lambda host: host.events.unregister("wmcb"),
        Signal(Source.REGISTRY, source_key("wmcb")),
        "event source wmcb was gone, and was put right (message file)",
    ),
    "a service's command": (
        lambda host: _service(host, command=(str(KUBELET), "--CHANGED")),
        AS_SERVICE,
        "service kubelet had been changed, and was put right (command)",
    ),
    "a service's start": (
        lambda host: _service(host, start=StartType.DISABLED),
        Signal(Source.REGISTRY, r"SYSTEM\CurrentControlSet\Services\kubelet"),
        "service kubelet had been changed, and was put right (start)",
    ),
    "a service is gone": (_deleted, AS_SERVICE, "service kubelet was gone, and was put right"),
}


@pytest.mark.parametrize(("change", "signal", "told"), DRIFTS.values(), ids=DRIFTS)
def test_what_somebody_changes_is_put_right(
    keeper: Keeper, change: Callable[[Host], object], signal: Signal, told: str
) -> None:
    before = machine(keeper.host)
    change(keeper.host)
    keeper.happened(signal)
    assert machine(keeper.host) == before
    assert status(keeper.host).is_well
    said = keeper.told()
    assert {event for event, _ in said} == {Event.REPAIRED}
    assert any(text.startswith(told) for _, text in said), said
    assert not any("CHANGED" in text for _, text in said), "a value may be secret"


def test_without_a_signal_it_is_seen_by_the_full_look(keeper: Keeper) -> None:
    before = machine(keeper.host)
    keeper.host.files.write(CONFIG, CHANGED, PRIVATE_FILE)
    keeper.pass_time(9 * MINUTE)
    assert machine(keeper.host) != before
    keeper.pass_time(2 * MINUTE)
    assert machine(keeper.host) == before


def test_what_a_watch_that_was_exchanged_had_not_told_yet_is_seen_all_the_same(keeper: Keeper) -> None:
    keeper.host.files.remove(CONFIG)
    keeper.host.environment.set("NODE_ROLE", "CHANGED")
    keeper.happened(Signal(Source.FILE, str(CONFIG)))
    assert keeper.host.environment.get("NODE_ROLE") == "worker"
    keeper.host.environment.set("NODE_ROLE", "CHANGED")
    keeper.host.files.set_descriptor(CONFIG, PROGRAM_FILE)
    keeper.happened(Signal(Source.FILE, str(CONFIG)))
    assert keeper.host.environment.get("NODE_ROLE") == "CHANGED", "no watch was exchanged for that"


class _Blind:
    """Of the environment: nobody can look at it yet, as while Windows starts."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.looks = 0
        self.sees = False

    def get(self, name: str) -> Any:
        self.looks += 1
        if not self.sees:
            raise NotFound("look at", name, 2)
        return self._host.environment.get(name)


def test_what_cannot_be_looked_at_yet_is_looked_at_again_soon(tmp_path: pathlib.Path, host: Host) -> None:
    Keeper(tmp_path, host).make(Specification.of(nodes.wants()))
    host.environment.set("NODE_ROLE", "CHANGED")
    blind = _Blind(host)
    keeper = Keeper(tmp_path, host, environment={"get": blind.get})
    keeper.pass_time(10)
    said = [text for event, text in keeper.told() if event is Event.TROUBLE]
    assert len(said) == 1, "told once"
    assert "cannot look at everything: environment variable NODE_ROLE: cannot look at NODE_ROLE" in said[0]
    assert blind.looks == 4, "after 0, 1, 3 and 7 seconds"
    keeper.pass_time(9 * MINUTE)
    assert blind.looks == 10, "after pauses that double"
    blind.sees = True
    keeper.pass_time(9 * MINUTE)
    assert host.environment.get("NODE_ROLE") == "worker"
    assert [event for event, _ in keeper.told()] == [Event.REPAIRED]


def test_a_service_that_somebody_reconfigures_is_seen_within_seconds(keeper: Keeper) -> None:
    """Also where nobody is told of it: not all of a service is in its key."""
    before = machine(keeper.host)
    _service(keeper.host, start=StartType.DISABLED)
    keeper.pass_time(EVERY_SECONDS + 1)
    assert machine(keeper.host) == before


RESTARTS: dict[str, tuple[str, int]] = {
    "a file's content": ("it has read it", 1),
    "a file's descriptor": ("nobody reads that", 0),
    "a folder's descriptor": ("nobody reads that", 0),
    "a program's content": ("it runs from it", 1),
    "a service's command": ("it was started by it", 1),
    "a service's start": ("it runs all the same", 0),
}


@pytest.mark.parametrize("drift", RESTARTS)
def test_only_what_must_is_restarted(keeper: Keeper, drift: str) -> None:
    change, signal, _ = DRIFTS[drift]
    change(keeper.host)
    keeper.happened(signal)
    assert len(keeper.starts) == RESTARTS[drift][1], RESTARTS[drift][0]


def test_what_depends_on_a_service_that_crashed_goes_on(tmp_path: pathlib.Path, host: Host) -> None:
    keeper = Keeper(tmp_path, host)
    proxy = Service("kube-proxy", KUBELET, dependencies=("kubelet",))
    keeper.make(Specification.of([*nodes.wants(), proxy]))
    keeper.crash("kubelet")
    assert keeper.started == ["kubelet"]
    keeper.crash("kube-proxy")
    assert keeper.started == ["kubelet", "kube-proxy"]


def test_what_is_changed_again_and_again_is_repaired_every_ten_minutes(keeper: Keeper) -> None:
    repairs = 0
    for _ in range(60):
        keeper.host.files.write(CONFIG, CHANGED, PRIVATE_FILE)
        keeper.touched(CONFIG)
        repairs += keeper.host.files.read(CONFIG) != CHANGED
        keeper.pass_time(MINUTE - 1)
        repairs += keeper.host.files.read(CONFIG) != CHANGED
    told = [event for event, _ in keeper.told()]
    assert told.count(Event.REPAIRED) in (8, 9)
    assert told.count(Event.AGAIN_AND_AGAIN) == 1
    keeper.pass_time(11 * MINUTE)
    assert keeper.host.files.read(CONFIG) != CHANGED


def test_a_large_program_is_told_and_not_repaired(tmp_path: pathlib.Path, host: Host) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(nodes.node(program=b"MZ" + bytes(1 << 20)))
    keeper.told()
    host.files.write(KUBELET, CHANGED, PRIVATE_FILE)
    keeper.touched(KUBELET)
    told = dict(keeper.told())
    assert told[Event.REPAIRED].endswith("(descriptor)")
    assert told[Event.NOT_REPAIRED] == (
        r"file C:\k\kubelet.exe is not as it was made (sha256), and could not be put right:"
        " make the node again with the options that made it"
    )
    assert host.files.descriptor(KUBELET).equivalent(PROGRAM_FILE)
    keeper.pass_time(5 * MINUTE)
    assert keeper.told() == [], "once"


def test_what_is_edited_before_there_is_a_copy_is_told_and_restarts_nothing(
    tmp_path: pathlib.Path, host: Host
) -> None:
    keeper = Keeper(tmp_path, host)
    make_so(host, nodes.node(), Silent())
    content = host.files.read(CONFIG)
    host.files.write(CONFIG, CHANGED, PRIVATE_FILE)
    keeper.happened(OWN)
    for _ in range(5):
        keeper.touched(CONFIG)
    told = keeper.told()
    assert [event for event, _ in told] == [Event.KEEPING, Event.NOT_REPAIRED]
    assert told[1][1].startswith(f"file {CONFIG} is not as it was made (sha256), and could not be put right")
    assert host.files.read(CONFIG) == CHANGED
    assert keeper.starts == []

    host.files.write(CONFIG, content, PRIVATE_FILE)
    keeper.touched(CONFIG)
    keeper.pass_time(11 * MINUTE)
    host.files.write(CONFIG, CHANGED, PRIVATE_FILE)
    keeper.touched(CONFIG)
    assert host.files.read(CONFIG) == content
    assert [event for event, _ in keeper.told()] == [Event.REPAIRED]


def test_a_credential_for_one_use_is_kept_nowhere(tmp_path: pathlib.Path, host: Host) -> None:
    keeper = Keeper(tmp_path, nodes.admitted(host))
    make_so(nodes.admitted(host), nodes.joining(), Silent())
    keeper.happened(OWN)
    keeper.pass_time(10)
    assert Inline(b"token").sha256 not in host.files.list(STATE / "made")
    assert host.files.list(STATE / "made")
    keeper.told()
    keeper.pass_time(11 * MINUTE)
    assert keeper.told() == [], f"{BOOTSTRAP} has done its duty"


def test_what_a_program_writes_for_itself_is_left_to_it(tmp_path: pathlib.Path, host: Host) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(Specification.of([*nodes.wants(), Credentials(CERTIFICATE)]))
    keeper.told()
    keeper.touched(CERTIFICATE)
    host.files.make_directory(CERTIFICATE.parent, PRIVATE_DIRECTORY)
    host.files.write(CERTIFICATE, b"of the kubelet", PRIVATE_FILE)
    keeper.touched(CERTIFICATE)
    keeper.pass_time(11 * MINUTE)
    assert host.files.read(CERTIFICATE) == b"of the kubelet"
    assert keeper.told() == []
    assert host.files.observe(STATE / "journal") is None


def test_what_cannot_be_repaired_keeps_nothing_else_from_it(tmp_path: pathlib.Path, host: Host) -> None:
    def write(path: PureWindowsPath, *given: Any) -> Any:
        if path == KUBELET:
            raise InUse("write", str(path), 32)
        return host.files.write(path, *given)

    other = K / "other.exe"
    keeper = Keeper(tmp_path, host)
    keeper.make(Specification.of([*nodes.wants(), File(other, Inline(b"MZ 2"))]))
    for path in (KUBELET, other):
        host.files.write(path, CHANGED, PROGRAM_FILE)
    keeper = Keeper(tmp_path, host, files={"write": write})
    keeper.told()
    keeper.pass_time(1)
    assert host.files.read(other) == b"MZ 2"
    assert not stopped(host, "kubelet")
    (text,) = [text for event, text in keeper.told() if event is Event.NOT_REPAIRED]
    assert "another program has it open" in text


# Health


def test_a_hung_service_is_restarted_once_its_limit_is_over(keeper: Keeper) -> None:
    facts = keeper._folder / ".sandbox" / "facts.json"
    facts.write_text(json.dumps({"answers": {"10248": 500}}))
    keeper.pass_time(55)
    assert keeper.starts == []
    keeper.pass_time(30)
    assert len(keeper.starts) == 1
    ((event, text),) = keeper.told()
    assert event is Event.HUNG
    assert text.startswith("service kubelet was restarted: http://127.0.0.1:10248/healthz has answered 500")
    facts.write_text("{}")
    keeper.pass_time(10 * MINUTE)
    assert len(keeper.starts) == 1


def test_a_hung_service_that_a_command_restarts_has_its_whole_time_again(
    tmp_path: pathlib.Path, host: Host
) -> None:
    def status(name: str) -> ServiceStatus:
        return replace(host.services.status(name), pid=process)

    process, answer = 1, 200
    keeper = Keeper(tmp_path, host, services={"status": status}, loopback={"get": lambda *_: answer})
    keeper.make(nodes.node())
    keeper.told()
    keeper.starts.clear()
    answer = 500
    keeper.pass_time(55)
    with host.processes.exclusive(COMMAND_LOCK):
        keeper.pass_time(30)
        process = 2
    keeper.pass_time(50)
    assert (keeper.starts, keeper.told()) == ([], [])
    keeper.pass_time(30)
    assert [event for event, _ in keeper.told()] == [Event.HUNG]


def test_one_that_could_not_be_restarted_is_not_told_to_have_been(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise HostError("stop", "service kubelet", 5)

    (keeper._folder / ".sandbox" / "facts.json").write_text(json.dumps({"answers": {"10248": 500}}))
    with monkeypatch.context() as hindered:
        hindered.setattr("agent.resources.service.stop", refused)
        keeper.pass_time(85)
    ((event, text),) = keeper.told()
    assert event is Event.TROUBLE
    assert text.startswith("service kubelet has to be restarted (http://127.0.0.1:10248/healthz has answered")
    keeper.pass_time(85)
    assert [event for event, _ in keeper.told()] == [Event.HUNG]


@pytest.mark.parametrize("state", [ServiceState.START_PENDING, ServiceState.STOP_PENDING])
def test_one_that_stays_on_its_way_is_restarted_as_well(
    tmp_path: pathlib.Path, host: Host, state: ServiceState
) -> None:
    """Somebody has started or stopped it, and it comes to no end."""
    is_stuck = False

    def status(name: str) -> ServiceStatus:
        found = host.services.status(name)
        return replace(found, state=state) if is_stuck else found

    def stop(name: str, seconds: float) -> None:
        nonlocal is_stuck
        is_stuck = False
        host.services.stop(name, seconds)

    keeper = Keeper(tmp_path, host, services={"status": status, "stop": stop})
    keeper.make(nodes.node())
    keeper.told()
    is_stuck = True
    keeper.happened(AS_SERVICE)
    keeper.pass_time(55)
    assert keeper.told() == []
    keeper.pass_time(30)
    ((event, text),) = keeper.told()
    assert (event, is_stuck) == (Event.HUNG, False)
    assert not stopped(host, "kubelet")
    assert text.startswith(f"service kubelet was restarted: it has been {state.name} for 6")


def test_one_whose_answer_is_waited_for_is_given_no_more_time(tmp_path: pathlib.Path, host: Host) -> None:
    def get(port: int, path: str, seconds: float) -> int:
        if not is_hung:
            return host.loopback.get(port, path, seconds)
        keeper.clock.sleep(3)
        raise TimedOut("ask", "the kubelet", 1460)

    is_hung = False
    keeper = Keeper(tmp_path, host, loopback={"get": get})
    keeper.make(nodes.node())
    keeper.told()
    is_hung = True
    keeper.pass_time(90)
    ((event, text),) = keeper.told()
    assert event is Event.HUNG
    assert text.endswith("has not answered for 63 seconds")


@pytest.mark.parametrize(
    ("given", "was_well", "restarted_after"),
    [
        pytest.param(240.0, True, 60, id="it has been well"),
        pytest.param(240.0, False, 240, id="it is slow to start"),
        pytest.param(5.0, True, 5, id="it is quick to start"),
        pytest.param(5.0, False, 5, id="it is to be quick"),
    ],
)
def test_its_limit_is_by_what_it_is_given_at_its_start(
    tmp_path: pathlib.Path,
    host: Host,
    monkeypatch: pytest.MonkeyPatch,
    given: float,
    was_well: bool,
    restarted_after: float,
) -> None:
    process, answer = 1, 200
    monkeypatch.setattr("service.health._process", lambda *_: process)
    keeper = Keeper(tmp_path, host, loopback={"get": lambda *_: answer})
    *others, kubelet = nodes.wants()
    assert isinstance(kubelet, Service)
    health = HealthCheck(10248, within_seconds=given)
    keeper.make(Specification.of([*others, replace(kubelet, health=health)]))
    keeper.pass_time(20)
    answer, process = 500, 1 if was_well else 2
    keeper.pass_time(restarted_after - 1)
    assert keeper.starts == []
    keeper.pass_time(EVERY_SECONDS + 2)
    assert keeper.starts


def test_one_that_hangs_soon_after_its_start_is_not_given_a_start_s_time(
    tmp_path: pathlib.Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, answer = 1, 200
    monkeypatch.setattr("service.health._process", lambda *_: process)
    keeper = Keeper(tmp_path, host, loopback={"get": lambda *_: answer})
    *others, kubelet = nodes.wants()
    assert isinstance(kubelet, Service)
    keeper.make(
        Specification.of([*others, replace(kubelet, health=HealthCheck(10248, within_seconds=240.0))])
    )
    keeper.pass_time(60)
    keeper.told()
    process = 2
    keeper.happened(AS_SERVICE)
    keeper.pass_time(1)
    answer = 500
    keeper.pass_time(75)
    assert [event for event, _ in keeper.told()] == [Event.HUNG]


def test_one_that_does_not_answer_has_less_time_to_stop(tmp_path: pathlib.Path, host: Host) -> None:
    asked: list[float] = []

    def wait(name: str, state: ServiceState, seconds: float) -> ServiceStatus:
        if state is ServiceState.STOPPED:
            asked.append(seconds)
        return host.services.wait(name, state, seconds)

    keeper = Keeper(tmp_path, host, services={"wait": wait})
    keeper.make(nodes.node())
    (keeper._folder / ".sandbox" / "facts.json").write_text(json.dumps({"answers": {"10248": 500}}))
    keeper.pass_time(85)
    assert asked == [10.0]


# Others


def test_during_a_pause_nothing_is_repaired(keeper: Keeper) -> None:
    pausing.pause(keeper.host, None)
    keeper.happened(OWN)
    assert keeper.watches.services == set()
    keeper.host.files.write(CONFIG, CHANGED, PRIVATE_FILE)
    keeper.touched(CONFIG)
    keeper.crash()
    keeper.begin()  # a reboot
    keeper.pass_time(24 * 60 * MINUTE)
    assert keeper.host.files.read(CONFIG) == CHANGED
    assert stopped(keeper.host, "kubelet")
    assert pausing.resume(keeper.host)
    keeper.happened(OWN)
    assert status(keeper.host).is_well
    events = [event for event, _ in keeper.told()]
    assert events == [Event.PAUSED, Event.KEEPING, Event.PAUSED, Event.RESUMED, Event.REPAIRED, Event.STARTED]


def test_the_time_of_a_pause_counts_for_nobodys_limit(keeper: Keeper) -> None:
    facts = keeper._folder / ".sandbox" / "facts.json"
    facts.write_text(json.dumps({"answers": {"10248": 500}}))
    keeper.pass_time(20)
    pausing.pause(keeper.host, None)
    keeper.happened(OWN)
    keeper.pass_time(10 * MINUTE)
    pausing.resume(keeper.host)
    keeper.happened(OWN)
    keeper.pass_time(50)
    assert keeper.starts == []
    keeper.pass_time(30)
    assert len(keeper.starts) == 1


def test_a_pause_that_ends_before_its_end_is_watched_for_is_over(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = keeper.watches.follow

    def resumed_just_before(*subjects: Any, **more: Any) -> None:
        pausing.resume(keeper.host)
        follow(*subjects, **more)

    pausing.pause(keeper.host, None)
    monkeypatch.setattr(keeper.watches, "follow", resumed_just_before)
    keeper.crash()
    assert not stopped(keeper.host, "kubelet")
    assert keeper.watches.services == {"kubelet"}


def test_a_pause_ends_by_itself(keeper: Keeper) -> None:
    pausing.pause(keeper.host, keeper.clock.now() + 7200)
    keeper.happened(OWN)
    keeper.crash()
    keeper.pass_time(7200 - MINUTE)
    assert stopped(keeper.host, "kubelet")
    keeper.pass_time(2 * MINUTE)
    assert not stopped(keeper.host, "kubelet")


def test_while_another_is_at_work_it_holds_and_does_nothing(keeper: Keeper) -> None:
    with keeper.host.processes.exclusive("wmcb") as mine:
        assert mine
        keeper.crash()
        keeper.pass_time(5 * MINUTE)
        assert keeper.starts == []
        assert keeper.watches.services == set()
        assert keeper.watches.folders == {STATE, STATE.parent}
    keeper.pass_time(5)
    assert len(keeper.starts) == 1
    assert keeper.watches.services == {"kubelet"}
    assert CONFIG.parent in keeper.watches.folders


def test_while_another_is_at_work_nothing_is_in_its_way(keeper: Keeper) -> None:
    with keeper.host.processes.exclusive("wmcb") as mine:
        assert mine
        keeper.happened(OWN)
        assert keeper.watches.services == set()


def test_what_was_reset_is_not_brought_back(keeper: Keeper) -> None:
    keeper.host.services.stop("kubelet")
    reset(keeper.host, Silent())
    left = picture(keeper.host)
    keeper.happened(OWN, Signal(Source.SERVICE, "kubelet"), Signal(Source.FILE, str(CONFIG)))
    keeper.pass_time(30 * MINUTE)
    assert picture(keeper.host) == left
    assert keeper.host.files.observe(STATE) is None
    assert keeper.told() == []


def test_another_node_is_kept_from_then_on(keeper: Keeper) -> None:
    make_so(keeper.host, nodes.node(config=b"{2}"), Silent())
    keeper.happened(OWN)
    keeper.host.files.write(CONFIG, b"{}", PRIVATE_FILE)
    keeper.pass_time(10)
    keeper.touched(CONFIG)
    assert keeper.host.files.read(CONFIG) == b"{}", "what it was is known only once it has been seen so"
    make_so(keeper.host, nodes.node(config=b"{3}"), Silent())
    keeper.happened(OWN)
    keeper.pass_time(10)
    keeper.host.files.write(CONFIG, b"{}", PRIVATE_FILE)
    keeper.touched(CONFIG)
    assert keeper.host.files.read(CONFIG) == b"{3}"


def test_somebodys_interrupted_run_is_left_to_him(keeper: Keeper) -> None:
    power = Power(6)
    with pytest.raises(Killed):
        make_so(powered(keeper.host, power), nodes.node(program=b"MZ 2"), Silent())
    half = machine(keeper.host)
    keeper.happened(OWN, Signal(Source.SERVICE, "kubelet"))
    keeper.pass_time(30 * MINUTE)
    assert machine(keeper.host) == half
    assert [event for event, _ in keeper.told()] == [Event.UNFINISHED]
    make_so(keeper.host, nodes.node(program=b"MZ 2"), Silent())
    keeper.pass_time(2 * MINUTE)
    keeper.crash()
    assert not stopped(keeper.host, "kubelet")


def test_killed_in_a_repair_it_goes_on_when_it_is_started_again(tmp_path: pathlib.Path, host: Host) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(nodes.node())
    made = machine(host)
    changes = 0
    while True:
        host.files.write(CONFIG, CHANGED, PRIVATE_FILE)
        _service(host, command=(str(KUBELET), "--CHANGED"))
        power = Power(changes)
        dying = Keeper(tmp_path, powered(host, power))
        with_power = True
        try:
            dying.pass_time(1)
        except Killed:
            with_power = False
        assert status(host).interrupted is False
        again = Keeper(tmp_path, host)
        again.pass_time(10)
        assert machine(host) == made, f"killed after {changes} changes"
        assert host.files.observe(STATE / "journal") is None
        if with_power:
            break
        changes += 1
    assert changes > 8


def test_killed_in_a_repair_a_reset_leaves_nothing(tmp_path: pathlib.Path, host: Host) -> None:
    before = picture(host)
    keeper = Keeper(tmp_path, host)
    for changes in range(1, 12, 3):
        keeper.make(nodes.node())
        host.files.write(CONFIG, CHANGED, PRIVATE_FILE)
        with pytest.raises(Killed):
            Keeper(tmp_path, powered(host, Power(changes))).pass_time(1)
        reset(host, Silent())
        assert picture(host) == before, f"killed after {changes} changes"


def test_asked_to_end_in_a_repair_it_leaves_nothing_stopped(tmp_path: pathlib.Path, host: Host) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(nodes.node())
    host.files.write(CONFIG, CHANGED, PRIVATE_FILE)
    ending: list[Keeper] = []

    def stop(name: str, seconds: float) -> None:
        ending[0].signals.end()
        host.services.stop(name, seconds)

    ending.append(Keeper(tmp_path, host, services={"stop": stop}))
    ending[0].keeping.turn()
    assert host.files.read(CONFIG) == CHANGED
    assert not stopped(host, "kubelet")


def test_a_fault_of_its_own_is_told_and_outlived(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("service.keeping.drifted", lambda *_: 1 // 0)
        keeper.crash()
    ((event, text),) = keeper.told()
    assert (event, "unexpected ZeroDivisionError" in text) == (Event.TROUBLE, True)
    keeper.pass_time(2 * MINUTE)
    assert not stopped(keeper.host, "kubelet")


def test_a_fault_that_lasts_is_told_once(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes well meanwhile, as a question about health, is not its end."""

    def failing(host: Host, keys: Collection[Key] | None) -> Found:
        if keys is None:
            raise HostError("look at", "everything", 1450)
        return drifted(host, keys)

    monkeypatch.setattr("service.keeping.drifted", failing)
    keeper.happened(Signal(Source.ASKED))
    keeper.pass_time(10 * MINUTE)
    assert [event for event, _ in keeper.told()] == [Event.TROUBLE]


def test_what_cannot_be_taken_back_is_told_once(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    undone = Undone("services", (r"file C:\k\a.exe: access is denied",))
    monkeypatch.setattr("service.keeping.take_back_part", lambda *_: undone)
    keeper.pass_time(10 * MINUTE)
    ((event, text),) = keeper.told()
    assert event is Event.TROUBLE
    assert "cannot be taken back: file" in text


def test_it_sleeps_until_something_happens(keeper: Keeper) -> None:
    """Ten seconds between two questions about health, ten minutes where nothing can be asked."""
    turns = 0
    turn = keeper.keeping.turn

    def counted() -> None:
        nonlocal turns
        turns += 1
        turn()

    keeper.keeping.turn = counted  # type: ignore[method-assign]
    keeper.pass_time(60 * MINUTE)
    assert turns <= 360 + 20


# The registry


def test_a_setting_is_repaired_as_soon_as_its_key_tells(keeper: Keeper) -> None:
    level = RegistryValue(r"SOFTWARE\Contoso", "Level", RegistryType.NUMBER, 3)
    entry = PathEntry(PureWindowsPath(r"C:\k"))
    keeper.make(Specification.of([*nodes.node().wants, *level.on_the_way, level, entry]))
    environment = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    services = r"SYSTEM\CurrentControlSet\Services"
    assert keeper.watches.keys == {level.path, environment, source_key("wmcb"), rf"{services}\kubelet"}
    keeper.told()
    keeper.host.registry.remove(level.path, level.name)
    keeper.host.environment.set("Path", r"C:\installed")
    for key in (level.path, environment, "SOFTWARE"):
        keeper.happened(Signal(Source.REGISTRY, key))
    assert status(keeper.host).is_well
    assert [text for _, text in keeper.told()] == [
        r"registry value HKLM\SOFTWARE\Contoso\Level was gone, and was put right (type, data)",
        r"path entry C:\k was gone, and was put right (is there)",
    ]


# A service of Windows' own


def test_the_time_service_is_started_as_soon_as_it_is_told_to_have_stopped(keeper: Keeper) -> None:
    make_time_service(keeper.host, StartType.AUTOMATIC)
    keeper.make(Specification.of([*nodes.node().wants, TimeService()]))
    key = rf"SYSTEM\CurrentControlSet\Services\{W32TIME}"
    assert W32TIME in keeper.watches.services
    assert key in keeper.watches.keys
    keeper.told()
    keeper.host.services.stop(W32TIME)
    keeper.happened(Signal(Source.SERVICE, W32TIME))
    assert keeper.host.services.status(W32TIME).state is ServiceState.RUNNING
    installed: Any = keeper.host.services.read(W32TIME)
    keeper.host.services.change(replace(installed.definition, start=StartType.DISABLED))
    keeper.happened(Signal(Source.REGISTRY, key))
    assert [text for _, text in keeper.told()] == [
        f"time service {W32TIME} had been changed, and was put right ({field})" for field in ("runs", "start")
    ]
