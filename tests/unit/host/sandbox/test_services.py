"""What of services only the sandbox has: programs it cannot run, programs that know nothing of services."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import PureWindowsPath

import psutil
import pytest

from agent.host.errors import AlreadyExists, HostError, NoAnswer, NotAService, ServiceFailed, TimedOut
from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.sandbox import open_sandbox
from agent.host.sandbox.programs import script_of_ours
from agent.host.services import ServiceDefinition, ServiceState, StartType

from .conftest import Sandbox

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its programs are scripts of a Unix shell")

C = PureWindowsPath("C:\\")
RUNNING, STOPPED = ServiceState.RUNNING, ServiceState.STOPPED
SOON = 20.0


def script(sandbox: Sandbox, text: str, name: str = "kubelet", **definition: object) -> None:
    """A service whose program is a shell script inside C:."""
    path = C / f"{name}.exe"
    sandbox.machine.host.files.write(path, f"#!/bin/sh\n{text}\n".encode(), PROGRAM_FILE)
    wanted = ServiceDefinition(name, (str(path), "--flag", "a b"))
    sandbox.machine.host.services.create(
        ServiceDefinition(name, wanted.command, **definition)  # type: ignore[arg-type]
    )


def start(sandbox: Sandbox, name: str = "kubelet") -> int:
    sandbox.machine.host.services.start(name)
    pid = sandbox.machine.host.services.wait(name, RUNNING, SOON).pid
    assert pid is not None
    return pid


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def written(sandbox: Sandbox) -> str:
    """What a service's program wrote to `out` with one call; it counts as running before that."""
    out = sandbox.directory / "out"
    until(lambda: out.exists() and bool(out.read_text()))
    return out.read_text()


WAITS = "exec sleep 600"


def test_a_program_that_knows_nothing_of_services_runs_and_is_stopped(sandbox: Sandbox) -> None:
    script(sandbox, WAITS)
    pid = start(sandbox)
    assert psutil.pid_exists(pid)
    sandbox.machine.host.services.stop("kubelet")
    status = sandbox.machine.host.services.wait("kubelet", STOPPED, SOON)
    assert (status.pid, status.exit_code) == (None, 0)


def test_one_that_ends_at_once_has_failed(sandbox: Sandbox) -> None:
    script(sandbox, "echo no such flag; echo >&2; exit 3")
    sandbox.machine.host.services.start("kubelet")
    with pytest.raises(ServiceFailed) as failed:
        sandbox.machine.host.services.wait("kubelet", RUNNING, SOON)
    assert failed.value.code == 1067
    output = sandbox.directory / ".sandbox" / "exits" / "kubelet.output"
    assert str(failed.value).endswith(f"; it said last: no such flag (all of it is in {output})")


def test_its_exit_code_can_be_asked_for(sandbox: Sandbox) -> None:
    script(sandbox, "until test -e end; do sleep 0.05; done; exit 3")
    pid = start(sandbox)
    (sandbox.directory / "end").touch()
    sandbox.machine.host.services.wait("kubelet", STOPPED, SOON)
    with suppress(HostError):
        assert sandbox.machine.host.processes.wait(pid, SOON) == 3


def test_it_gets_its_arguments_and_variables(sandbox: Sandbox) -> None:
    sandbox.machine.host.environment.set("NODE", r"%SystemRoot%\node")
    script(sandbox, f'printf "%s|" "$@" "$NODE" "$OWN" "$PWD" >out; {WAITS}', environment={"OWN": "own"})
    start(sandbox)
    words = written(sandbox).split("|")[:-1]
    assert words == ["--flag", "a b", r"C:\Windows\node", "own", os.fspath(sandbox.directory)]


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        (r"C:\k dir\kubelet.exe", ""),
        (r'C:\k dir\kubelet.exe  -v "a b"', "-v|a b|"),
        (r"%SystemDrive%\k dir\kubelet.exe %NONE%", "%NONE%|"),
    ],
    ids=["unquoted", "unquoted with arguments", "variable"],
)
def test_somebody_elses_command_line_is_read_as_windows_does(
    sandbox: Sandbox, line: str, arguments: str
) -> None:
    host = sandbox.machine.host
    host.files.make_directory(C / "k dir", PROGRAM_DIRECTORY)
    script(sandbox, f'printf "%s|" "$@" >out; {WAITS}')
    host.files.move(C / "kubelet.exe", C / "k dir" / "kubelet.exe")
    installed = host.services.read("kubelet")
    assert installed is not None
    host.services.restore(replace(installed, image_path=line))
    start(sandbox)
    assert written(sandbox) == (arguments or "|")


def test_a_shorter_path_is_taken_first(sandbox: Sandbox) -> None:
    script(sandbox, f"echo short >out; {WAITS}", "k")
    script(sandbox, f"echo long >out; {WAITS}", "k.exe dir")
    installed = sandbox.machine.host.services.read("k.exe dir")
    assert installed is not None
    sandbox.machine.host.services.restore(replace(installed, image_path=r"C:\k.exe dir.exe"))
    start(sandbox, "k.exe dir")
    assert written(sandbox) == "short\n"


def test_a_program_of_ours_runs_when_it_says_so(sandbox: Sandbox) -> None:
    host = sandbox.machine.host
    host.files.write(C / "wmcb.exe", script_of_ours(["/bin/sleep", "600"]), PROGRAM_FILE)
    host.services.create(ServiceDefinition("wmcb", (r"C:\wmcb.exe",)))
    host.services.start("wmcb")
    with pytest.raises(TimedOut):  # any other program has been counted as running by then
        host.services.wait("wmcb", RUNNING, 0.5)
    assert host.services.status("wmcb").state is ServiceState.START_PENDING


def test_what_it_prints_is_kept_beside(sandbox: Sandbox) -> None:
    script(sandbox, f"echo out; echo err >&2; {WAITS}")
    start(sandbox)
    kept = sandbox.directory / ".sandbox" / "exits" / "kubelet.output"
    until(lambda: kept.read_text() == "out\nerr\n")


def test_a_running_script_is_a_running_program(sandbox: Sandbox) -> None:
    script(sandbox, "sleep 600")
    start(sandbox)
    aside = sandbox.machine.host.files.write(C / "kubelet.exe", b"new", PROGRAM_FILE)
    assert aside is not None


@pytest.mark.parametrize("content", [b"MZ\x90\x00", b"", b"text"], ids=["windows", "empty", "text"])
def test_a_program_that_this_system_cannot_run_is_recorded_as_running(
    sandbox: Sandbox, content: bytes
) -> None:
    services = sandbox.machine.host.services
    sandbox.machine.host.files.write(C / "kubelet.exe", content, PROGRAM_FILE)
    services.create(ServiceDefinition("kubelet", (r"C:\kubelet.exe",)))
    services.start("kubelet")
    status = services.wait("kubelet", RUNNING, SOON)
    assert status.pid is None
    services.stop("kubelet")
    assert services.wait("kubelet", STOPPED, SOON).exit_code == 0


def test_nothing_is_run_unless_asked_for(sandbox: Sandbox) -> None:
    script(sandbox, "touch ran")
    quiet = open_sandbox(sandbox.directory).services
    quiet.start("kubelet")
    assert quiet.wait("kubelet", RUNNING, SOON).pid is None
    assert not (sandbox.directory / "ran").exists()


def test_it_outlives_whoever_started_it_and_its_end_is_seen(sandbox: Sandbox) -> None:
    script(sandbox, WAITS)
    subprocess.run(sandbox.other_process('host.services.start("kubelet")'), check=True)
    services = sandbox.machine.host.services
    pid = services.wait("kubelet", RUNNING, SOON).pid
    assert pid is not None
    with services.watch(["kubelet"]) as watch:
        sandbox.machine.host.processes.end(pid)
        assert [event.state for event in watch.wait(SOON)] == [STOPPED]
    assert services.status("kubelet").exit_code == 1067


def test_another_process_is_told_of_a_change_at_once(sandbox: Sandbox) -> None:
    script(sandbox, WAITS)
    code = (
        "from agent.host.services import ServiceState\n"
        "print('waiting', flush=True)\n"
        "with host.services.watch(['kubelet']) as watch:\n"
        "    print('watching', flush=True)\n"
        "    print(watch.wait(60)[0].name, flush=True)\n"
    )
    with subprocess.Popen(sandbox.other_process(code), stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert [other.stdout.readline().strip() for _ in range(2)] == ["waiting", "watching"]
        began = time.monotonic()
        sandbox.machine.host.services.start("kubelet")
        assert other.stdout.readline().strip() == "kubelet"
        assert time.monotonic() - began < SOON


def test_several_processes_register_services_at_the_same_time(sandbox: Sandbox) -> None:
    code = (
        "from agent.host.services import ServiceDefinition\n"
        "for number in range(20):\n"
        "    host.services.create(ServiceDefinition(f'{sys.argv[1]}-{number}', ('C:\\\\x.exe',)))\n"
    )
    others = [subprocess.Popen([*sandbox.other_process(code), f"process{number}"]) for number in range(4)]
    assert [other.wait(60) for other in others] == [0] * 4
    assert len(sandbox.machine.host.services.list()) == 80


def test_services_cannot_depend_on_each_other_in_a_circle(sandbox: Sandbox) -> None:
    services = sandbox.machine.host.services
    for name, needs in (("a", "b"), ("b", "c")):
        services.create(ServiceDefinition(name, ("C:\\x.exe",), dependencies=(needs,)))
    with pytest.raises(HostError) as refused:
        services.create(ServiceDefinition("C", ("C:\\x.exe",), dependencies=("A",)))
    assert refused.value.code == 1059


@pytest.mark.parametrize("taken", ["a", "A", "The Other", "the other"])
def test_services_have_display_names_of_their_own(sandbox: Sandbox, taken: str) -> None:
    services = sandbox.machine.host.services
    services.create(ServiceDefinition("a", ("C:\\x.exe",), display_name="The Other"))
    services.change(ServiceDefinition("a", ("C:\\y.exe",), display_name="The Other"))
    with pytest.raises(AlreadyExists) as refused:
        services.create(ServiceDefinition("b", ("C:\\x.exe",), display_name=taken))
    assert refused.value.code == 1078


@pytest.mark.parametrize("name", ["kubelet", "other"])
def test_a_process_that_the_sandbox_did_not_start_is_no_service(sandbox: Sandbox, name: str) -> None:
    script(sandbox, WAITS)
    with pytest.raises(NotAService) as refused:
        sandbox.machine.host.services.serve(name, lambda _: 0)
    assert refused.value.code == 1063


def test_the_ports_of_services_are_known(sandbox: Sandbox) -> None:
    server = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); time.sleep(600)"
    script(sandbox, f'exec "{sys.executable}" -c "{server}"')
    assert sandbox.machine.host.facts.listening_ports() == []
    pid = start(sandbox)
    until(lambda: bool(sandbox.machine.host.facts.listening_ports()))
    (port,) = sandbox.machine.host.facts.listening_ports()
    assert (port.address, port.pid) == ("127.0.0.1", pid)


def test_a_service_that_is_only_recorded_is_taken_to_be_well(sandbox: Sandbox) -> None:
    script(sandbox, WAITS)
    quiet = open_sandbox(sandbox.directory)
    with socket.create_server(("127.0.0.1", 0)) as not_of_the_sandbox:
        port = not_of_the_sandbox.getsockname()[1]
        with pytest.raises(NoAnswer):
            quiet.loopback.get(port, "/healthz", SOON)
        quiet.services.start("kubelet")
        assert quiet.loopback.get(port, "/healthz", SOON) == 200
        sandbox.set_facts(answers={str(port): 503})
        assert quiet.loopback.get(port, "/healthz", SOON) == 503


def test_a_program_that_this_system_cannot_run_is_taken_to_be_well(sandbox: Sandbox) -> None:
    host = sandbox.machine.host
    host.files.write(C / "kubelet.exe", b"MZ", PROGRAM_FILE)
    host.services.create(ServiceDefinition("kubelet", (r"C:\kubelet.exe",)))
    host.services.start("kubelet")
    assert host.loopback.get(9, "/healthz", SOON) == 200


def test_a_program_that_runs_answers_itself(sandbox: Sandbox) -> None:
    script(sandbox, WAITS)
    start(sandbox)
    with pytest.raises(NoAnswer):
        sandbox.machine.host.loopback.get(9, "/healthz", SOON)


def test_no_thread_is_left_behind(sandbox: Sandbox) -> None:
    before = set(threading.enumerate())
    script(sandbox, WAITS)
    start(sandbox)
    with sandbox.machine.host.services.watch(["kubelet"]) as watch:
        watch.wait(0.01)
    with sandbox.machine.host.files.watch(C, recursive=True) as files:
        files.wait(0.01)
    sandbox.machine.host.processes.run(["/bin/true"], seconds=SOON)
    assert set(threading.enumerate()) <= before
    assert list((sandbox.directory / ".sandbox" / "bells").iterdir()) == []


# The machine as a whole


def test_a_machine_that_goes_down_takes_all_programs_with_it(sandbox: Sandbox) -> None:
    script(sandbox, "sleep 601 & echo $! >child; sleep 602")
    pids = [start(sandbox)]
    until(lambda: (sandbox.directory / "child").exists() and bool((sandbox.directory / "child").read_text()))
    pids.append(int((sandbox.directory / "child").read_text()))
    sandbox.machine.shut_down()
    until(lambda: not any(alive(pid) for pid in pids))
    status = sandbox.machine.host.services.status("kubelet")
    assert (status.state, status.pid, status.exit_code) == (STOPPED, None, 1077)


def alive(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_a_machine_that_starts_does_what_it_was_asked_to(sandbox: Sandbox) -> None:
    host = sandbox.machine.host
    for name, kind in (
        ("auto", StartType.AUTOMATIC),
        ("delayed", StartType.DELAYED),
        ("hand", StartType.MANUAL),
    ):
        script(sandbox, WAITS, name, start=kind)
    host.services.create(ServiceDefinition("broken", ("C:\\missing.exe",)))
    host.files.write(C / "old.exe", b"x", PROGRAM_FILE)
    host.files.remove_at_reboot(C / "old.exe")
    host.power.reboot("test", 0)
    before = host.clock.boot()
    sandbox.machine.shut_down()
    sandbox.machine.start_up()
    assert host.files.observe(C / "old.exe") is None
    assert host.clock.boot() > before
    states = {name: status.state for name, status in host.services.list().items()}
    assert {name for name, state in states.items() if state is not STOPPED} == {"auto", "delayed"}
    # What was asked for is done, and can be asked for again.
    host.power.reboot("again", 0)
