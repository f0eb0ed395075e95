"""Runs of the engine, told by what is on the machine afterwards."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import PureWindowsPath

import pytest

from agent.engine.machine_lock import COMMAND_LOCK, Busy
from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.run import TakenBack, make_so, preview, reset, status, take_back
from agent.host.files import PATIENCE_SECONDS
from agent.host.port import Host, Principal
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE, SIDS
from agent.host.sandbox import held, open_sandbox
from agent.host.sddl import FILE_READ, FILE_WRITE, SecurityDescriptor
from agent.host.services import ServiceDefinition, ServiceState
from agent.resources.kind import CannotBeSo
from agent.spec import Directory, File, Inline, Protection, Service, Specification, Want
from agent.spec.files import ContainerdConfiguration
from agent.spec.machine import DnsSuffixes, RegistryType, RegistryValue
from sandbox.engine import nodes
from sandbox.engine.world import MUTATIONS, C, Killed, Power, changed, picture, powered, stopped

OPEN = SecurityDescriptor.parse("O:BAG:BAD:(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;AU)")
STATE = PureWindowsPath("C:\\ProgramData\\wmcb")


def run(host: Host, specification: Specification) -> list[tuple[Action, str]]:
    done = make_so(host, specification, Silent())
    return [(change.action, change.target.key.name) for change in done.plan.changes]


def without_state(host: Host) -> dict[str, object]:
    return picture(host, but=(STATE,))


def test_a_bare_machine_becomes_a_node(host: Host) -> None:
    changes = run(host, nodes.node())
    assert [action for action, _ in changes] == [Action.CREATE] * 8
    assert host.files.read(nodes.KUBELET) == b"MZ 1"
    installed = host.services.read("kubelet")
    assert installed is not None
    assert installed.definition.command == (str(nodes.KUBELET), "--windows-service")
    assert host.services.status("kubelet").state is ServiceState.RUNNING
    assert host.environment.get("NODE_ROLE") == "worker"


READING, WRITING = FILE_READ, FILE_WRITE & ~FILE_READ

GRANTED = {
    "a private file": (nodes.CONFIG, 0),
    "a private folder": (nodes.CONFIG.parent, 0),
    "a program": (nodes.KUBELET, READING),
    "a folder of programs": (nodes.K, READING),
    "what is remembered": (STATE / "node.json", 0),
    "where it is remembered": (STATE, 0),
}


@pytest.mark.parametrize(("path", "granted"), GRANTED.values(), ids=GRANTED)
def test_users_may_do_no_more_than_they_are_to(host: Host, path: PureWindowsPath, granted: int) -> None:
    run(host, nodes.node())
    descriptor = host.files.descriptor(path)
    assert descriptor.granted(SIDS[Principal.USER]) & (READING | WRITING) == granted
    assert descriptor.granted(SIDS[Principal.ADMINISTRATOR]) & WRITING == WRITING


def test_everything_is_born_with_its_protection(host: Host) -> None:
    """Not given it once it is written: a moment is enough for whoever waits for it."""
    born: dict[PureWindowsPath, SecurityDescriptor] = {}

    def write(path: PureWindowsPath, content: object, descriptor: SecurityDescriptor) -> object:
        born[path] = descriptor
        return host.files.write(path, content, descriptor)  # type: ignore[arg-type]

    def make_directory(path: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        born[path] = descriptor
        host.files.make_directory(path, descriptor)

    watched = changed(host, files={"write": write, "make_directory": make_directory})
    for config in (b"{}", b"{1}"):
        run(watched, nodes.node(config=config))
        assert {nodes.KUBELET, nodes.CONFIG, nodes.CONFIG.parent, nodes.K, STATE} <= set(born)
        there = {path for path in born if host.files.observe(path) is not None}
        assert {path: str(host.files.descriptor(path)) for path in there} == {
            path: str(born[path]) for path in there
        }


def test_done_again_nothing_changes(host: Host) -> None:
    run(host, nodes.node())
    before = picture(host)
    power = Power(left=0)
    assert run(powered(host, power), nodes.node()) == []
    assert not power.dead
    assert picture(host) == before


def test_reset_leaves_nothing(host: Host) -> None:
    before = picture(host)
    run(host, nodes.node())
    assert picture(host) != before
    reset(host, Silent())
    assert picture(host) == before


def of_the_program(host: Host) -> None:
    host.files.write(nodes.KUBELET, b"MZ planted", PROGRAM_FILE)


def of_a_descriptor(host: Host) -> None:
    host.files.set_descriptor(nodes.CONFIG, OPEN)


def of_a_folder(host: Host) -> None:
    host.files.set_descriptor(nodes.CONFIG.parent, OPEN)


def of_the_variable(host: Host) -> None:
    host.environment.remove("NODE_ROLE")


def of_the_registration(host: Host) -> None:
    installed = host.services.read("kubelet")
    assert installed is not None
    host.services.change(replace(installed.definition, command=("C:\\other.exe",)))


def of_the_event_source(host: Host) -> None:
    host.events.register("wmcb", C / "other.exe")


def of_the_service(host: Host) -> None:
    host.services.stop("kubelet")


def of_a_missing_service(host: Host) -> None:
    host.services.stop("kubelet")
    host.services.delete("kubelet")


def of_a_file_dropped_beside_the_program(host: Host) -> None:
    host.files.write(nodes.K / "version.dll", b"planted", OPEN)


DRIFTS = [
    of_the_program, of_a_descriptor, of_a_folder, of_the_variable, of_the_registration, of_the_service,
    of_a_missing_service, of_the_event_source,
]  # fmt: skip


@pytest.mark.parametrize("drift", DRIFTS)
def test_drift_is_told_and_repaired(host: Host, drift: Callable[[Host], None]) -> None:
    run(host, nodes.node())
    wanted = without_state(host)
    drift(host)
    drifted = [standing for standing in status(host).resources if standing.differences or not standing.found]
    assert drifted
    assert run(host, nodes.node())
    assert without_state(host) == wanted
    assert not [standing for standing in status(host).resources if standing.differences]


def test_what_users_may_write_beside_a_program_is_closed_to_them_and_given_back(host: Host) -> None:
    host.files.make_directory(nodes.K, OPEN)
    host.files.write(nodes.K / "version.dll", b"planted", OPEN)
    before = picture(host)
    run(host, nodes.node())
    assert host.files.descriptor(nodes.K / "version.dll").equivalent(PROGRAM_FILE)
    reset(host, Silent())
    assert picture(host) == before


def test_so_is_what_lies_below_a_private_folder_but_for_what_is_apart(host: Host) -> None:
    """A folder's own descriptor hands nothing down to what is there already."""
    folder = nodes.CONFIG.parent
    sockets, volume = folder / "plugins" / "sockets", folder / "Pods" / "1"
    for each in (nodes.ETC, folder, sockets.parent, sockets, volume.parent, volume):
        host.files.make_directory(each, OPEN)
    host.files.write(sockets / "driver.sock", b"", OPEN)
    before = picture(host)
    wants = [*nodes.wants(), Directory(volume.parent, Protection.PODS)]
    run(host, Specification.of(wants))
    for path in (sockets.parent, sockets):
        assert host.files.descriptor(path).equivalent(PRIVATE_DIRECTORY)
    assert host.files.descriptor(sockets / "driver.sock").equivalent(PRIVATE_FILE)
    assert host.files.descriptor(volume) == OPEN
    host.files.set_descriptor(volume, SecurityDescriptor.parse("O:BAD:P(A;;FA;;;WD)"))
    assert status(host).is_well
    host.files.set_descriptor(sockets, OPEN)
    assert not status(host).is_well
    host.files.set_descriptor(volume, OPEN)
    reset(host, Silent())
    assert picture(host) == before


def test_what_users_may_read_in_a_private_folder_is_closed_and_in_a_program_s_not(host: Host) -> None:
    folder = nodes.CONFIG.parent
    readable = SecurityDescriptor.parse("O:BAD:(A;;FA;;;SY)(A;;FA;;;BA)(A;ID;0x1200a9;;;BU)")
    names_alone = SecurityDescriptor.parse("O:BAD:(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x100080;;;BU)")
    for each in (nodes.ETC, folder, folder / "seen", nodes.K):
        host.files.make_directory(each, readable)
    key, program, known = folder / "seen" / "old.key", nodes.K / "tool.exe", folder / "known"
    for path in (key, program):
        host.files.write(path, b"", readable)
    host.files.write(known, b"", names_alone)
    before = picture(host)
    run(host, nodes.node())
    assert host.files.descriptor(key).equivalent(PRIVATE_FILE)
    assert [host.files.descriptor(path) for path in (program, folder / "seen")] == [readable] * 2
    assert host.files.descriptor(known) == names_alone
    assert status(host).is_well
    host.files.set_descriptor(key, readable)
    assert status(host).is_well, "in a closed folder all is born closed: this was opened on purpose"
    reset(host, Silent())
    assert picture(host) == before


def test_what_one_person_alone_could_read_beside_a_program_nobody_comes_to_read(host: Host) -> None:
    """A kubeconfig that an administrator has left there, or a service's key."""
    somebodys = SecurityDescriptor.parse("O:S-1-5-21-1-2-3-1001D:P(A;;FA;;;SY)(A;;FA;;;BA)")
    services = SecurityDescriptor.parse(
        "O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;OICI;0x1301bf;;;S-1-5-80-1-2-3-4-5)"
    )
    config, folder = nodes.K / "config", nodes.K / "of-a-service"
    for each in (nodes.K, folder):
        host.files.make_directory(each, services)
    host.files.write(config, b"apiVersion: v1", somebodys)
    host.files.write(folder / "its.key", b"", services)
    before = picture(host)
    run(host, nodes.node())
    assert [host.files.descriptor(path) for path in (config, folder / "its.key")] == [PRIVATE_FILE] * 2
    assert host.files.descriptor(folder) == PRIVATE_DIRECTORY
    assert status(host).is_well
    host.files.write(nodes.K / "another.key", b"", somebodys)
    reset(host, Silent())
    assert host.files.descriptor(nodes.K / "another.key") == PRIVATE_FILE, "it was opened since"
    host.files.remove(nodes.K / "another.key")
    assert picture(host) == before


def test_a_changed_configuration_restarts_the_service(host: Host) -> None:
    run(host, nodes.node())
    assert run(host, nodes.node(config=b"{1}")) == [
        (Action.CHANGE, str(nodes.CONFIG)),
        (Action.RESTART, "kubelet"),
    ]
    assert not stopped(host, "kubelet")


def test_a_description_changes_without_a_restart(host: Host) -> None:
    run(host, nodes.node())
    *others, service = nodes.wants()
    assert isinstance(service, Service)
    told = replace(service, description="x")
    planned = preview(host, Specification.of([*others, told]))
    assert planned.pauses == ()
    assert [change.action for change in planned.changes] == [Action.CHANGE]


def test_what_is_no_longer_wanted_goes(host: Host) -> None:
    more = File(nodes.CONFIG.parent / "more.conf", Inline(b"x"))
    run(host, Specification.of([*nodes.wants(), more]))
    run(host, nodes.node())
    assert host.files.observe(more.path) is None


TOML = PureWindowsPath(r"C:\k\config.toml")
PAUSE = "registry.example/pause:3.10.1"
RESOLVER = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"


def configured(*, single: bool) -> Specification:
    """The same, once as whole things and once as single settings; and a service that is ill without it."""
    config = File(TOML, Inline(WRITTEN), Protection.PROGRAM)
    settings = ContainerdConfiguration(TOML, 2, sandbox_image=PAUSE)
    value = RegistryValue(RESOLVER, "SearchList", RegistryType.STRING, "a.example")
    of_it = [settings, DnsSuffixes(("a.example",))] if single else [config, *value.on_the_way, value]
    program = File(nodes.KUBELET, Inline(b"MZ 1"), Protection.PROGRAM)
    service = Service("containerd", nodes.KUBELET, reads=(of_it[0].key,))
    return Specification.of([Directory(nodes.K, Protection.PROGRAM), program, *of_it, service])


WRITTEN = f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
""".encode()


@pytest.mark.parametrize("before", [None, WRITTEN.replace(b"pause", b"other")], ids=["none", "another"])
def test_what_is_wanted_under_another_kind_of_resource_stays(host: Host, before: bytes | None) -> None:
    if before is not None:
        host.files.make_directory(nodes.K, PROGRAM_DIRECTORY)
        host.files.write(TOML, before, PROGRAM_FILE)
    bare = picture(host)
    run(host, configured(single=False))

    def start(name: str) -> None:
        assert PAUSE.encode() in host.files.read(TOML), "it is there again before what reads it starts"
        host.services.start(name)

    done = make_so(changed(host, services={"start": start}), configured(single=True), Silent())
    assert status(host).is_well
    found = host.registry.read(RESOLVER, "SearchList")
    assert found is not None
    assert found.data == "a.example"
    regained = {"containerd_configuration", "dns_suffixes"}
    assert regained < {change.target.key.kind for change in done.plan.changes}
    assert regained.isdisjoint(match.target.key.kind for match in done.plan.unchanged)
    assert done.adopted == ()
    assert run(host, configured(single=True)) == []
    reset(host, Silent())
    assert picture(host) == bare
    assert host.registry.read(RESOLVER, "SearchList") is None


def test_what_was_there_comes_back(host: Host) -> None:
    """A machine with an older kubelet of somebody else's, running."""
    host.files.make_directory(nodes.K, OPEN)
    host.files.make_directory(nodes.ETC, OPEN)
    host.files.write(nodes.KUBELET, b"MZ 0", OPEN)
    host.services.create(ServiceDefinition("kubelet", (str(nodes.KUBELET), "--old"), "Old", "by hand"))
    host.services.start("kubelet")
    host.environment.set("NODE_ROLE", "old")
    before = picture(host)
    run(host, nodes.node())
    run(host, nodes.node(program=b"MZ 2"))
    reset(host, Silent())
    assert picture(host) == before


def test_a_service_of_a_stopped_sort_comes_back_stopped(host: Host) -> None:
    host.services.create(ServiceDefinition("kubelet", (str(nodes.KUBELET),)))
    before = picture(host)
    run(host, nodes.node())
    reset(host, Silent())
    assert picture(host) == before


@pytest.mark.parametrize("drive", ["C:", "c:"])
def test_what_the_nodes_programs_put_into_its_own_folder_goes_with_it(host: Host, drive: str) -> None:
    bare = picture(host)
    logs = PureWindowsPath(rf"{drive}\logs")
    run(host, Specification.of([Directory(logs, belongs_to_node=True)]))
    host.files.write(logs / "containerd.log", b"started", PRIVATE_FILE)
    assert reset(host, Silent()).left == ()
    assert picture(host) == bare


def test_what_is_closed_some_time_after_a_pods_end_goes_with_the_nodes_folder(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = PureWindowsPath(r"C:\logs")
    run(host, Specification.of([Directory(logs, belongs_to_node=True)]))
    host.files.write(logs / "0.log", b"started", PRIVATE_FILE)
    closed = time.monotonic() + PATIENCE_SECONDS + 1
    monkeypatch.setattr(
        held, "is_held", lambda place: place.path.name == "0.log" and time.monotonic() < closed
    )
    assert reset(host, Silent()).plan.stays == {}
    assert host.files.observe(logs) is None


def test_what_others_put_into_our_folders_stays(host: Host) -> None:
    run(host, nodes.node())
    host.files.write(nodes.K / "notes.txt", b"mine", PROGRAM_FILE)
    host.files.write(nodes.CONFIG.parent / "pki.pem", b"of the kubelet", PROGRAM_FILE)
    done = reset(host, Silent())
    assert host.files.read(nodes.K / "notes.txt") == b"mine"
    assert done.left == (r"C:\k holds something that is not wmcb's (notes.txt), and stays",)
    assert host.files.observe(nodes.CONFIG.parent) is None


# Failures


class Refusal(Exception):
    pass


def refusing(host: Host, method: str) -> Host:
    services = host.services

    class Services:
        def __getattr__(self, name: str) -> object:
            return getattr(services, name)

    def refuse(*_: object, **__: object) -> None:
        raise Refusal(method)

    broken = Services()
    setattr(broken, method, refuse)
    return replace(host, services=broken)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["create", "start"])
def test_a_failed_first_run_leaves_nothing(host: Host, method: str) -> None:
    before = picture(host)
    with pytest.raises(TakenBack) as failure:
        make_so(refusing(host, method), nodes.node(), Silent())
    assert isinstance(failure.value.__cause__, Refusal)
    assert picture(host) == before


def test_a_failed_upgrade_is_taken_back(host: Host) -> None:
    run(host, nodes.node())
    before = picture(host)

    class Ill:
        def get(self, *_: object) -> int:
            return 500

    ill = replace(host, loopback=Ill(), clock=Hasty(host))
    with pytest.raises(TakenBack) as failure:
        make_so(ill, nodes.node(program=b"MZ 2", config=b"{2}"), Silent())
    assert "answers 500 after 60 seconds" in str(failure.value.__cause__)
    assert failure.value.undone.trouble == ()
    assert picture(host) == before
    assert not status(host).interrupted


class Hasty:
    """A clock whose waiting takes no time."""

    def __init__(self, host: Host) -> None:
        self._clock = host.clock
        self._slept = 0.0

    def now(self) -> float:
        return self._clock.now() + self._slept

    def monotonic(self) -> float:
        return self._clock.monotonic() + self._slept

    def boot(self) -> int:
        return self._clock.boot()

    def sleep(self, seconds: float) -> None:
        self._slept += seconds


# Crashes


def test_a_kill_comes_at_changes_of_each_port_that_can_make_one(host: Host) -> None:
    only_looked_through = {"access", "signatures", "facts", "clock", "loopback", "called"}
    assert set(MUTATIONS) == set(type(host).__match_args__) - only_looked_through
    for port, methods in MUTATIONS.items():
        assert [name for name in methods if not hasattr(getattr(host, port), name)] == [], port


def changes_of(host: Host, what: Callable[[Host], object]) -> int:
    power = Power(left=10_000)
    what(powered(host, power))
    return power.used


def bare(_: Host) -> None:
    pass


def somebody_elses(host: Host) -> None:
    host.files.make_directory(nodes.K, OPEN)
    host.files.make_directory(nodes.ETC, OPEN)
    host.files.write(nodes.KUBELET, b"MZ 0", OPEN)
    host.services.create(ServiceDefinition("kubelet", (str(nodes.KUBELET), "--old"), "Old", "by hand"))
    host.services.start("kubelet")


def an_older_node(host: Host) -> None:
    run(host, nodes.node(program=b"MZ 0", arguments=("--old",)))


BEFORE: dict[str, Callable[[Host], object]] = {
    "bare": bare,
    "somebody else's kubelet": somebody_elses,
    "an older node": an_older_node,
}


@pytest.mark.parametrize("machine", BEFORE)
def test_killed_anywhere_it_is_finished_by_the_next_run(
    tmp_path_factory: pytest.TempPathFactory, machine: str
) -> None:
    def fresh() -> Host:
        host = open_sandbox(tmp_path_factory.mktemp("c"))
        BEFORE[machine](host)
        return host

    undisturbed = fresh()
    untouched = without_state(undisturbed)
    steps = changes_of(undisturbed, lambda host: run(host, nodes.node()))
    wanted = without_state(undisturbed)
    assert steps >= 15
    for left in range(steps):
        host = fresh()
        with pytest.raises(Killed):
            run(powered(host, Power(left)), nodes.node())
        run(host, nodes.node())
        assert without_state(host) == wanted, f"finished after {left} changes"
        assert not status(host).interrupted
        if machine != "an older node":
            reset(host, Silent())
            assert picture(host) == picture(fresh()), f"reset after {left} changes"

        host = fresh()
        with pytest.raises(Killed):
            run(powered(host, Power(left)), nodes.node())
        # Before its journal was begun there is nothing to take back, and after its end neither.
        begun = status(host).interrupted
        took_back = take_back(host, Silent()) is not None
        assert took_back is begun
        now = without_state(host)
        assert now == untouched or (now == wanted and not begun), f"taken back after {left} changes"
        assert not status(host).interrupted


def test_killed_anywhere_in_a_reset_it_is_finished_by_the_next(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def fresh() -> Host:
        host = open_sandbox(tmp_path_factory.mktemp("c"))
        somebody_elses(host)
        return host

    untouched = picture(fresh())
    host = fresh()
    run(host, nodes.node())
    steps = changes_of(host, lambda host: reset(host, Silent()))
    for left in range(steps):
        host = fresh()
        run(host, nodes.node())
        with pytest.raises(Killed):
            reset(powered(host, Power(left)), Silent())
        reset(host, Silent())
        assert picture(host) == untouched, f"after {left} changes"


def test_killed_twice_with_another_document_between(host: Host) -> None:
    """What the first run made and nobody wants any more goes, too."""
    untouched = without_state(host)
    other = [Directory(C / "other"), File(C / "other" / "file", Inline(b"x"))]
    with pytest.raises(Killed):
        run(powered(host, Power(5)), Specification.of(other))
    assert host.files.observe(C / "other") is not None
    with pytest.raises(Killed):
        run(powered(host, Power(8)), nodes.node())
    run(host, nodes.node())
    assert host.files.observe(C / "other") is None
    reset(host, Silent())
    assert without_state(host) == untouched


# What stands in the way


def a_file_in_place_of_a_folder(host: Host) -> list[Want]:
    host.files.write(nodes.K, b"", PROGRAM_FILE)
    return nodes.wants()


def a_folder_in_place_of_a_file(host: Host) -> list[Want]:
    host.files.make_directory(nodes.K, OPEN)
    host.files.make_directory(nodes.KUBELET, OPEN)
    return nodes.wants()


def a_program_that_is_to_be_there(host: Host) -> list[Want]:  # noqa: ARG001 - and is not
    return [File(C / "kubelet.exe", None)]


OBSTACLES = {
    r"C:\\k is a file, where a folder is to be; move it away": a_file_in_place_of_a_folder,
    r"C:\\k\\kubelet.exe is a directory, where a file is to be; move it away": a_folder_in_place_of_a_file,
    r"C:\\kubelet.exe has to be there already, and is not": a_program_that_is_to_be_there,
}


@pytest.mark.parametrize(
    "told, prepare", OBSTACLES.items(), ids=[each.__name__ for each in OBSTACLES.values()]
)
def test_an_obstacle_is_one_line_and_nothing_changes(
    host: Host, told: str, prepare: Callable[[Host], list[Want]]
) -> None:
    wants = prepare(host)
    before = picture(host)
    with pytest.raises(CannotBeSo, match=told):
        run(host, Specification.of(wants))
    assert picture(host) == before


def test_all_that_stands_in_the_way_is_told_at_once(host: Host) -> None:
    for folder in (nodes.KUBELET, nodes.CONFIG):
        for each in (*reversed(folder.parents[:-1]), folder):
            if host.files.observe(each) is None:
                host.files.make_directory(each, OPEN)
    with pytest.raises(CannotBeSo) as obstacles:
        run(host, nodes.node())
    told = {
        f"{path} is a directory, where a file is to be; move it away"
        for path in (nodes.KUBELET, nodes.CONFIG)
    }
    assert all(each in str(obstacles.value) for each in told)


def test_one_run_at_a_time(host: Host) -> None:
    with host.processes.exclusive(COMMAND_LOCK), pytest.raises(Busy):
        run(host, nodes.node())


def test_a_memory_that_users_could_have_planted_is_not_believed(host: Host) -> None:
    host.files.make_directory(STATE, OPEN)
    host.files.write(STATE / "node.json", b"{}", PROGRAM_FILE)
    with pytest.raises(CannotBeSo, match="open to users, so what it holds cannot be trusted"):
        run(host, nodes.node())


DAMAGES = {
    "not JSON": (b"{", "is damaged"),
    "no format": (b"{}", "is damaged"),
    "a newer one": (b'{"format": 99}', "was written by a newer wmcb"),
}


@pytest.mark.parametrize("content, told", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_memory_is_told(host: Host, content: bytes, told: str) -> None:
    run(host, nodes.node())
    for memory in ("node.json", "node.json.copy"):
        host.files.write(STATE / memory, content, PROGRAM_FILE)
    with pytest.raises(CannotBeSo, match=told):
        run(host, nodes.node())


FORMAT_1 = pathlib.Path(__file__).parents[2] / "data" / "memory" / "format-1"
"""What the first release remembered of `nodes.node()`, in the middle of an upgrade of its program."""


def upgraded_half_way(host: Host) -> dict[str, object]:
    """As that release left it. What the machine was like before the upgrade."""
    run(host, nodes.node())
    before = without_state(host)
    host.services.stop("kubelet")
    host.files.write(nodes.KUBELET, b"MZ 2", PROGRAM_FILE)
    for file in (path for path in FORMAT_1.rglob("*") if path.is_file()):
        place = STATE.joinpath(*file.relative_to(FORMAT_1).parts)
        host.files.write(place, file.read_bytes(), PRIVATE_FILE)
    host.files.remove(STATE / "node.json.copy")
    return before


def test_what_the_first_format_remembers_is_taken_back(host: Host) -> None:
    before = upgraded_half_way(host)
    assert status(host).interrupted
    assert take_back(host, Silent()) is not None
    assert without_state(host) == before
    assert status(host).is_well


def test_what_the_first_format_remembers_is_finished_and_reset(host: Host) -> None:
    bare = picture(host)
    upgraded_half_way(host)
    run(host, nodes.node(program=b"MZ 2"))
    assert host.files.read(nodes.KUBELET) == b"MZ 2"
    assert status(host).is_well
    reset(host, Silent())
    assert picture(host) == bare


def test_no_secret_is_open_to_users(host: Host) -> None:
    run(host, nodes.node())
    for path in (STATE, STATE / "kept"):
        assert host.files.descriptor(path).equivalent(PRIVATE_DIRECTORY)


def test_a_file_is_protected_anew_where_no_folder_of_ours_does_it(host: Host) -> None:
    alone = Specification.of([File(C / "alone.txt", Inline(b"secret"))])
    run(host, alone)
    host.files.set_descriptor(C / "alone.txt", OPEN)
    run(host, alone)
    assert host.files.descriptor(C / "alone.txt").equivalent(PRIVATE_FILE)
