"""The resident service put on a machine and taken off again, in a sandbox."""

from __future__ import annotations

import pathlib
from contextlib import ExitStack
from pathlib import PureWindowsPath

import pytest

from agent.engine.inventory import Inventory
from agent.engine.machine_lock import COMMAND_LOCK, LOCK
from agent.engine.parts import PREPARED
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.engine.state_folder import StateFolder
from agent.host.errors import AccessDenied
from agent.host.port import Host, Principal, RegistryKind
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, SIDS
from agent.host.registry_contents import MESSAGE_FILE, PREFIX, pending_moves, source_key
from agent.host.sandbox import open_sandbox
from agent.host.sddl import FILE_EXECUTE, FILE_READ
from agent.host.services import RecoveryAction, ServiceState, StartType
from agent.release import RELEASE
from agent.spec import Specification
from agent.spec.machine import PathEntry
from service import installation, program_folder
from service.program_folder import INTERNAL

UNPACKED = PureWindowsPath(r"C:\Windows\Temp\wmcb-0123456789abcdef")
# Called kubeadm.exe, say: what is installed is wmcb.exe all the same.
PROGRAM = UNPACKED / "kubeadm.exe"
HOME = PureWindowsPath(r"C:\Program Files\wmcb")
INSTALLED = HOME / RELEASE
SOURCES = source_key("wmcb").rpartition("\\")[0]


def unpack(host: Host, release: str, *extensions: str) -> None:
    files = {
        PROGRAM: f"program {release}",
        UNPACKED / INTERNAL / "python313.dll": f"python {release}",
        **{UNPACKED / INTERNAL / name: name for name in extensions},
    }
    for path, content in files.items():
        host.files.write(path, content.encode(), PRIVATE_FILE)


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    host = open_sandbox(tmp_path)
    host.files.make_directory(UNPACKED, PRIVATE_DIRECTORY)
    host.files.make_directory(UNPACKED / INTERNAL, PRIVATE_DIRECTORY)
    unpack(host, "1", "_ssl.pyd")
    return host


def installed(host: Host, place: PureWindowsPath = INSTALLED) -> dict[str, bytes]:
    return {
        name: host.files.read(place / name)
        for name in (
            "wmcb.exe",
            *(rf"_internal\{each}" for each in host.files.list(place / INTERNAL)),
        )
    }


def test_the_program_is_laid_out_under_program_files(host: Host) -> None:
    assert installation.install(host, PROGRAM) == installation.Installed(INSTALLED, (), is_another=True)
    assert installed(host) == {
        "wmcb.exe": b"program 1",
        r"_internal\_ssl.pyd": b"_ssl.pyd",
        r"_internal\python313.dll": b"python 1",
    }


def test_folders_in_the_folder_of_what_it_loads_are_laid_out_and_taken_away(host: Host) -> None:
    library = UNPACKED / INTERNAL / "yaml" / "_yaml.pyd"
    host.files.make_directory(library.parent, PRIVATE_DIRECTORY)
    host.files.write(library, b"yaml", PRIVATE_FILE)
    installation.install(host, PROGRAM)
    laid_out = INSTALLED / INTERNAL / "yaml"
    assert host.files.read(laid_out / "_yaml.pyd") == b"yaml"
    host.files.remove(library)
    host.files.remove_directory(library.parent)
    assert installation.install(host, PROGRAM).is_another
    assert host.files.observe(laid_out) is None
    host.files.make_directory(laid_out, PRIVATE_DIRECTORY)
    assert installation.uninstall(host, PROGRAM, 1) == []
    assert host.files.observe(INSTALLED) is None


def test_users_may_run_it_and_never_write(host: Host) -> None:
    installation.install(host, PROGRAM)
    for path in (
        INSTALLED,
        INSTALLED / INTERNAL,
        INSTALLED / "wmcb.exe",
        INSTALLED / INTERNAL / "_ssl.pyd",
    ):
        granted = host.files.descriptor(path).granted(SIDS[Principal.USER])
        assert granted == FILE_READ | FILE_EXECUTE, path


def _texts(host: Host) -> object:
    value = host.registry.read(source_key("wmcb"), MESSAGE_FILE)
    return value and value.data


def test_the_texts_of_events_are_in_the_program(host: Host) -> None:
    installation.install(host, PROGRAM)
    assert _texts(host) == str(INSTALLED / "wmcb.exe")
    installation.uninstall(host, PROGRAM, 1)
    assert host.registry.keys(SOURCES) == []


@pytest.mark.parametrize("is_there", [True, False])
def test_a_node_that_has_its_own_texts_of_events_keeps_them(host: Host, *, is_there: bool) -> None:
    runner = UNPACKED / "wmcb-log.exe"
    host.events.register("wmcb", runner)
    if is_there:
        host.files.write(runner, b"MZ", PRIVATE_FILE)
    installation.install(host, PROGRAM)
    assert _texts(host) == str(runner if is_there else INSTALLED / "wmcb.exe")
    installation.uninstall(host, PROGRAM, 1)
    assert host.registry.keys(SOURCES) == (["wmcb"] if is_there else [])


def test_the_service_starts_with_windows_from_there(host: Host) -> None:
    installation.install(host, PROGRAM)
    found = host.services.read("wmcb")
    assert found is not None
    assert found.image_path == rf'"{INSTALLED}\wmcb.exe" daemon run'
    assert found.definition == installation.definition(INSTALLED / "wmcb.exe")
    assert found.definition.start is StartType.AUTOMATIC


def test_windows_starts_it_again_however_it_ends(host: Host) -> None:
    installation.install(host, PROGRAM)
    found = host.services.read("wmcb")
    assert found is not None
    recovery = found.definition.recovery
    actions, pauses = zip(*recovery.actions, strict=True)
    assert set(actions) == {RecoveryAction.RESTART}
    assert pauses[0] <= 1000
    assert recovery.on_error_exit, "it ends by itself where it cannot go on"


def test_installed_again_it_is_brought_up_to_date(host: Host) -> None:
    installation.install(host, PROGRAM)
    host.files.remove(UNPACKED / INTERNAL / "_ssl.pyd")
    unpack(host, "2", "_hashlib.pyd")
    done = installation.install(host, PROGRAM)
    assert done.is_another
    assert not installation.install(host, PROGRAM).is_another
    assert installed(host, done.place) == {
        "wmcb.exe": b"program 2",
        r"_internal\_hashlib.pyd": b"_hashlib.pyd",
        r"_internal\python313.dll": b"python 2",
    }


def test_kubeadm_is_laid_out_where_that_is_asked_for(host: Host) -> None:
    kubeadm = INSTALLED / "kubeadm.exe"
    installation.install(host, PROGRAM)
    assert host.files.observe(kubeadm) is None
    installation.install(host, PROGRAM, as_kubeadm=True)
    assert host.files.read(kubeadm) == b"program 1"
    granted = host.files.descriptor(kubeadm).granted(SIDS[Principal.USER])
    assert granted == FILE_READ | FILE_EXECUTE
    unpack(host, "2")
    place = installation.install(host, PROGRAM).place
    assert host.files.read(place / "kubeadm.exe") == b"program 2", "once there, it stays"
    installation.uninstall(host, PROGRAM, 10)
    assert host.files.observe(HOME) is None


def test_kubeadm_is_laid_out_by_what_is_installed(host: Host) -> None:
    installation.install(host, PROGRAM)
    installation.install(host, INSTALLED / "wmcb.exe", as_kubeadm=True)
    assert host.files.read(INSTALLED / "kubeadm.exe") == b"program 1"


def test_a_folder_that_somebody_opened_to_all_is_closed_again(host: Host) -> None:
    installation.install(host, PROGRAM)
    wanted = host.files.descriptor(INSTALLED)
    host.files.set_descriptor(INSTALLED, PRIVATE_DIRECTORY)
    installation.install(host, PROGRAM)
    assert host.files.descriptor(INSTALLED) == wanted


def test_installed_from_where_it_is_installed_only_the_service_is_made(host: Host) -> None:
    installation.install(host, PROGRAM)
    host.services.delete("wmcb")
    installation.install(host, INSTALLED / "wmcb.exe")
    assert host.services.read("wmcb") is not None
    assert installed(host)["wmcb.exe"] == b"program 1"


def test_uninstalled_nothing_is_left(host: Host) -> None:
    installation.install(host, PROGRAM)
    host.services.start("wmcb")
    assert installation.uninstall(host, PROGRAM, 10) == []
    assert host.services.read("wmcb") is None
    assert host.files.observe(INSTALLED) is None
    key = r"SYSTEM\CurrentControlSet\Services\EventLog\Application"
    assert "wmcb" not in host.registry.keys(key)


def test_uninstalled_twice_is_no_failure(host: Host) -> None:
    installation.install(host, PROGRAM)
    installation.uninstall(host, PROGRAM, 10)
    assert installation.uninstall(host, PROGRAM, 10) == []


def test_a_service_that_runs_is_stopped_first(host: Host) -> None:
    installation.install(host, PROGRAM)
    host.services.start("wmcb")
    host.services.wait("wmcb", ServiceState.RUNNING, 10)
    installation.uninstall(host, PROGRAM, 10)
    assert host.services.read("wmcb") is None


def test_a_file_that_is_as_it_should_be_is_not_written_again(host: Host) -> None:
    installation.install(host, PROGRAM)
    library = INSTALLED / INTERNAL / "python313.dll"
    before = host.files.observe(library)
    host.files.set_descriptor(library, PRIVATE_FILE)
    host.files.write(INSTALLED / INTERNAL / "_ssl.pyd", b"damaged", PRIVATE_FILE)
    assert installation.install(host, PROGRAM).is_another
    assert host.files.observe(library) == before
    assert installed(host)[r"_internal\_ssl.pyd"] == b"_ssl.pyd"
    assert host.files.descriptor(library).granted(SIDS[Principal.USER]) == FILE_READ | FILE_EXECUTE


def test_the_installed_program_leaves_its_own_removal_to_the_next_start(host: Host) -> None:
    installation.install(host, PROGRAM)
    left = installation.uninstall(host, INSTALLED / "wmcb.exe", 10)
    assert left == [
        *(INSTALLED / INTERNAL / name for name in ("python313.dll", "_ssl.pyd")),
        INSTALLED / "wmcb.exe",
        INSTALLED / INTERNAL,
        INSTALLED,
        HOME,
    ]
    assert host.services.read("wmcb") is None


@pytest.mark.parametrize("program", [PROGRAM, INSTALLED / "wmcb.exe"], ids=["a copy", "the installed one"])
def test_installed_again_it_is_not_removed_by_the_next_start(host: Host, program: PureWindowsPath) -> None:
    installation.install(host, PROGRAM, as_kubeadm=True)
    aside = INSTALLED / "wmcb-0123456789abcdef.old"
    host.files.write(aside, b"put aside while it ran", PRIVATE_FILE)
    installation.uninstall(host, INSTALLED / "wmcb.exe", 10)
    assert (f"{PREFIX}{HOME}", "") in pending_moves(host.registry)
    installation.install(host, program)
    assert pending_moves(host.registry) == [(f"{PREFIX}{aside}", "")]


@pytest.fixture
def newer(host: Host, monkeypatch: pytest.MonkeyPatch) -> PureWindowsPath:
    """This program is another release than what is installed: the folder that it gets."""
    installation.install(host, PROGRAM, as_kubeadm=True)
    monkeypatch.setattr(program_folder, "RELEASE", "9.9.9")
    monkeypatch.setattr(installation, "RELEASE", "9.9.9")
    unpack(host, "2")
    return HOME / "9.9.9"


def test_another_release_is_laid_out_beside_the_one_that_may_run(host: Host, newer: PureWindowsPath) -> None:
    done = installation.install(host, PROGRAM)
    assert (done.place, done.is_another) == (newer, True)
    assert installed(host)["wmcb.exe"] == b"program 1", "it is not written to"
    assert host.files.read(newer / "kubeadm.exe") == b"program 2"
    assert installation.program(host) == newer / "wmcb.exe"
    assert _texts(host) == str(newer / "wmcb.exe")
    installation.remove_others(host, newer)
    assert host.files.list(HOME) == ["9.9.9"]


def test_what_still_runs_stays_whole_until_it_has_ended(
    host: Host, newer: PureWindowsPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.install(host, PROGRAM)
    remove = host.files.remove

    def refused(path: PureWindowsPath) -> None:
        if path == INSTALLED / "wmcb.exe":
            raise AccessDenied("remove", str(path), 5)
        remove(path)

    before = installed(host)
    with monkeypatch.context() as running:
        running.setattr(host.files, "remove", refused)
        installation.remove_others(host, newer)
        assert installed(host) == before
    installation.remove_others(host, newer)
    assert host.files.list(HOME) == [newer.name]


def test_a_version_that_a_service_starts_stays(host: Host, newer: PureWindowsPath) -> None:
    assert installation.lay_out(host, PROGRAM) == (newer, True)
    installation.remove_others(host, newer)
    assert installation.program(host) == INSTALLED / "wmcb.exe"
    assert host.files.list(HOME) == [RELEASE, "9.9.9"]


def test_another_build_of_the_same_release_gets_a_folder_of_its_own(host: Host) -> None:
    installation.install(host, PROGRAM)
    unpack(host, "2")
    place = installation.install(host, PROGRAM).place
    assert place.parent == HOME
    assert place.name.startswith(f"{RELEASE}-")
    assert installed(host)["wmcb.exe"] == b"program 1"
    assert host.files.read(place / "wmcb.exe") == b"program 2"
    installation.remove_others(host, place)
    assert host.files.list(HOME) == [place.name]
    assert installation.install(host, PROGRAM) == installation.Installed(place, (), is_another=False)


def test_the_path_leads_to_the_version_that_was_laid_out(host: Host, newer: PureWindowsPath) -> None:
    host.environment.set("Path", rf"C:\first;{str(INSTALLED).upper()};C:\last", RegistryKind.STRING)
    want = PathEntry(INSTALLED)
    make_so(host, Specification((want,)), Silent(), part=PREPARED)
    installation.lay_out(host, PROGRAM)
    installation.switch_path(host, newer, pytest.fail)
    assert host.environment.get("Path") == rf"C:\first;{newer};C:\last"
    inventory = Inventory.load(StateFolder.of(host))
    assert set(inventory.records) == {PathEntry(newer).key}, "or it would be put there again"
    installation.remove_others(host, newer)
    assert host.environment.get("Path") == rf"C:\first;{newer};C:\last"


REPEATED = {
    "as it is written": "{newer};{older}",
    "in capitals": "{NEWER};{older}",
    "behind the older one": "{older};{NEWER}",
    "with a backslash at its end": "{newer}\\;{older}",
}


@pytest.mark.parametrize("before", REPEATED.values(), ids=REPEATED)
def test_the_path_names_a_folder_once_however_it_was_written(
    host: Host, newer: PureWindowsPath, before: str
) -> None:
    both = before.format(newer=newer, NEWER=str(newer).upper(), older=INSTALLED)
    host.environment.set("Path", rf"C:\first;{both};C:\last", RegistryKind.STRING)
    make_so(host, Specification((PathEntry(INSTALLED),)), Silent(), part=PREPARED)
    installation.switch_path(host, newer, pytest.fail)
    assert host.environment.get("Path") == rf"C:\first;{newer};C:\last"


def test_the_path_leads_away_from_a_version_that_is_gone(host: Host, newer: PureWindowsPath) -> None:
    host.environment.set("Path", rf"C:\first;{INSTALLED};C:\Program Files\wmcb-command", RegistryKind.STRING)
    make_so(host, Specification((PathEntry(INSTALLED),)), Silent(), part=PREPARED)
    installation.uninstall(host, PROGRAM, 10)
    installation.lay_out(host, PROGRAM)
    installation.switch_path(host, newer, pytest.fail)
    assert host.environment.get("Path") == rf"C:\first;{newer};C:\Program Files\wmcb-command"
    assert set(Inventory.load(StateFolder.of(host)).records) == {PathEntry(newer).key}


def test_the_path_and_its_record_stay_alike_while_another_command_is_at_work(
    host: Host, newer: PureWindowsPath
) -> None:
    make_so(host, Specification((PathEntry(INSTALLED),)), Silent(), part=PREPARED)
    before = host.environment.get("Path")
    installation.install(host, PROGRAM)
    said: list[str] = []
    with host.processes.exclusive(COMMAND_LOCK):
        installation.switch_path(host, newer, said.append)
        installation.remove_others(host, newer)
    assert host.environment.get("Path") == before
    assert set(Inventory.load(StateFolder.of(host)).records) == {PathEntry(INSTALLED).key}
    assert host.files.list(HOME) == [RELEASE, "9.9.9"], "Path leads there"
    (line,) = said
    assert line.startswith(f"Path still leads to another version than {newer}: another wmcb command")
    assert line.endswith("; the next daemon install switches it")
    installation.switch_path(host, newer, pytest.fail)
    installation.remove_others(host, newer)
    assert (host.environment.get("Path") or "").endswith(f";{newer}")
    assert host.files.list(HOME) == ["9.9.9"]


def test_the_path_is_switched_when_the_resident_service_has_given_way(
    host: Host, newer: PureWindowsPath
) -> None:
    """Which is announced: it may take a while."""
    host.environment.set("Path", str(INSTALLED), RegistryKind.STRING)
    with ExitStack() as repair:
        repair.enter_context(host.processes.exclusive(LOCK))

        def notice(line: str) -> None:
            assert line.startswith("waiting for the resident service")
            repair.close()

        installation.switch_path(host, newer, notice)
        assert host.environment.get("Path") == str(newer)
