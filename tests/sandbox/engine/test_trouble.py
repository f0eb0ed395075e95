"""Runs that something comes between: programs that hold files, people, Windows itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.engine.inventory import Inventory
from agent.engine.machine_lock import COMMAND_LOCK, LOCK, Busy
from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.repairing import drifted
from agent.engine.run import TakenBack, forget, make_so, preview, reset, status, take_back
from agent.engine.state_folder import StateFolder
from agent.host.errors import InUse, MarkedForDeletion, NoSpace, ProgramRunning, ServiceFailed, TimedOut
from agent.host.files import Entry, FileKind
from agent.host.port import Host, Principal, RegistryKind, RegistryValue
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE, SIDS
from agent.host.sandbox import open_sandbox
from agent.host.sddl import FILE_READ, FILE_WRITE, SecurityDescriptor
from agent.host.services import RecoveryAction, ServiceDefinition, ServiceState
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo
from agent.spec import Directory, File, Inline, Protection, Service, Specification
from sandbox.engine import nodes
from sandbox.engine.test_run import OPEN, STATE, Hasty, run
from sandbox.engine.world import C, Disk, Killed, Power, changed, picture, powered


def holding_the_journal(host: Host) -> Host:
    def remove(path: PureWindowsPath) -> None:
        if path.name == "journal":
            raise InUse("remove", str(path), 32)
        host.files.remove(path)

    return changed(host, files={"remove": remove})


def ill(host: Host) -> Host:
    return replace(changed(host, loopback={"get": lambda *_: 500}), clock=Hasty(host))


def test_a_finished_run_whose_journal_is_held_is_not_taken_back(host: Host) -> None:
    held = holding_the_journal(host)
    run(held, nodes.node())
    assert not status(host).interrupted
    assert take_back(held, Silent()) is None
    assert status(host).is_well


def test_nor_by_a_later_run_that_fails(host: Host) -> None:
    held = holding_the_journal(host)
    run(held, nodes.node())
    with pytest.raises(TakenBack):
        run(ill(held), nodes.node(program=b"MZ 2"))
    assert not [each for each in status(host).resources if each.differences or each.found is None]
    run(host, nodes.node())
    assert status(host).is_well


def test_nor_a_finished_reset_and_the_next_run_begins_anew(host: Host) -> None:
    bare = picture(host)
    run(host, nodes.node())
    reset(holding_the_journal(host), Silent())
    assert not status(host).interrupted
    assert take_back(holding_the_journal(host), Silent()) is None
    what_is_there_now_comes_back(host)
    host.environment.remove("NODE_ROLE")
    assert picture(host) == bare


@pytest.mark.parametrize("former", [None, b"MZ 0"], ids=["the first run", "a later one"])
def test_what_was_taken_back_is_not_taken_back_again_because_its_journal_is_held(
    host: Host, former: bytes | None
) -> None:
    if former is not None:
        run(host, without_variable(former))
    with pytest.raises(TakenBack):
        run(holding_the_journal(ill(host)), nodes.node())
    assert not status(host).interrupted
    assert take_back(holding_the_journal(host), Silent()) is None
    what_is_there_now_comes_back(host)


def what_is_there_now_comes_back(host: Host) -> None:
    """After a node, and not what was there before the run that is over."""
    host.environment.set("NODE_ROLE", "of somebody else")
    run(host, nodes.node())
    reset(host, Silent())
    assert host.environment.get("NODE_ROLE") == "of somebody else"


def without_variable(program: bytes) -> Specification:
    folder = Directory(nodes.K, Protection.PROGRAM)
    return Specification.of([folder, File(nodes.KUBELET, Inline(program), Protection.PROGRAM)])


GARBAGE = {
    "cut short": b'{"deed": "cha',
    "zeros": bytes(100),
    "zeros, and the end of a line": bytes(100) + b'CHANGE"}\n',
    "two of them": bytes(10) + b"\n" + bytes(10) + b"\n",
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_what_a_power_cut_left_of_the_last_line_is_no_damage(host: Host, garbage: bytes) -> None:
    bare = picture(host, but=(STATE,))
    with pytest.raises(Killed):
        run(powered(host, Power(8)), nodes.node())
    journal = STATE / "journal"
    host.files.write(journal, host.files.read(journal) + garbage, PRIVATE_FILE)
    take_back(host, Silent())
    assert picture(host, but=(STATE,)) == bare


def test_damage_in_the_middle_is_told(host: Host) -> None:
    with pytest.raises(Killed):
        run(powered(host, Power(12)), nodes.node())
    journal = STATE / "journal"
    first, second, rest = host.files.read(journal).split(b"\n", 2)
    host.files.write(journal, b"\n".join([first, second[:-5], rest]), PRIVATE_FILE)
    with pytest.raises(CannotBeSo, match="journal is damaged"):
        run(host, nodes.node())


def test_a_service_that_windows_starts_in_the_middle_is_stopped_again(host: Host) -> None:
    """By its recovery actions, say, with the new program and the old configuration."""
    run(host, nodes.node())
    host.services.stop("kubelet")
    stops = []

    def write(path: PureWindowsPath, *given: Any) -> Any:
        if path == nodes.CONFIG:
            host.services.start("kubelet")
        return host.files.write(path, *given)

    def stop(name: str, seconds: float) -> None:
        stops.append(name)
        host.services.stop(name, seconds)

    run(changed(host, files={"write": write}, services={"stop": stop}), nodes.node(config=b"{2}"))
    assert stops == ["kubelet"]
    assert status(host).is_well


def two_services(*, both: bool) -> Specification:
    base = Service("base", nodes.KUBELET, ("base",))
    user = Service("kubelet", nodes.KUBELET, ("kubelet",), dependencies=("base",) if both else ())
    program = File(nodes.KUBELET, Inline(b"MZ 1"), Protection.PROGRAM)
    folder = Directory(nodes.K, Protection.PROGRAM)
    return Specification.of([folder, program, *([base] if both else []), user])


def test_a_service_that_another_needed_can_go(host: Host) -> None:
    run(host, two_services(both=True))
    run(host, two_services(both=False))
    assert host.services.read("base") is None
    assert host.services.status("kubelet").state is ServiceState.RUNNING


def test_a_file_can_become_a_folder_and_a_file_again(host: Host) -> None:
    file, folder = Specification.of([File(C / "x", Inline(b"1"))]), Specification.of([Directory(C / "x")])
    for wanted in (file, folder, file):
        run(host, wanted)
        assert status(host).is_well


def test_interrupted_when_all_is_done_it_is_done(host: Host) -> None:
    def write(path: PureWindowsPath, *given: Any) -> Any:
        aside = host.files.write(path, *given)
        if path.name == "node.json":
            raise KeyboardInterrupt
        return aside

    run(host, nodes.node())
    with pytest.raises(KeyboardInterrupt):
        run(changed(host, files={"write": write}), nodes.node(program=b"MZ 2"))
    assert status(host).is_well
    assert host.files.read(nodes.KUBELET) == b"MZ 2"


def test_what_cannot_be_tidied_does_not_keep_a_run_from_being_over(host: Host) -> None:
    failed: list[str] = []

    def names(path: PureWindowsPath) -> Any:
        if failed and path == nodes.K:
            raise InUse("list", str(path), 32)
        return host.files.list(path)

    def start(name: str) -> None:
        failed.append(name)
        raise InUse("start", name, 32)

    with pytest.raises(TakenBack) as failure:
        run(changed(host, files={"list": names}, services={"start": start}), nodes.node())
    assert failure.value.undone.trouble == ()
    assert not status(host).interrupted


def test_nothing_is_read_of_a_folder_that_users_can_fill(host: Host) -> None:
    """A plain user makes it, empty, and puts something into it as soon as it has been looked at."""
    host.files.make_directory(STATE, OPEN)

    def read(path: PureWindowsPath, *given: Any) -> bytes:
        assert not host.files.descriptor(STATE).granted(SIDS[Principal.USER])
        return host.files.read(path, *given)

    run(changed(host, files={"read": read}), nodes.node())
    assert json.loads(host.files.read(STATE / "node.json"))["format"] == 1


def test_content_that_changes_while_it_is_put_by_is_not_put_by(host: Host) -> None:
    host.files.make_directory(nodes.K, OPEN)
    host.files.write(nodes.KUBELET, b"MZ 0", OPEN)

    def blocks(path: PureWindowsPath) -> Any:
        return iter([b"MZ changed"]) if path == nodes.KUBELET else host.files.blocks(path)

    with pytest.raises(TakenBack) as failure:
        run(changed(host, files={"blocks": blocks}), nodes.node())
    assert "is being changed by another program" in str(failure.value.__cause__)
    assert host.files.read(nodes.KUBELET) == b"MZ 0"


def test_what_does_not_stop_is_ended_and_not_started_again_by_windows(host: Host) -> None:
    run(host, nodes.node())
    ended: list[int] = []

    def wait(name: str, state: ServiceState, seconds: float) -> Any:
        if state is ServiceState.STOPPED and not ended:
            raise TimedOut("bring", f"service {name} to STOPPED", 1460)
        return host.services.wait(name, state, seconds)

    def end(pid: int) -> None:
        installed = host.services.read("kubelet")
        assert installed is not None
        assert RecoveryAction.RESTART not in [action for action, _ in installed.definition.recovery.actions]
        ended.append(pid)

    def process_of(name: str) -> Any:
        return replace(host.services.status(name), pid=4242)

    services = {"wait": wait, "status": process_of}
    run(changed(host, services=services, processes={"end": end}), nodes.node(program=b"MZ 2"))
    assert ended == [4242]
    installed = host.services.read("kubelet")
    assert installed is not None
    assert installed.definition.recovery.actions[0][0] is RecoveryAction.RESTART


# What was found when somebody else tried to break it


def somebody_elses_node(host: Host) -> None:
    host.files.make_directory(nodes.K, OPEN)
    host.files.write(nodes.KUBELET, b"MZ 0", OPEN)
    host.files.write(nodes.K / "version.dll", b"planted", OPEN)


def full_for_the_inventory(host: Host) -> Host:
    def write(path: PureWindowsPath, *given: Any) -> Any:
        if path.name == "node.json":
            raise NoSpace("write", str(path), 112)
        return host.files.write(path, *given)

    return changed(host, files={"write": write})


def test_a_reset_that_fails_at_its_very_end_leaves_the_node_whole(host: Host) -> None:
    """With the kubelet's own certificates, which nobody could make again."""
    somebody_elses_node(host)
    run(host, nodes.node())
    host.files.write(nodes.CONFIG.parent / "kubelet-client.pem", b"key", PRIVATE_FILE)
    before = picture(host)
    with pytest.raises(TakenBack) as failure:
        reset(full_for_the_inventory(host), Silent())
    assert failure.value.undone.trouble == ()
    reserve = f"file {STATE / 'reserve'}"
    assert {**picture(host), reserve: None} == {**before, reserve: None}
    assert host.files.read(nodes.CONFIG.parent / "kubelet-client.pem") == b"key"


def held(host: Host, path: PureWindowsPath) -> Host:
    """Some program has it open."""

    def remove(asked: PureWindowsPath) -> None:
        if asked == path:
            raise InUse("remove", str(asked), 32)
        host.files.remove(asked)

    return changed(host, files={"remove": remove})


def shown(host: Host) -> Host:
    """By services.msc, the service is."""

    def delete(name: str) -> None:
        raise MarkedForDeletion("delete", f"service {name}", 1072)

    return changed(host, services={"delete": delete})


STAYING = {
    "a file that is open": (
        lambda host: held(host, nodes.CONFIG),
        {f"file {nodes.CONFIG}", f"directory {nodes.CONFIG.parent}", f"directory {nodes.ETC}"},
    ),
    "a service that is open": (
        shown,
        {
            "service kubelet",
            *(f"file {path}" for path in (nodes.CONFIG, nodes.KUBELET)),
            *(f"directory {path}" for path in (nodes.CONFIG.parent, nodes.ETC, nodes.K)),
            "environment variable NODE_ROLE",
        },
    ),
}


@pytest.mark.parametrize(("hindered", "staying"), STAYING.values(), ids=STAYING)
def test_a_reset_goes_on_with_all_that_can_go_and_the_next_one_takes_the_rest(
    host: Host, hindered: Callable[[Host], Host], staying: set[str]
) -> None:
    """What something needs that stays, stays with it: else users could put theirs where a service looks."""
    bare = picture(host)
    run(host, nodes.node())
    all_of_it = {str(want.key) for want in nodes.node().wants}
    for _ in range(2):
        done = reset(hindered(host), Silent())
        assert {str(key) for key in done.plan.stays} == staying
        assert {str(key) for key in Inventory.load(StateFolder.of(host)).records} == staying
        gone = {key.partition(" ")[2] for key in all_of_it - staying if key.startswith(("file", "directory"))}
        assert [path for path in gone if host.files.observe(PureWindowsPath(path)) is not None] == []
    assert {str(change.target.key) for change in done.plan.changes} == set()
    left = status(host)
    assert {str(key) for key in left.leaving} == staying
    assert not left.is_well
    assert drifted(host).drifts == (), "nobody brings it back"
    reset(host, Silent())
    assert picture(host) == bare


def test_what_is_left_of_a_reset_is_made_anew_by_whoever_wants_it(host: Host) -> None:
    run(host, nodes.node())
    reset(held(host, nodes.CONFIG), Silent())
    run(host, nodes.node())
    assert status(host).is_well
    assert status(host).leaving == ()


def test_a_program_is_left_alone_until_its_process_has_ended(host: Host) -> None:
    """That is some moments after the service has stopped."""
    run(host, nodes.node())
    deeds: list[object] = []

    def wait(pid: int, seconds: float) -> int:
        assert seconds > 1
        deeds.append((pid, host.services.status("kubelet").state))
        return 0

    def remove(path: PureWindowsPath) -> None:
        deeds.append(path.name)
        host.files.remove(path)

    def process_of(name: str) -> Any:
        return replace(host.services.status(name), pid=4242)

    reset(
        changed(host, services={"status": process_of}, processes={"wait": wait}, files={"remove": remove}),
        Silent(),
    )
    assert deeds.index((4242, ServiceState.STOPPED)) < deeds.index(nodes.KUBELET.name)


def test_started_by_a_reboot_it_is_stopped_before_anything_is_taken_back(host: Host) -> None:
    run(host, nodes.node())
    for changes in range(100):
        try:
            run(powered(host, Power(changes)), nodes.node(config=b"{2}"))
            break
        except Killed:
            pass
        if host.services.status("kubelet").state is ServiceState.STOPPED:
            host.services.start("kubelet")
        deeds: list[str] = []

        def stop(name: str, seconds: float, deeds: list[str] = deeds) -> None:
            deeds.append("stop")
            host.services.stop(name, seconds)

        def write(path: PureWindowsPath, *given: Any, deeds: list[str] = deeds) -> Any:
            deeds.append(path.name)
            return host.files.write(path, *given)

        take_back(changed(host, services={"stop": stop}, files={"write": write}), Silent())
        if nodes.CONFIG.name in deeds:
            assert deeds[0] == "stop", f"killed after {changes} changes"
        assert status(host).is_well, f"killed after {changes} changes"


def test_a_former_service_that_does_not_come_up_keeps_nobody_from_a_reset(host: Host) -> None:
    somebody_elses_node(host)
    host.services.create(ServiceDefinition("kubelet", (str(nodes.KUBELET), "--old")))
    host.services.start("kubelet")
    run(host, nodes.node())

    def start(name: str) -> None:
        raise ServiceFailed("start", f"service {name}", 1067)

    done = reset(changed(host, services={"start": start}), Silent())
    (line,) = done.left
    assert line.startswith("service kubelet was started again, and does not run")
    assert host.files.observe(STATE) is None


def test_what_users_could_write_stays_closed_when_a_reset_is_taken_back(host: Host) -> None:
    somebody_elses_node(host)
    run(host, nodes.node())
    with pytest.raises(TakenBack):
        reset(full_for_the_inventory(host), Silent())
    descriptor = host.files.descriptor(nodes.K / "version.dll")
    assert not descriptor.granted(SIDS[Principal.USER]) & FILE_WRITE & ~FILE_READ


def test_a_memory_that_is_held_keeps_no_failed_run_from_being_taken_back(host: Host) -> None:
    run(host, nodes.node())
    before = picture(host, but=(STATE,))
    failed: list[str] = []

    def start(name: str) -> None:
        if not failed:
            failed.append(name)
            raise ServiceFailed("start", name, 1067)
        host.services.start(name)

    def read(path: PureWindowsPath, *given: Any) -> bytes:
        if failed and path.name == "node.json":
            raise InUse("read", str(path), 32)
        return host.files.read(path, *given)

    broken = changed(host, services={"start": start}, files={"read": read})
    with pytest.raises(TakenBack):
        run(broken, nodes.node(program=b"MZ 2"))
    assert picture(host, but=(STATE,)) == before


def test_a_leftover_of_our_own_does_not_keep_a_folder(host: Host) -> None:
    bare = picture(host)
    run(host, nodes.node())
    host.files.write(nodes.K / "wmcb-0123456789abcdef.tmp", b"half", PRIVATE_FILE)
    assert reset(host, Silent()).left == ()
    assert picture(host) == bare


def test_a_paused_kubelet_is_healed(host: Host) -> None:
    run(host, nodes.node())
    running = host.services.status("kubelet")
    paused = [True]

    def told(name: str) -> Any:
        state = ServiceState.PAUSED if paused else host.services.status(name).state
        return replace(running, state=state)

    def stop(name: str, seconds: float) -> None:
        paused.clear()
        host.services.stop(name, seconds)

    run(changed(host, services={"status": told, "stop": stop}), nodes.node())
    assert status(host).is_well


def test_one_that_runs_and_is_not_well_is_no_good_node(host: Host) -> None:
    run(host, nodes.node())
    assert not status(ill(host)).is_well
    (change,) = preview(ill(host), nodes.node()).changes
    assert [each.field for each in change.differences] == ["well"]


def test_a_mere_descriptor_restarts_nothing(host: Host) -> None:
    run(host, nodes.node())
    host.files.set_descriptor(nodes.CONFIG, OPEN)
    assert preview(host, nodes.node()).pauses == ()


def test_a_kubelet_exchanged_where_it_is_used_is_restarted(host: Host) -> None:
    host.files.make_directory(nodes.K, PRIVATE_DIRECTORY)
    host.files.write(nodes.KUBELET, b"MZ 1", PRIVATE_FILE)
    in_place = Specification.of(
        [
            Directory(nodes.K, Protection.PROGRAM),
            File(nodes.KUBELET, None, Protection.PROGRAM),
            Service("kubelet", nodes.KUBELET),
        ]
    )
    run(host, in_place)
    host.files.write(nodes.KUBELET, b"MZ 2", PROGRAM_FILE)
    assert [change.action for change in preview(host, in_place).changes] == [Action.RESTART]
    run(host, in_place)
    assert preview(host, in_place).changes == ()


def test_a_password_in_a_variable_is_never_shown() -> None:
    kind = kind_named("environment_variable")
    assert "hunter2" not in kind.shown("value", "http://user:hunter2@proxy:3128", {})
    assert kind.shown("value", "http://proxy:3128", {}) == "http://proxy:3128"


def test_damage_of_what_was_put_by_is_told(host: Host) -> None:
    """And what ran before wmcb does not start with what is there in its place."""
    somebody_elses_node(host)
    host.services.create(ServiceDefinition("kubelet", (str(nodes.KUBELET), "--old")))
    host.services.start("kubelet")
    before = picture(host)
    run(host, nodes.node())
    (content,) = [name for name in host.files.list(STATE / "kept") if len(name) == 64]
    kept = host.files.read(STATE / "kept" / content)
    host.files.write(STATE / "kept" / content, b"something else", PRIVATE_FILE)
    stays = {str(key): why for key, why in reset(host, Silent()).plan.stays.items()}
    assert "has been damaged since" in stays[f"file {nodes.KUBELET}"]
    assert stays["service kubelet"] == f"it does not start while file {nodes.KUBELET} stays"
    assert host.services.status("kubelet").state is ServiceState.STOPPED
    host.files.write(STATE / "kept" / content, kept, PRIVATE_FILE)
    assert reset(host, Silent()).plan.stays == {}
    assert picture(host) == before


# What is changed between a step and the end of its run


def changed_when_it_starts(host: Host, deed: Callable[[int], object]) -> Host:
    """`deed` is done at each start of the kubelet, before it starts, and told how often it has been."""
    times: list[int] = []

    def start(name: str) -> None:
        times.append(1)
        deed(len(times))
        host.services.start(name)

    return changed(host, services={"start": start})


MEANWHILE: dict[str, Callable[[Host], object]] = {
    "content": lambda host: host.files.write(nodes.CONFIG, b"{of somebody else}", PRIVATE_FILE),
    "a descriptor": lambda host: host.files.set_descriptor(nodes.CONFIG, OPEN),
    "a folder's descriptor": lambda host: host.files.set_descriptor(nodes.CONFIG.parent, OPEN),
    "a variable": lambda host: host.environment.set("NODE_ROLE", "other"),
    "a file beside the program": lambda host: host.files.write(nodes.K / "version.dll", b"planted", OPEN),
    "a removal": lambda host: host.files.remove(nodes.CONFIG),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_somebody_changes_after_its_step_is_made_anew(host: Host, what: str) -> None:
    run(changed_when_it_starts(host, lambda time: time > 1 or MEANWHILE[what](host)), nodes.node())
    assert host.files.read(nodes.CONFIG) == b"{}"
    assert host.files.descriptor(nodes.CONFIG).equivalent(PRIVATE_FILE)
    assert host.files.descriptor(nodes.CONFIG.parent).equivalent(PRIVATE_DIRECTORY)
    assert status(host).is_well
    assert preview(host, nodes.node()).changes == ()


def test_a_service_that_has_taken_it_over_is_restarted(host: Host) -> None:
    stops: list[str] = []

    def stop(name: str, seconds: float) -> None:
        stops.append(name)
        host.services.stop(name, seconds)

    tampered = changed_when_it_starts(host, lambda time: time > 1 or MEANWHILE["content"](host))
    run(changed(tampered, services={"stop": stop}), nodes.node())
    assert stops == ["kubelet"]


def test_it_is_looked_at_once_more_while_the_service_comes_up(host: Host) -> None:
    told: list[str] = []

    def examine(path: PureWindowsPath, *, content: bool = False) -> Any:
        if path == nodes.CONFIG:
            told.append("look")
        return host.files.examine(path, content=content)

    def telling(name: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            told.append(name)
            return getattr(host.services, name)(*given)

        return call

    services = {name: telling(name) for name in ("start", "wait")}
    run(changed(host, files={"examine": examine}, services=services), nodes.node())
    assert told[told.index("start") :] == ["start", "look", "wait"]


def test_a_quarrel_is_taken_back(host: Host) -> None:
    before = picture(host)
    with pytest.raises(TakenBack) as failure:
        run(changed_when_it_starts(host, lambda _: MEANWHILE["content"](host)), nodes.node())
    told = rf"file {nodes.CONFIG} does not stay as it is made (sha256); another program changes it"
    assert str(failure.value.__cause__) == told
    assert picture(host) == before


def test_what_is_changed_while_a_run_is_confirmed_is_drift(host: Host) -> None:
    def confirm() -> None:
        host.files.write(nodes.CONFIG, b"{of somebody else}", PRIVATE_FILE)

    make_so(host, nodes.node(), Silent(), confirm)
    (drifted,) = [standing for standing in status(host).resources if standing.differences]
    assert drifted.record.target.key.name == str(nodes.CONFIG)


# What is remembered


def test_a_folder_that_becomes_shared_keeps_what_it_was_like_at_first(host: Host) -> None:
    host.files.make_directory(nodes.ETC, OPEN)
    before = picture(host)
    run(host, Specification.of([Directory(nodes.ETC)]))
    assert host.files.descriptor(nodes.ETC).equivalent(PRIVATE_DIRECTORY)
    run(host, Specification.of([Directory(nodes.ETC, shared=True)]))
    reset(host, Silent())
    assert picture(host) == before


def test_what_somebody_else_made_of_a_shared_folder_stays(host: Host) -> None:
    host.files.make_directory(nodes.ETC, PROGRAM_DIRECTORY)
    run(host, Specification.of([Directory(nodes.ETC, shared=True)]))
    host.files.set_descriptor(nodes.ETC, OPEN)
    reset(host, Silent())
    assert host.files.descriptor(nodes.ETC).equivalent(OPEN)


def crowded(host: Host, number: int, descriptor: SecurityDescriptor) -> Host:
    """Where a folder of programs holds so many files, without their having to be made."""

    def entries(path: PureWindowsPath) -> Any:
        if path != nodes.K:
            return host.files.entries(path)
        return (Entry(f"{each}.txt", FileKind.FILE, descriptor) for each in range(number))

    return changed(host, files={"entries": entries})


def test_any_number_of_files_may_lie_beside_a_program(host: Host) -> None:
    run(host, nodes.node())
    assert status(crowded(host, 20_500, PROGRAM_FILE)).is_well


def test_too_many_that_are_open_to_users_are_drift_and_an_obstacle(host: Host) -> None:
    run(host, nodes.node())
    (drifted,) = [each for each in status(crowded(host, 20_500, OPEN)).resources if each.differences]
    assert drifted.record.target.key.name == str(nodes.K)
    with pytest.raises(
        CannotBeSo, match="holds over 20000 files that are open to users; give another folder"
    ):
        preview(crowded(host, 20_500, OPEN), nodes.node())


@pytest.mark.parametrize("memory", ["node.json", "journal"])
def test_a_kind_that_only_a_newer_wmcb_knows_is_told(host: Host, memory: str) -> None:
    with pytest.raises(Killed):
        run(powered(host, Power(10)), nodes.node())
    if memory == "node.json":
        run(host, nodes.node())
    content = host.files.read(STATE / memory).replace(b'"directory"', b'"container"')
    host.files.write(STATE / memory, content, PRIVATE_FILE)
    for deed in (
        lambda: run(host, nodes.node()),
        lambda: status(host),
        lambda: reset(host, Silent()),
    ):
        with pytest.raises(CannotBeSo, match=f"{memory} was written by a newer wmcb .it names a container"):
            deed()


def test_content_that_is_missing_is_told_as_that(host: Host) -> None:
    """A virus scanner has taken it, say."""
    somebody_elses_node(host)
    run(host, nodes.node())
    (content,) = [name for name in host.files.list(STATE / "kept") if len(name) == 64]
    host.files.remove(STATE / "kept" / content)
    done = reset(host, Silent())
    (line,) = done.left
    assert line == (
        rf"{nodes.KUBELET} stays as it is: what was there before is missing from {STATE / 'kept' / content}"
    )


def test_what_wmcb_never_replaced_was_changed_by_somebody_else(host: Host) -> None:
    somebody_elses_node(host)
    run(host, nodes.node(program=b"MZ 0"))
    host.files.write(nodes.KUBELET, b"MZ changed", PRIVATE_FILE)
    (line, *_) = reset(host, Silent()).left
    assert line == rf"{nodes.KUBELET} has been changed by somebody else, and stays as it is"


class OfTheMachine(Inline):
    """Read from a file of the machine when it is needed."""

    def __init__(self, host: Host, path: PureWindowsPath) -> None:
        super().__init__(host.files.read(path))
        self._host = host
        self._path = path

    def blocks(self) -> Any:
        return self._host.files.blocks(self._path)


def test_a_program_can_come_from_an_install_directory_that_goes(host: Host) -> None:
    run(host, nodes.node())
    new = C / "new"
    moved = Specification.of(
        [
            Directory(new, Protection.PROGRAM),
            File(new / "kubelet.exe", OfTheMachine(host, nodes.KUBELET), Protection.PROGRAM),
            Service("kubelet", new / "kubelet.exe"),
        ]
    )
    run(host, moved)
    assert host.files.read(new / "kubelet.exe") == b"MZ 1"
    assert host.files.observe(nodes.K) is None


# A full disk

LARGE = b"MZ" + bytes(300_000)


def node_in_place_of_another(host: Host) -> None:
    host.files.make_directory(nodes.K, OPEN)
    host.files.write(nodes.KUBELET, LARGE + b"0", OPEN)
    host.services.create(ServiceDefinition("kubelet", (str(nodes.KUBELET), "--old")))
    host.services.start("kubelet")


@pytest.mark.parametrize("room", [0, 100, 100_000])
def test_a_reset_needs_no_room(host: Host, room: int) -> None:
    node_in_place_of_another(host)
    before = picture(host)
    run(host, nodes.node(program=LARGE + b"1"))
    reset(Disk(host, room).host, Silent())
    assert picture(host) == before


def test_killed_anywhere_in_a_reset_on_a_full_disk_it_is_finished_by_the_next(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def fresh() -> Host:
        host = open_sandbox(tmp_path_factory.mktemp("c"))
        node_in_place_of_another(host)
        return host

    untouched = picture(fresh())
    for changes in range(200):
        host = fresh()
        run(host, nodes.node(program=LARGE + b"1"))
        disk = Disk(host, 0)
        try:
            reset(powered(disk.host, Power(changes)), Silent())
            break
        except Killed:
            pass
        if changes % 2:
            reset(disk.host, Silent())
            assert picture(host) == untouched, f"after {changes} changes"
        else:
            take_back(disk.host, Silent())
            assert status(host).is_well or picture(host) == untouched, f"after {changes} changes"
    assert changes > 15
    assert picture(host) == untouched


@pytest.mark.parametrize("room", [1_000, 250_000, 500_000, 550_000])
def test_an_upgrade_without_room_is_taken_back_without_any(host: Host, room: int) -> None:
    run(host, nodes.node(program=LARGE + b"1"))
    before = picture(host)
    disk = Disk(host, room)
    with pytest.raises(TakenBack) as failure:
        run(ill(disk.host), nodes.node(program=LARGE + b"2"))
    assert failure.value.undone.trouble == ()
    reserve = f"file {STATE / 'reserve'}"
    assert {**picture(host), reserve: None} == {**before, reserve: None}


def test_a_reset_that_is_taken_back_on_a_full_disk_can_be_done_later(host: Host) -> None:
    node_in_place_of_another(host)
    before = picture(host)
    run(host, nodes.node(program=LARGE + b"1"))

    disk = Disk(host, 0)
    with pytest.raises(TakenBack) as failure:
        reset(full_for_the_inventory(disk.host), Silent())
    assert failure.value.undone.trouble == ()
    assert status(host).is_well
    reset(disk.host, Silent())
    assert picture(host) == before


# What Windows remembers


KINDS = {
    "a text with a reference that is none": ("100%x%", RegistryKind.STRING),
    "one to be expanded without a reference": ("plain", RegistryKind.EXPANDABLE),
    "plain": ("plain", RegistryKind.STRING),
}


@pytest.mark.parametrize("value, kind", KINDS.values(), ids=KINDS)
def test_a_variable_comes_back_as_it_was_stored(host: Host, value: str, kind: RegistryKind) -> None:
    host.environment.set("NODE_ROLE", value, kind)
    before = picture(host)
    run(host, nodes.node())
    reset(host, Silent())
    assert picture(host) == before


def test_a_variable_that_is_no_text_is_in_the_way(host: Host) -> None:
    key = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    host.registry.write(key, "NODE_ROLE", RegistryValue(RegistryKind.NUMBER, 1))
    with pytest.raises(CannotBeSo, match=r"NODE_ROLE is no text in the registry .NUMBER.; remove it"):
        run(host, nodes.node())


def test_a_program_that_was_put_aside_is_not_waited_for_by_windows_once_it_is_gone(host: Host) -> None:
    bare = picture(host)
    run(host, nodes.node())
    aside = nodes.K / "wmcb-0123456789abcdef.old"

    def write(path: PureWindowsPath, *given: Any) -> Any:
        if path != nodes.KUBELET:
            return host.files.write(path, *given)
        host.files.move(path, aside)
        host.files.write(path, *given)
        return aside

    def remove(path: PureWindowsPath) -> None:
        if path == aside:
            raise ProgramRunning("remove", str(path), 5)
        host.files.remove(path)

    run(changed(host, files={"write": write, "remove": remove}), nodes.node(program=b"MZ 2"))
    assert "at the next start" in picture(host)
    reset(host, Silent())
    assert picture(host) == bare


def test_a_run_that_is_under_way_is_not_interrupted(host: Host) -> None:
    seen = []
    make_so(host, nodes.node(), Silent(), lambda: seen.append(status(host)))
    (during,) = seen
    assert during.under_way
    assert not during.interrupted
    assert not during.is_well
    assert not status(host).under_way
    with pytest.raises(Killed):
        run(powered(host, Power(8)), nodes.node(config=b"{2}"))
    assert status(host).interrupted


def test_what_the_resident_service_is_at_for_a_moment_is_waited_for(host: Host) -> None:
    run(host, nodes.node())
    with ExitStack() as copying:
        copying.enter_context(host.processes.exclusive(LOCK))

        def sleep(seconds: float) -> None:  # noqa: ARG001 - it has ended by then
            copying.close()

        assert status(changed(host, clock={"sleep": sleep})).is_well


def test_a_program_that_runs_from_the_nodes_own_folder_hinders_nothing_that_follows(host: Host) -> None:
    """With the folder it was moved to where contents are kept, and cannot be removed from there."""
    bare = picture(host)

    def remove(path: PureWindowsPath) -> None:
        if path.name == "agent.exe":
            raise ProgramRunning("remove", str(path), 5)
        host.files.remove(path)

    where_it_runs = changed(host, files={"remove": remove})
    for _ in range(2):
        run(where_it_runs, nodes.node())
        host.files.write(nodes.CONFIG.parent / "agent.exe", b"MZ", PROGRAM_FILE)
        assert reset(where_it_runs, Silent()).plan.stays == {}
        assert picture(host, but=(STATE,)) == bare
        assert take_back(where_it_runs, Silent()) is None
    take_back(host, Silent())
    assert picture(host) == bare


def telling_of_the_disk(host: Host, told: list[str]) -> Host:
    def flush() -> None:
        told.append("a service" if host.services.read("kubelet") else "no service")

    def write(path: PureWindowsPath, *given: Any) -> Any:
        if path.name == "node.json":
            told.append("memory")
        return host.files.write(path, *given)

    def remove(path: PureWindowsPath) -> None:
        if path.name == "journal":
            told.append("no journal")
        host.files.remove(path)

    return changed(host, registry={"flush": flush}, files={"write": write, "remove": remove})


def test_what_goes_from_the_registry_is_gone_on_the_disk_before_it_is_forgotten(host: Host) -> None:
    """A bootstrap need not wait for that: what is remembered and not there shows."""
    told: list[str] = []
    disk = telling_of_the_disk(host, told)
    run(disk, nodes.node())
    assert told == ["memory", "no journal"]
    told.clear()
    reset(disk, Silent())
    assert told[:3] == ["no service", "memory", "no journal"]
    told.clear()
    with pytest.raises(TakenBack):
        run(ill(disk), nodes.node())
    assert told[:2] == ["no service", "no journal"]


# A memory that is lost


def lost(host: Host, name: str) -> None:
    host.files.remove(STATE / name)


def damaged(host: Host, name: str) -> None:
    host.files.write(STATE / name, b"{", PRIVATE_FILE)


@pytest.mark.parametrize("name", ["node.json", "node.json.copy"])
@pytest.mark.parametrize("harm", [lost, damaged])
def test_one_of_two_memories_is_enough(host: Host, harm: Callable[[Host, str], None], name: str) -> None:
    somebody_elses_node(host)
    before = picture(host)
    run(host, nodes.node(program=b"MZ 1"))
    run(host, nodes.node(program=b"MZ 2"))
    harm(host, name)
    assert status(host).is_well
    run(host, nodes.node(program=b"MZ 3"))
    assert host.files.read(STATE / "node.json") == host.files.read(STATE / "node.json.copy")
    harm(host, name)
    reset(host, Silent())
    assert picture(host) == before


def test_without_any_wmcb_can_forget(host: Host) -> None:
    run(host, nodes.node())
    node = picture(host, but=(STATE,))
    damaged(host, "node.json")
    damaged(host, "node.json.copy")
    with pytest.raises(CannotBeSo, match=r"is damaged, and so is its copy; .* reset --forget"):
        reset(host, Silent())
    forget(host, print)
    assert picture(host) == node
    run(host, nodes.node(config=b"{2}"))
    reset(host, Silent())
    assert picture(host) == node


def test_a_run_that_is_under_way_is_not_forgotten(host: Host) -> None:
    with host.processes.exclusive(COMMAND_LOCK), pytest.raises(Busy):
        forget(host, print)
