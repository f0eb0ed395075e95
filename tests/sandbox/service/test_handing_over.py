"""Another wmcb.exe put in the place of one: cut off at every single change that it makes, once and again."""

from __future__ import annotations

import json
import pathlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.host.errors import HostError, ProgramRunning, TimedOut
from agent.host.port import Completed, Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_FILE
from agent.host.sandbox import open_sandbox
from agent.host.services import ServiceDefinition, ServiceState, ServiceStatus
from sandbox.engine.world import Killed, Power, changed, powered
from sandbox.service.keeper import Clock
from service import continuing, installation, succession
from service.continuing import Put
from service.program import RESUME_SERVICE
from service.program_folder import INTERNAL, hand_over_folder
from service.succession import STAYS_SECONDS, Asked, HandingOver, Refusal, Stage, Succession, Trial, Version
from service.telling import Telling

NEW = Version("2.0.0", "abc")
ARGUMENTS = ("--config-map", "nodes/windows")
TRIAL = Trial("1" * 64, NEW, "content", 10.0, ARGUMENTS)
FILES = {
    "old": {
        "wmcb.exe": b"old",
        r"_internal\a.dll": b"old a",
        r"_internal\same.dll": b"same",
        r"_internal\gone": b"-",
    },
    "new": {
        "wmcb.exe": b"new",
        r"_internal\a.dll": b"new a",
        r"_internal\same.dll": b"same",
        r"_internal\b.dll": b"b",
    },
}


def unpacked(host: Host, which: str) -> PureWindowsPath:
    folder = PureWindowsPath(rf"C:\Windows\Temp\{which}")
    for each in (folder, folder / INTERNAL):
        host.files.make_directory(each, PRIVATE_DIRECTORY)
    for name, content in FILES[which].items():
        host.files.write(folder / name, content, PRIVATE_FILE)
    return folder / "wmcb.exe"


def laid_out(host: Host) -> dict[str, bytes]:
    place = installation.program(host).parent
    names = ["wmcb.exe", *(rf"_internal\{name}" for name in host.files.list(place / INTERNAL))]
    return {name: host.files.read(place / name) for name in names}


class Machine:
    """The old one runs on it, and the new one lies ready."""

    def __init__(self, folder: pathlib.Path, *, is_well: bool) -> None:
        self.host = open_sandbox(folder)
        self._is_well = is_well

    def prepare(self) -> None:
        host = self.host
        installation.install(host, unpacked(host, "old"), ARGUMENTS)
        unpacked(host, "new")
        host.services.start("wmcb")
        installation.ensure_folder(host.files, hand_over_folder(host))
        host.files.write(succession.successor(host), b"shipped", PROGRAM_FILE)

    def as_it_is(self, power: Power | None = None) -> Host:
        """As a process sees it that may make so many changes."""
        host = powered(self.host, power) if power else self.host
        host = replace(host, clock=Clock(host))

        def run(command: Sequence[str], **_: Any) -> Completed:
            assert list(command[1:]) == ["daemon", "install"]
            program = PureWindowsPath(r"C:\Windows\Temp\new\wmcb.exe")
            installation.install(host, program, installation.arguments(host))
            return Completed(0, b"", b"")

        def start(name: str) -> None:
            host.services.start(name)
            runs_new = name == "wmcb" and host.files.read(installation.program(host)) == b"new"
            if runs_new and self._is_well:
                host.files.write(
                    hand_over_folder(host) / "well.json",
                    b'{"release": "2.0.0", "commit": "abc"}',
                    PRIVATE_FILE,
                )

        return changed(host, processes={"run": run}, services={"start": start})

    def hand_over(self, power: Power | None = None) -> None:
        host = self.as_it_is(power)

        def wait(seconds: float) -> bool:
            host.clock.sleep(10 * seconds)
            return False

        HandingOver(host, Telling(host, lambda _: None), wait).run()

    def begin(self, power: Power | None = None) -> None:
        host = self.as_it_is(power)
        succession.begin(host, Succession(), TRIAL)

    def boot(self) -> None:
        """Windows starts the services that there are, and those that were to go are gone."""
        for name, status in self.host.services.list().items():
            if status.state is ServiceState.RUNNING:
                self.host.services.stop(name)
        for name in self.host.services.list():
            self.as_it_is().services.start(name)

    def see_through(self) -> None:
        """What happens then: by the service itself, or by the daemon that looks for it."""
        self.boot()
        if succession.read(self.host).trial is not None:
            succession.go_on(self.as_it_is())
        if self.host.services.read(succession.SERVICE) is not None:
            self.hand_over()
            self.host.services.stop(succession.SERVICE)

    def which(self) -> str:
        """What lies there, whole, and is what is remembered."""
        (found,) = [name for name, files in FILES.items() if files == laid_out(self.host)]
        known = succession.read(self.host)
        assert known.trial is None
        assert (known.installed == TRIAL.sha256) == (found == "new")
        assert self.host.services.read(succession.SERVICE) is None
        service = self.host.services.read("wmcb")
        assert service is not None
        assert service.definition.command[-2:] == ARGUMENTS
        assert self.host.services.status("wmcb").state is ServiceState.RUNNING
        return found


@pytest.fixture
def machine(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Machine:
    machine = Machine(tmp_path / "machine", is_well=getattr(request, "param", True))
    machine.prepare()
    return machine


@pytest.mark.parametrize(("machine", "found"), [(True, "new"), (False, "old")], indirect=["machine"])
def test_it_ends_with_the_one_that_is_well(machine: Machine, found: str) -> None:
    machine.begin()
    machine.hand_over()
    machine.host.services.stop(succession.SERVICE)
    assert machine.which() == found
    assert machine.host.files.list(hand_over_folder(machine.host)) == ["former", "succession.json"]
    assert (succession.read(machine.host).refusal is not None) == (found == "old")


@pytest.mark.parametrize("machine", [False], indirect=True)
def test_the_program_of_a_command_that_goes_on_after_a_restart_stays(machine: Machine) -> None:
    continuing.put_by(machine.host, Put((), "C:\\"), PureWindowsPath(r"C:\Windows\Temp\new\wmcb.exe"))
    resume = machine.host.services.read(RESUME_SERVICE)
    machine.begin()
    machine.hand_over()
    assert laid_out(machine.host) == FILES["old"]
    assert resume is not None
    assert machine.host.files.read(PureWindowsPath(resume.definition.command[0])) == b"new"


@pytest.mark.parametrize("is_well", [True, False])
@pytest.mark.parametrize("times", [1, 2])
def test_cut_off_anywhere_it_ends_with_one_of_the_two_whole(
    tmp_path: pathlib.Path, times: int, *, is_well: bool
) -> None:
    prepared = Machine(tmp_path / "prepared", is_well=is_well)
    prepared.prepare()
    found, changes = [], 0
    while True:
        folder = tmp_path / str(changes)
        shutil.copytree(tmp_path / "prepared", folder, symlinks=True)
        machine = Machine(folder, is_well=is_well)
        power = Power(changes)
        try:
            machine.begin(power)
            machine.hand_over(power)
        except Killed:
            for _ in range(times - 1):
                cut_again(machine, changes)
            machine.see_through()
        else:
            break
        found.append(machine.which())
        changes += 1
    assert changes > 20
    assert set(found) == ({"old", "new"} if is_well else {"old"}), "the old one where it had not begun"
    begun = found.index("new") if is_well else 0
    assert set(found[begun:]) == ({"new"} if is_well else {"old"})


def cut_again(machine: Machine, changes: int) -> None:
    machine.boot()
    if machine.host.services.read(succession.SERVICE) is not None:
        try:
            machine.hand_over(Power(changes // 2))
        except Killed:
            return


def test_what_is_cut_off_again_and_again_is_not_tried_for_ever(machine: Machine) -> None:
    machine.begin()
    for _ in range(3):
        with pytest.raises(Killed):
            machine.hand_over(Power(12))
    machine.see_through()
    assert machine.which() == "old"
    refusal = succession.read(machine.host).refusal
    assert refusal is not None
    assert "cut off 3 times" in refusal.why


def test_asked_to_end_it_leaves_the_rest_to_its_next_start(machine: Machine) -> None:
    machine.begin()
    host = changed(machine.as_it_is(), services={"start": machine.host.services.start})
    with pytest.raises(Asked):
        HandingOver(host, Telling(host, lambda _: None), lambda _: True).run()
    trial = succession.read(machine.host).trial
    assert trial is not None
    assert trial.stage is Stage.TRYING
    machine.see_through()
    assert machine.which() == "new"


def test_one_that_ends_soon_after_its_word_is_not_kept(machine: Machine) -> None:
    machine.begin()
    host = machine.as_it_is()

    def wait(seconds: float) -> bool:
        host.clock.sleep(seconds)
        if (
            host.clock.monotonic() > STAYS_SECONDS / 2
            and machine.host.files.read(installation.program(host)) == b"new"
        ):
            machine.host.services.stop("wmcb")
        return False

    HandingOver(host, Telling(host, lambda _: None), wait).run()
    machine.host.services.stop(succession.SERVICE)
    assert machine.which() == "old"


def test_one_that_cannot_be_put_back_yet_is_put_back_at_the_next_start(machine: Machine) -> None:
    """It is what the service's recovery is for."""
    machine._is_well = False
    machine.begin()
    host = machine.as_it_is()
    starts = host.services.start

    def start(name: str) -> None:
        if host.files.read(installation.program(host)) == b"old":
            raise HostError("start", name, 1450)
        starts(name)

    def wait(seconds: float) -> bool:
        host.clock.sleep(seconds)
        return False

    refusing = changed(host, services={"start": start})
    with pytest.raises(HostError):
        HandingOver(refusing, Telling(host, lambda _: None), wait).run()
    machine.see_through()
    assert machine.which() == "old"


def test_one_that_had_to_be_ended_does_not_go_on_when_windows_starts_it_again(machine: Machine) -> None:
    """As its recovery says, while the other is put back."""
    machine._is_well = False
    machine.begin()
    host = machine.as_it_is()
    running = {"wmcb": b"old"}
    ended: list[int] = []

    def start(name: str) -> None:
        host.services.start(name)
        running[name] = host.files.read(installation.program(host))

    def stop(name: str, seconds: float) -> None:
        if running[name] == b"new" and not ended:
            raise TimedOut("stop", name, 1053)
        host.services.stop(name, seconds)

    def end(pid: int) -> None:
        ended.append(pid)
        host.services.stop("wmcb")

    def change(definition: ServiceDefinition) -> Sequence[str]:
        if ended:
            start("wmcb")
        return host.services.change(definition)

    def wait(seconds: float) -> bool:
        host.clock.sleep(10 * seconds)
        return False

    def status(name: str) -> ServiceStatus:
        found = host.services.status(name)
        return replace(found, pid=1234) if found.state is ServiceState.RUNNING else found

    stubborn = changed(
        host,
        services={"start": start, "stop": stop, "status": status, "change": change},
        processes={"end": end, "wait": lambda *_: 0},
    )
    HandingOver(stubborn, Telling(host, lambda _: None), wait).run()
    assert ended
    assert running["wmcb"] == b"old"
    machine.host.services.stop(succession.SERVICE)
    assert machine.which() == "old"


def test_the_one_before_is_not_tried_in_the_place_of_the_new_one(machine: Machine) -> None:
    """Windows starts it again while that is put there: it had just ended by itself, say."""
    machine.begin()
    host = machine.as_it_is()

    def run(command: Sequence[str], **how: Any) -> Completed:
        host.services.start("wmcb")
        return host.processes.run(command, **how)

    def wait(seconds: float) -> bool:
        host.clock.sleep(seconds)
        return False

    restless = changed(host, processes={"run": run})
    HandingOver(restless, Telling(host, lambda _: None), wait).run()
    machine.host.services.stop(succession.SERVICE)
    assert machine.which() == "new"


@pytest.mark.parametrize("stage", [Stage.TRYING, Stage.RETURNING])
def test_installed_by_hand_nothing_is_taken_back(machine: Machine, stage: Stage) -> None:
    machine.begin()
    succession.write(machine.host, Succession(trial=replace(TRIAL, stage=stage)))
    succession.installed_by_hand(machine.host)
    assert machine.host.services.read(succession.SERVICE) is None
    assert succession.read(machine.host) == Succession()
    succession.uninstalled(machine.host)
    assert machine.host.files.observe(hand_over_folder(machine.host)) is None


def test_the_hand_overs_own_installation_is_none_by_hand(machine: Machine) -> None:
    machine.begin()
    succession.installed_by_hand(machine.host)
    assert succession.read(machine.host).trial == TRIAL


def test_uninstalled_it_is_not_gone_on_with_by_what_is_left(machine: Machine) -> None:
    machine.begin()
    host = machine.host

    def remove(path: PureWindowsPath) -> None:
        if path == succession.former(host) / "wmcb.exe":
            raise ProgramRunning("remove", str(path), 5)
        host.files.remove(path)

    succession.uninstalled(changed(host, files={"remove": remove}))
    assert host.files.observe(succession.former(host) / "wmcb.exe") is not None
    assert succession.read(host) == Succession()


def test_what_another_release_has_written_counts(machine: Machine) -> None:
    machine.begin()
    known = Succession("2" * 64, TRIAL, Refusal("3" * 64, "another", "it was not well"))
    succession.write(machine.host, known)
    path = hand_over_folder(machine.host) / "succession.json"
    document = json.loads(machine.host.files.read(path))
    for part in ("trial", "refusal"):
        document[part]["since"] = 1
    del document["trial"]["times"]
    machine.host.files.write(path, json.dumps(document).encode(), PRIVATE_FILE)
    assert succession.read(machine.host) == known


DAMAGED = {
    "no JSON": b"{",
    "another shape": b"[]",
    "nothing": b"{}",
    "half a trial": b'{"installed": "", "refusal": null, "trial": {"stage": "putting"}}',
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_memory_that_cannot_be_read_is_none(machine: Machine, content: bytes) -> None:
    machine.begin()
    machine.host.files.write(hand_over_folder(machine.host) / "succession.json", content, PRIVATE_FILE)
    assert succession.read(machine.host) == Succession()
