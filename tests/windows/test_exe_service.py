"""The resident service: one process that unpacks nothing, from its installation to its end."""

from __future__ import annotations

import json
import os
import signal

from lab.node import Node
from lab.repository import ROOT
from lab.services import Control, State
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until
from lab.web import Page, Web
from windows.exe import (
    DOWNLOADED,
    HOME,
    INSTALLED,
    PLACE,
    PROGRAM,
    SERVICE,
    download,
    installed,
    of_release,
    unpacked,
)

MEGABYTE = 1_000_000
EXTRACTED = r"C:\tools\wmcb"
GIVEN, POINTER = r"C:\given\kubelet.exe", r"C:\given\pointer.ign"
WORKER = ROOT / "tests" / "data" / "ignition" / "worker-3.4.ign"
HINT_SECONDS = 5.0
ADMINISTRATORS, SYSTEM, USERS = "S-1-5-32-544", "S-1-5-18", "S-1-5-32-545"
FILE_ALL, READ_AND_RUN = 0x1F01FF, 0x1200A9


def install(node: Node) -> None:
    download(node)
    result = node.run(DOWNLOADED, "daemon", "install")
    assert result.code == 0, result.err


def start(node: Node) -> None:
    node.start_service(SERVICE)
    node.wait_for_service(SERVICE, State.RUNNING)


def files_of(node: Node) -> dict[str, bytes]:
    folder = node.path(PLACE)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


LAID_OUT = {
    str(path.relative_to(PROGRAM.parent)): path.read_bytes()
    for path in PROGRAM.parent.rglob("*")
    if path.is_file()
}


def test_installed_it_is_the_folder_that_the_exe_carries(node: Node) -> None:
    install(node)
    assert files_of(node) == LAID_OUT
    assert unpacked(node) == []


def test_extracted_where_users_may_write_it_is_not_installed(node: Node) -> None:
    for name in LAID_OUT:
        node.copy_in(PROGRAM.parent / name, EXTRACTED + "\\" + name.replace("/", "\\"))
    folder = node.path(EXTRACTED)
    folder.chmod(0o777)
    refused = node.run(rf"{EXTRACTED}\wmcb.exe", "daemon", "install")
    assert (refused.code, refused.err.partition(": extract the ZIP")[0]) == (
        3,
        rf"wmcb: {EXTRACTED}\wmcb.exe would run as SYSTEM, and users may change {EXTRACTED}",
    )
    assert node.service(SERVICE) is None
    folder.chmod(0o755)
    installed_now = node.run(rf"{EXTRACTED}\wmcb.exe", "daemon", "install")
    assert installed_now.code == 0, installed_now.err
    assert files_of(node) == LAID_OUT


def test_installed_as_kubeadm_it_takes_kubeadms_lines(node: Node) -> None:
    download(node)
    assert node.run(DOWNLOADED, "daemon", "install", "--kubeadm").code == 0
    told = node.run(rf"{PLACE}\kubeadm.exe", "version", "-o", "short")
    assert (told.code, told.out[:3]) == (0, "v1."), told.err
    refused = node.run(rf"{PLACE}\kubeadm.exe", "init")
    assert (refused.code, refused.err.partition(":")[0]) == (2, "error")
    assert node.run(DOWNLOADED, "daemon", "uninstall").code == 0
    assert not node.path(HOME).exists()


def test_installed_it_starts_with_windows_from_a_quoted_path(node: Node) -> None:
    install(node)
    settings = node.service_settings(SERVICE)
    assert settings is not None
    assert settings.data("ImagePath") == rf'"{INSTALLED}" daemon run'
    assert settings.data("Start") == 2
    assert settings.data("ObjectName") == "LocalSystem"
    assert settings.data("PreshutdownTimeout") == 10_000
    source = node.registry(rf"HKLM\System\CurrentControlSet\Services\EventLog\Application\{SERVICE}")
    assert source is not None
    assert source.data("EventMessageFile") == INSTALLED


def test_windows_is_told_to_start_it_again_and_to_leave_it_time_at_a_shutdown(node: Node) -> None:
    """Wine does nothing by the first, and knows nothing of the others: seen is that Windows is told."""
    download(node)
    result = node.run(DOWNLOADED, "daemon", "install", traced=True)
    assert result.code == 0, result.err
    told = [call.arguments.split(",") for call in result.calls if call.function == "ChangeServiceConfig2W"]
    failure_actions, also_by_exit_code, preshutdown = 2, 4, 7
    assert {int(words[1], 16) for words in told} >= {failure_actions, also_by_exit_code, preshutdown}


def test_users_may_run_it_and_never_write_from_the_first_moment(node: Node) -> None:
    download(node)
    node.reboot(traced=True)
    install(node)
    found = [each for each in node.descriptors() if r"\program files\wmcb" in each.path.lower()]
    assert len(found) >= len(LAID_OUT) + 2, "every file and both folders"
    for each in found:
        assert each.born, f"{each.path} got its descriptor later"
        assert each.owner == ADMINISTRATORS, each.path
        assert each.protected, each.path
        assert each.entries is not None
        assert {entry.sid: entry.mask for entry in each.entries} == {
            SYSTEM: FILE_ALL,
            ADMINISTRATORS: FILE_ALL,
            USERS: READ_AND_RUN,
        }, each.path
    for path in node.path(HOME).rglob("*"):
        assert not path.stat().st_mode & 0o022, path


def test_it_runs_as_one_small_process_and_unpacks_nothing(node: Node) -> None:
    install(node)
    start(node)
    (process,) = node.processes("wmcb.exe")
    assert process.command[0] == INSTALLED
    assert process.resident_bytes <= 40 * MEGABYTE
    assert not node.processes("conhost.exe")
    assert unpacked(node) == []


def test_it_ends_when_asked_within_its_hint(node: Node) -> None:
    install(node)
    start(node)
    node.stop_service(SERVICE)
    stopped = node.wait_for_service(SERVICE, State.STOPPED, seconds=HINT_SECONDS)
    assert (stopped.exit_code, stopped.specific_exit_code) == (0, 0)
    until(lambda: not node.processes("wmcb.exe"), "its process has ended")


def test_it_wants_to_be_told_before_windows_shuts_down(node: Node) -> None:
    """Only the SCM may tell it, and Wine's never does: what it then does is proven with the SCM mocked."""
    install(node)
    start(node)
    service = node.service(SERVICE)
    assert service is not None
    stop, shutdown, preshutdown = 0x1, 0x4, 0x100
    assert service.accepts & (stop | shutdown | preshutdown) == stop | shutdown | preshutdown


def test_it_answers_when_interrogated_and_goes_on(node: Node) -> None:
    install(node)
    start(node)
    assert node.control_service(SERVICE, Control.INTERROGATE) == 0
    service = node.service(SERVICE)
    assert service is not None
    assert service.state is State.RUNNING


def test_a_control_that_it_does_not_know_does_not_disturb_it(node: Node) -> None:
    install(node)
    start(node)
    free_for_services = 200
    node.control_service(SERVICE, free_for_services)
    service = node.service(SERVICE)
    assert service is not None
    assert service.state is State.RUNNING


def test_killed_it_leaves_nothing_and_can_be_started_again(node: Node) -> None:
    install(node)
    start(node)
    (process,) = node.processes("wmcb.exe")
    node.kill(process)
    node.wait_for_service(SERVICE, State.STOPPED)
    assert not node.processes("wmcb.exe")
    assert unpacked(node) == []
    assert files_of(node) == LAID_OUT
    start(node)
    assert len(node.processes("wmcb.exe")) == 1


def test_it_is_there_again_after_a_reboot(node: Node) -> None:
    install(node)
    node.reboot()
    node.wait_for_service(SERVICE, State.RUNNING)
    assert len(node.processes("wmcb.exe")) == 1


def test_installed_over_itself_while_it_runs(node: Node) -> None:
    install(node)
    start(node)
    install(node)
    assert files_of(node) == LAID_OUT, "nothing is written, nor put aside"
    node.reboot()
    node.wait_for_service(SERVICE, State.RUNNING)
    assert files_of(node) == LAID_OUT


def test_what_runs_is_not_written_to_by_another_release_and_goes_when_it_has_ended(
    node: Node, web: Web
) -> None:
    """PyInstaller's loader reads modules out of the program's file for as long as it runs."""
    install(node)
    StandinKubelet(node, GIVEN)
    web.pages["/worker"] = Page(WORKER.read_bytes(), wait=1)
    pointer = {"version": "3.2.0", "config": {"merge": [{"source": web.url("/worker")}]}}
    node.path(POINTER).write_text(json.dumps({"ignition": pointer}))
    given = ("--ignition", POINTER, "--kubelet", GIVEN, "--allow-plain-http")
    running = node.start(INSTALLED, "plan", *given)
    until(lambda: web.requests, "it has asked for the page")
    (process,) = node.processes("wmcb.exe")
    os.kill(process.pid, signal.SIGSTOP)
    node.path(DOWNLOADED).write_bytes(of_release("9.9.9"))
    done = node.run(DOWNLOADED, "daemon", "install")
    assert done.code == 0, done.err
    assert files_of(node) == LAID_OUT
    settings = node.service_settings(SERVICE)
    assert settings is not None
    assert settings.data("ImagePath") == f'"{installed("9.9.9")}" daemon run'

    os.kill(process.pid, signal.SIGCONT)
    result = running.wait()
    assert result.code == 0, f"it imports what shows a plan only now: {result.err}"
    assert "to create" in result.out
    assert node.run(DOWNLOADED, "daemon", "install").code == 0
    assert [path.name for path in node.path(HOME).iterdir()] == ["9.9.9"]


def test_uninstalled_nothing_is_left(node: Node) -> None:
    install(node)
    start(node)
    result = node.run(DOWNLOADED, "daemon", "uninstall")
    assert (result.code, result.out) == (0, "the service wmcb and its program are gone\n")
    assert node.service(SERVICE) is None
    assert not node.path(HOME).exists()
    assert unpacked(node) == []


def test_the_installed_program_uninstalls_itself_by_the_next_start_of_windows(node: Node) -> None:
    install(node)
    result = node.run(INSTALLED, "daemon", "uninstall")
    assert result.code == 0
    assert "when it starts next" in result.out
    assert node.service(SERVICE) is None
    node.reboot()
    assert not node.path(HOME).exists()
