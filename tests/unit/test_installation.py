"""The resident service put on a machine and taken off again, in a sandbox."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

import pytest

from agent.host.event_sources import MESSAGE_FILE, source_key
from agent.host.port import Host, Principal, RecoveryAction, ServiceState, StartType
from agent.host.principals import SIDS
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.sandbox import open_sandbox
from agent.host.sddl import FILE_EXECUTE, FILE_READ
from service import installation

if TYPE_CHECKING:
    import pathlib

UNPACKED = PureWindowsPath(r"C:\Windows\Temp\wmcb-0123456789abcdef")
# Called kubeadm.exe, say: what is installed is wmcb.exe all the same.
PROGRAM = UNPACKED / "kubeadm.exe"
INSTALLED = PureWindowsPath(r"C:\Program Files\wmcb")
SOURCES = source_key("wmcb").rpartition("\\")[0]


def unpack(host: Host, release: str, *extensions: str) -> None:
    files = {
        PROGRAM: f"program {release}",
        UNPACKED / installation.INTERNAL / "python313.dll": f"python {release}",
        **{UNPACKED / installation.INTERNAL / name: name for name in extensions},
    }
    for path, content in files.items():
        host.files.write(path, content.encode(), PRIVATE_FILE)


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    host = open_sandbox(tmp_path)
    host.files.make_directory(UNPACKED, PRIVATE_DIRECTORY)
    host.files.make_directory(UNPACKED / installation.INTERNAL, PRIVATE_DIRECTORY)
    unpack(host, "1", "_ssl.pyd")
    return host


def installed(host: Host) -> dict[str, bytes]:
    return {
        name: host.files.read(INSTALLED / name)
        for name in (
            "wmcb.exe",
            *(rf"_internal\{each}" for each in host.files.list(INSTALLED / installation.INTERNAL)),
        )
    }


def test_the_program_is_laid_out_under_program_files(host: Host) -> None:
    assert installation.install(host, PROGRAM) == installation.Installed((), is_another=True)
    assert installed(host) == {
        "wmcb.exe": b"program 1",
        r"_internal\_ssl.pyd": b"_ssl.pyd",
        r"_internal\python313.dll": b"python 1",
    }


def test_folders_in_the_folder_of_what_it_loads_are_laid_out_and_taken_away(host: Host) -> None:
    library = UNPACKED / installation.INTERNAL / "yaml" / "_yaml.pyd"
    host.files.make_directory(library.parent, PRIVATE_DIRECTORY)
    host.files.write(library, b"yaml", PRIVATE_FILE)
    installation.install(host, PROGRAM)
    laid_out = INSTALLED / installation.INTERNAL / "yaml"
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
        INSTALLED / installation.INTERNAL,
        INSTALLED / "wmcb.exe",
        INSTALLED / installation.INTERNAL / "_ssl.pyd",
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
    assert found.image_path == r'"C:\Program Files\wmcb\wmcb.exe" daemon run'
    assert found.definition == installation.definition(host)
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
    host.files.remove(UNPACKED / installation.INTERNAL / "_ssl.pyd")
    unpack(host, "2", "_hashlib.pyd")
    assert installation.install(host, PROGRAM).is_another
    assert not installation.install(host, PROGRAM).is_another
    assert installed(host) == {
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
    installation.install(host, PROGRAM)
    assert host.files.read(kubeadm) == b"program 2", "it needs what is in the runtime folder"
    installation.uninstall(host, PROGRAM, 10)
    assert host.files.observe(INSTALLED) is None


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
    library = INSTALLED / installation.INTERNAL / "python313.dll"
    before = host.files.observe(library)
    host.files.set_descriptor(library, PRIVATE_FILE)
    unpack(host, "2")
    host.files.write(UNPACKED / installation.INTERNAL / "python313.dll", b"python 1", PRIVATE_FILE)
    installation.install(host, PROGRAM)
    assert host.files.observe(library) == before
    assert host.files.read(INSTALLED / "wmcb.exe") == b"program 2"
    assert host.files.descriptor(library).granted(SIDS[Principal.USER]) == FILE_READ | FILE_EXECUTE


def test_the_installed_program_leaves_its_own_removal_to_the_next_start(host: Host) -> None:
    installation.install(host, PROGRAM)
    left = installation.uninstall(host, INSTALLED / "wmcb.exe", 10)
    assert left == [
        *(INSTALLED / installation.INTERNAL / name for name in ("python313.dll", "_ssl.pyd")),
        INSTALLED / "wmcb.exe",
        INSTALLED / installation.INTERNAL,
        INSTALLED,
    ]
    assert host.services.read("wmcb") is None
