"""A worker's Ignition and kubelet.exe in, a node out: what is on the machine then, seen from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, Unpack

import pytest

from lab import repository, windows_python
from lab.node import Node
from lab.running import Result
from lab.services import State
from lab.standin_kubelet import Behaviour, StandinKubelet
from lab.waiting import until
from windows.exe import DOWNLOADED, download

DATA = repository.ROOT / "tests" / "data" / "ignition"
DOCUMENT = r"C:\given files\worker.ign"
GIVEN = r"C:\given files\kubelet.exe"
RUNTIME = r"C:\Program Files\containerd\containerd.exe"
STARTS = r"C:\starts.txt"
KUBELET = r"C:\k\kubelet.exe"
LOG = r"C:\var\log\kubelet\kubelet.log"
SYSTEM, ADMINISTRATORS, USERS = "S-1-5-18", "S-1-5-32-544", "S-1-5-32-545"
FILE_ALL, READ_AND_RUN = 0x1F01FF, 0x1200A9

ONLY_ADMINISTRATORS = {SYSTEM: FILE_ALL, ADMINISTRATORS: FILE_ALL}
FOR_PODS = r"\var\lib\kubelet\pods"
"""What runs in a container has to read there."""
PROTECTED = {
    r"\etc\kubernetes" "\\": ONLY_ADMINISTRATORS,
    r"\var\lib\kubelet" "\\": ONLY_ADMINISTRATORS,
    r"\programdata\wmcb" "\\": ONLY_ADMINISTRATORS,
    r":\k" "\\": {**ONLY_ADMINISTRATORS, USERS: READ_AND_RUN},
}
ARGUMENTS = [
    r"--config=C:\etc\kubernetes\kubelet.conf",
    r"--bootstrap-kubeconfig=C:\etc\kubernetes\kubeconfig",
    r"--kubeconfig=C:\var\lib\kubelet\kubeconfig",
    r"--cert-dir=C:\var\lib\kubelet\pki",
    "--windows-service",
    "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
    "--node-ip=10.77.0.1",
    "--minimum-container-ttl-duration=6m0s",
    r"--volume-plugin-dir=C:\etc\kubernetes\kubelet-plugins\volume\exec",
    "--cloud-provider=external",
    "--v=2",
    "--node-labels=node.openshift.io/os_id=Windows",
]


class Machine:
    """A Windows machine with containerd, and on it what it is to be made a node of."""

    def __init__(self, node: Node) -> None:
        self.node = node
        StandinKubelet(node, RUNTIME, address="127.0.0.1:10999", starts=r"C:\containerd.txt")
        node.create_service("containerd", f'"{RUNTIME}" --windows-service', automatic=True)
        node.copy_in(DATA / "worker-3.4.ign", DOCUMENT)
        download(node)
        self.given = self.give()

    def give(self, **behaviour: Unpack[Behaviour]) -> StandinKubelet:
        """Brings a kubelet.exe to the machine."""
        said: Behaviour = {"version": "1.31.0", "starts": STARTS, **behaviour}
        self.given = StandinKubelet(self.node, GIVEN, **said)
        return self.given

    def wmcb(self, *arguments: str, **circumstances: Any) -> Result:
        return self.node.run(DOWNLOADED, *arguments, **circumstances)

    def bootstrap(self, *more: str, **circumstances: Any) -> Result:
        # The stand-in for containerd serves no pipe.
        ignored = ("--ignore-preflight-errors", "containerd-pipe")
        return self.wmcb("--ignition", DOCUMENT, "--kubelet", GIVEN, *ignored, *more, **circumstances)

    def made(self) -> Machine:
        result = self.bootstrap()
        assert result.code == 0, result.err
        return self

    @property
    def starts(self) -> list[dict[str, Any]]:
        return self.given.starts

    def runs(self) -> bool:
        service = self.node.service("kubelet")
        return service is not None and service.state is State.RUNNING and self.given.healthy()


@pytest.fixture
def machine(node: Node) -> Machine:
    return Machine(node)


# What is made


def test_the_kubelet_runs_with_what_the_document_asks_for(machine: Machine) -> None:
    result = machine.bootstrap()
    assert (result.code, result.out.splitlines()[0]) == (0, "this machine is a node"), result.err
    assert machine.runs()
    (start,) = machine.starts
    assert start["arguments"] == [KUBELET, *ARGUMENTS]
    settings = machine.node.service_settings("kubelet")
    assert settings is not None
    # Not asked of the program: Wine starts services without their own environment.
    assert settings.data("Environment") == ["GODEBUG=x509ignoreCN=0,madvdontneed=1"]
    assert machine.node.path(KUBELET).read_bytes() == machine.given.content


def test_the_service_starts_with_windows_after_containerd(machine: Machine) -> None:
    settings = machine.made().node.service_settings("kubelet")
    assert settings is not None
    assert settings.data("Start") == 2
    assert settings.data("DependOnService") == ["containerd"]
    assert settings.data("ObjectName") == "LocalSystem"
    machine.node.reboot()
    until(machine.runs, "the kubelet runs after a reboot")
    assert len(machine.starts) == 2


def test_event_viewer_can_show_the_texts_of_its_events(machine: Machine) -> None:
    node = machine.made().node
    source = node.registry(r"HKLM\System\CurrentControlSet\Services\EventLog\Application\wmcb")
    assert source is not None
    assert source.data("EventMessageFile") == r"C:\k\wmcb-log.exe"
    assert node.path(r"C:\k\wmcb-log.exe").exists()


def test_every_file_is_born_with_its_protection(machine: Machine) -> None:
    machine.node.reboot(traced=True)
    machine.made()
    for folder, granted in PROTECTED.items():
        # Files too, under the temporary names that they are born with.
        found = [each for each in machine.node.descriptors() if folder in f"{each.path.lower()}\\"]
        found = [each for each in found if not each.path.lower().endswith(FOR_PODS)]
        assert len(found) > 1, folder
        for each in found:
            assert each.born or each.path.lower().endswith(folder[:-1]), each.path
            assert (each.owner, each.protected) == (ADMINISTRATORS, True), each.path
            assert each.entries is not None
            assert {entry.sid: entry.mask for entry in each.entries} == granted, each.path
    for windows in (r"C:\etc\kubernetes\kubeconfig", r"C:\etc\kubernetes\kubelet.conf"):
        assert machine.node.mode(windows) & 0o007 == 0, windows


def test_a_folder_that_users_could_change_is_closed_until_a_reset(machine: Machine) -> None:
    """One on the way to the node's own: whoever may rename it can exchange all that the kubelet reads."""
    node = machine.node
    for open_folder in (r"C:\etc", r"C:\etc\of others", r"C:\ProgramData"):
        node.path(open_folder).mkdir(exist_ok=True)
        node.path(open_folder).chmod(0o777)
    node.reboot(traced=True)
    made = machine.bootstrap("-v")
    assert made.code == 0, made.err
    given = [each for each in node.descriptors() if each.path.lower() in (r"c:\etc", r"c:\programdata")]
    (closed,) = given
    assert (closed.path.lower(), closed.owner, closed.protected) == (r"c:\etc", ADMINISTRATORS, True)
    granted = {entry.sid: entry.mask for entry in closed.entries or ()}
    assert granted == {**ONLY_ADMINISTRATORS, USERS: READ_AND_RUN}
    sddl = f"O:BAG:BAD:P{''.join(f'(A;;{mask:#x};;;{sid})' for sid, mask in granted.items())}"
    assert node.access(sddl)["user"] == READ_AND_RUN
    # What Users may do leaves no mark in the bits.
    bits = {each: node.mode(each) for each in (r"C:\etc", r"C:\etc\of others", r"C:\ProgramData")}
    assert bits == {r"C:\etc": 0o770, r"C:\etc\of others": 0o777, r"C:\ProgramData": 0o777}
    assert machine.wmcb("status").code == 0
    node.path(r"C:\etc").chmod(0o777)
    assert r"~ directory C:\etc" in machine.wmcb("status").out
    reset = machine.wmcb("reset")
    assert reset.code == 0, reset.err
    assert node.mode(r"C:\etc") == 0o777


def test_what_the_kubelet_says_can_be_read(machine: Machine) -> None:
    machine.give(says="I1118 10:00:00 hello\n")
    machine.made()
    log = machine.node.path(LOG)
    until(lambda: log.exists() and b"hello" in log.read_bytes(), "the kubelet's words are in its log")


# Again, and after something went wrong


def test_again_nothing_changes(machine: Machine) -> None:
    before = machine.made().node.snapshot()
    again = machine.bootstrap()
    assert (again.code, again.out.strip()) == (
        0,
        "nothing to do: this machine is the node that is wanted",
    ), again.err
    changed = before.changes_until(machine.node.snapshot())
    assert [line for line in changed if not line.startswith(r"C:\ProgramData\wmcb\logs")] == []
    assert len(machine.starts) == 1


def test_drift_is_told_and_repaired(machine: Machine) -> None:
    machine.made()
    node = machine.node
    node.path(r"C:\etc\kubernetes\ca.crt").write_text("another")
    node.path(r"C:\var\lib\kubelet\config.json").unlink()
    assert machine.wmcb("status").code == 1
    told = json.loads(machine.wmcb("status", "--output", "json").out)
    drifted = [each["resource"][1] for each in told["resources"] if each["differences"] or not each["there"]]
    assert drifted == [r"C:\etc\kubernetes\ca.crt", r"C:\var\lib\kubelet\config.json"]
    repaired = machine.bootstrap()
    assert repaired.code == 0, repaired.err
    assert machine.wmcb("status").code == 0
    assert machine.runs()


def test_an_upgrade_replaces_the_running_kubelet(machine: Machine) -> None:
    machine.made()
    newer = machine.give(version="1.32.0")
    result = machine.bootstrap()
    assert result.code == 0, result.err
    assert machine.node.path(KUBELET).read_bytes() == newer.content
    assert machine.runs()
    assert len(machine.starts) == 2


FAILING: dict[str, tuple[Behaviour, str]] = {
    "it exits at once": ({"exit_at_once": 78, "says": "E1118 cannot go on\n"}, "service kubelet"),
    "it is never well": ({"unwell": True}, "answers 500"),
}


@pytest.mark.parametrize(("behaviour", "told"), FAILING.values(), ids=FAILING)
def test_a_failed_upgrade_is_taken_back(machine: Machine, behaviour: Behaviour, told: str) -> None:
    former = machine.made().given
    before = machine.node.snapshot()
    failing: Behaviour = {"version": "1.32.0", **behaviour}
    machine.give(**failing)
    result = machine.bootstrap("--start-timeout", "10")
    assert result.code == 1
    assert told in result.err
    assert rf"{KUBELET} is again Kubernetes v1.31.0" in result.err
    assert "service kubelet runs again" in result.err
    assert "the machine is as it was before" in result.err
    if "says" in behaviour:
        assert "cannot go on" in result.err, "the last lines of the kubelet's own log"
    assert machine.runs()
    machine.give()
    assert machine.node.path(KUBELET).read_bytes() == former.content
    changed = before.changes_until(machine.node.snapshot())
    unimportant = (r"C:\ProgramData\wmcb\logs", r"C:\var\log\kubelet", STARTS)
    assert [line for line in changed if not line.startswith(unimportant)] == []


def test_reset_leaves_nothing(machine: Machine) -> None:
    before = machine.node.snapshot()
    result = machine.made().wmcb("reset")
    assert result.code == 0, result.err
    assert machine.node.service("kubelet") is None
    machine.node.path(STARTS).unlink()
    assert before.changes_until(machine.node.snapshot()) == []


def test_a_reset_goes_on_past_a_file_that_is_open_and_the_next_one_takes_it(machine: Machine) -> None:
    before = machine.node.snapshot()
    machine.made()
    path = r"C:\etc\kubernetes\ca.crt"
    statements = f"import time; file = open({path!r}); print('open', flush=True); time.sleep(600)"
    holding = machine.node.start(windows_python.PROGRAM, "-c", statements)
    until(lambda: holding.stdout, "it is open")
    result = machine.wmcb("reset")
    assert result.code == 1
    first, *lines = result.out.splitlines()
    assert first == "not all could be taken back; all else is as it was before wmcb"
    assert lines[0] == (
        f"  file {path} stays, and the next reset takes it back:"
        f" cannot remove {path}: another program has it open (Windows error 32)"
    )
    assert machine.node.service("kubelet") is None
    assert not machine.node.path(r"C:\k").exists()
    assert sorted(each.name for each in machine.node.path(r"C:\etc\kubernetes").iterdir()) == ["ca.crt"]
    (process,) = machine.node.processes("python.exe")
    machine.node.kill(process)
    holding.wait()
    assert machine.wmcb("reset").code == 0
    machine.node.path(STARTS).unlink()
    assert before.changes_until(machine.node.snapshot()) == []


class Former(NamedTuple):
    """A kubelet of somebody else's, as the Service Control Manager has it."""

    program: str
    line: str
    values: tuple[tuple[str, str, str, str], ...] = ()
    """In the registry, below the service's key: key, name, type, data."""


FORMER = {
    # As people register it: without quotes.
    "by hand": Former(r"C:\old kubelet\kubelet.exe", r"C:\old kubelet\kubelet.exe --windows-service --v=4"),
    "by OpenShift's bootstrapper": Former(
        KUBELET,
        rf"{KUBELET} --config=C:\k\kubelet.conf --bootstrap-kubeconfig=C:\k\bootstrap-kubeconfig "
        r"--kubeconfig=C:\k\kubeconfig --cert-dir=c:\var\lib\kubelet\pki\ --windows-service",
        (("", "DependOnService", "REG_MULTI_SZ", "containerd"), ("", "Description", "REG_SZ", "OpenShift's")),
    ),
    # Its program knows by the key what to run, and nobody else knows the key.
    "by NSSM": Former(
        r"C:\nssm\nssm.exe",
        r"C:\nssm\nssm.exe --windows-service",
        (
            ("Parameters", "Application", "REG_EXPAND_SZ", r"%SystemDrive%\k\kubelet.exe"),
            ("Parameters", "AppParameters", "REG_EXPAND_SZ", "--v=4"),
            (r"Parameters\AppExit", "", "REG_SZ", "Restart"),
        ),
    ),
}


@pytest.mark.parametrize("former", FORMER.values(), ids=FORMER)
def test_somebody_elses_kubelet_is_taken_over_and_given_back(machine: Machine, former: Former) -> None:
    node = machine.node
    k = node.path(r"C:\k")
    k.mkdir()
    k.chmod(0o777)
    StandinKubelet(node, former.program, version="1.30.0", starts=r"C:\old.txt")
    node.path(former.program).chmod(0o777)
    node.create_service("kubelet", former.line, automatic=True)
    service = r"HKLM\System\CurrentControlSet\Services\kubelet"
    for below, name, kind, data in former.values:
        key = rf"{service}\{below}".rstrip("\\")
        assert node.run("reg.exe", "add", key, "/v", name, "/t", kind, "/d", data, "/f").code == 0
    node.reboot()
    node.wait_for_service("kubelet", State.RUNNING)
    before = node.snapshot()

    plan = machine.wmcb("plan", "--ignition", DOCUMENT, "--kubelet", GIVEN).out.splitlines()
    assert "~ change    service kubelet" in plan
    rights = plan[plan.index(r"~ change    directory C:\k") + 1].strip()
    assert rights.startswith("who may do what: ")
    assert rights.endswith(" -> SYSTEM and administrators: everything; users: read and run")
    machine.made()
    assert machine.runs()
    assert machine.wmcb("status").code == 0

    result = machine.wmcb("reset")
    assert result.code == 0, result.err
    node.wait_for_service("kubelet", State.RUNNING)
    starts = node.path(r"C:\old.txt")
    until(lambda: len(starts.read_text().splitlines()) == 2, "the old kubelet runs again")
    for path in (starts, node.path(STARTS)):
        path.unlink()
    changed = [line for line in before.changes_until(node.snapshot()) if not line.startswith(r"C:\old.txt: ")]
    # A service without a display name shows its own; what is given back says so.
    shown = [line for line in changed if line.rpartition("\\")[2].startswith("DisplayName: new, ")]
    assert [line for line in changed if line not in shown] == []


def test_files_of_a_former_node_are_closed_until_a_reset(machine: Machine) -> None:
    """As kubeadm.exe and the kubelet leave them: in folders that hand on what C: grants to all users."""
    node = machine.node
    folders = [node.path(folder) for folder in (r"C:\etc\kubernetes\pki", r"C:\var\lib\kubelet\pki")]
    for folder in folders:
        folder.mkdir(parents=True)
    files = [*(folder / "old.key" for folder in folders), folders[0].parent / "kubelet.conf"]
    for file in files:
        file.write_text("of another cluster")
    for path in (*files, *folders, *(folder.parent for folder in folders)):
        path.chmod(0o777)
    before = node.snapshot()
    machine.made()
    assert machine.runs()
    assert {path.stat().st_mode & 0o007 for path in (*files, *folders)} == {0}
    reset = machine.wmcb("reset")
    assert reset.code == 0, reset.err
    node.path(STARTS).unlink()
    assert before.changes_until(node.snapshot()) == []


# Circumstances


OF_RUNS = (r"C:\ProgramData\wmcb", r"C:\var\log\kubelet", STARTS)
"""What runs and the kubelet say and remember is of no use to compare: there are times in it."""


GROUP_BITS = re.compile(r".*: (file|folder), mode 7[57]0, (.*) became \1, mode 7[57]0, \2")
"""Of a descriptor that something is born with, Wine makes others than of the same one set later."""


def apart_from_runs(changes: list[str]) -> list[str]:
    return [line for line in changes if not line.startswith(OF_RUNS) and not GROUP_BITS.fullmatch(line)]


@pytest.fixture
def killed(machine: Machine) -> Callable[[int], None]:
    """Has a bootstrap killed as soon as its journal has more lines than this."""
    journal = machine.node.path(r"C:\ProgramData") / "wmcb" / "journal"
    words = (DOWNLOADED, "--ignition", DOCUMENT, "--kubelet", GIVEN)

    def kill(lines: int) -> None:
        machine.node.run_until(lambda: _lines(journal) > lines, *words)
        assert "was interrupted" in machine.wmcb("status").out

    return kill


def steps_of(machine: Machine) -> int:
    plan = machine.wmcb("plan", "--ignition", DOCUMENT, "--kubelet", GIVEN, "--output", "json")
    return len(json.loads(plan.out)["changes"])


def test_killed_half_way_it_is_finished_by_the_next_run(
    machine: Machine, killed: Callable[[int], None]
) -> None:
    node, steps = machine.node, steps_of(machine)
    untouched = node.snapshot()
    undisturbed = machine.made().node.snapshot()
    assert machine.wmcb("reset").code == 0
    for lines in (2, steps // 2, steps - 1):  # last while the service comes up
        killed(lines)
        finished = machine.bootstrap()
        assert finished.code == 0, finished.err
        assert "a run was interrupted" in finished.err
        assert machine.wmcb("status").code == 0
        assert machine.runs()
        assert apart_from_runs(undisturbed.changes_until(node.snapshot())) == [], (
            f"killed after {lines} steps"
        )
        assert machine.wmcb("reset").code == 0
        node.path(STARTS).unlink(missing_ok=True)
        assert untouched.changes_until(node.snapshot()) == [], f"killed after {lines} steps"


def test_killed_half_way_it_can_be_taken_back(machine: Machine, killed: Callable[[int], None]) -> None:
    node, steps = machine.node, steps_of(machine)
    untouched = node.snapshot()
    for lines in (2, steps // 2, steps - 1):  # last while the service comes up
        killed(lines)
        taken_back = machine.wmcb("--rollback")
        assert taken_back.code == 0, taken_back.err
        assert node.service("kubelet") is None
        assert apart_from_runs(untouched.changes_until(node.snapshot())) == [], f"killed after {lines} steps"
    assert machine.wmcb("--rollback").out.startswith("nothing to take back")


def _lines(journal: Any) -> int:
    try:
        return len(journal.read_bytes().splitlines())
    except FileNotFoundError:
        return 0


def test_as_openshifts_bootstrapper(machine: Machine) -> None:
    """Scripts read its sentences, and take anything on standard error for a failure."""
    before = machine.node.snapshot()
    given = ("--ignition-file", DOCUMENT, "--kubelet-path", GIVEN, "--install-dir", r"C:\wmcb k")
    more = ("--node-ip", "10.77.0.1", "--cluster-dns", "10.0.0.10", "--kubelet-verbosity", "4")
    for _ in range(2):
        made = machine.wmcb("initialize-kubelet", *given, *more, "--platform-type", "none")
        assert (made.code, made.out, made.err) == (0, "Bootstrapping completed successfully\n", "")
        assert machine.runs()
    (start,) = machine.starts
    assert start["arguments"][0] == r"C:\wmcb k\kubelet.exe"
    assert {"--node-ip=10.77.0.1", "--v=4"} <= set(start["arguments"])
    folder = r"C:\wmcb k"
    placed = {
        "config": "kubelet.conf",
        "bootstrap-kubeconfig": "bootstrap-kubeconfig",
        "kubeconfig": "kubeconfig",
    }
    assert {rf"--{flag}={folder}\{name}" for flag, name in placed.items()} <= set(start["arguments"])
    assert machine.node.path(rf"{folder}\kubelet-ca.crt").exists()
    configuration = json.loads(machine.node.path(rf"{folder}\kubelet.conf").read_text())
    assert configuration["authentication"]["x509"]["clientCAFile"] == rf"{folder}\kubelet-ca.crt"
    gone = machine.wmcb("uninstall-kubelet")
    assert (gone.code, gone.out, gone.err) == (0, "kubelet uninstalled successfully\n", "")
    machine.node.path(STARTS).unlink()
    assert before.changes_until(machine.node.snapshot()) == []
    again = machine.wmcb("uninstall-kubelet")
    assert (again.code, again.out, again.err) == (1, "", "wmcb: kubelet service is not present\n")


def test_a_path_with_blanks(machine: Machine) -> None:
    result = machine.bootstrap("--install-dir", r"C:\Kubernetes for Windows\bin")
    assert result.code == 0, result.err
    assert machine.runs()
    (start,) = machine.starts
    assert start["arguments"][0] == r"C:\Kubernetes for Windows\bin\kubelet.exe"
    settings = machine.node.service_settings("kubelet")
    assert settings is not None
    assert str(settings.data("ImagePath")).startswith('"C:\\Kubernetes for Windows\\bin\\')


def test_a_language_that_is_not_english(machine: Machine) -> None:
    """The other ways in which a language could make a difference: a service that fails, one that is gone."""
    machine.node.reboot(locale="de_DE")
    before = machine.node.snapshot()
    machine.give(exit_at_once=78)
    failed = machine.bootstrap("--start-timeout", "5")
    assert (failed.code, "the machine is as it was before" in failed.err) == (1, True)
    machine.give()
    machine.made()
    assert machine.runs()
    assert machine.bootstrap().out.startswith("nothing to do")
    machine.node.stop_service("kubelet")
    machine.node.wait_for_service("kubelet", State.STOPPED)
    machine.node.delete_service("kubelet")
    assert "service kubelet is gone" in machine.wmcb("status").out
    machine.made()
    assert machine.runs()
    assert machine.wmcb("reset").code == 0
    machine.give()
    machine.node.path(STARTS).unlink()
    assert before.changes_until(machine.node.snapshot()) == []


def test_a_second_run_at_the_same_time_is_refused(machine: Machine) -> None:
    machine.give(start_until=r"C:\go", start_checkpoints=True)
    first = machine.node.start(DOWNLOADED, "--ignition", DOCUMENT, "--kubelet", GIVEN)
    until(lambda: machine.node.service("kubelet"), "the first run has come to the service", 60)
    second = machine.bootstrap()
    assert second.code == 1
    assert re.fullmatch(
        r"wmcb: another wmcb command \(process \d+\) is at work on this machine: wait until it has ended",
        second.err.splitlines()[-1],
    )
    machine.node.path(r"C:\go").touch()
    done = first.wait()
    assert done.code == 0, done.err
    assert machine.runs()


FAULTS = {
    "patches": (("--patches", r"C:\none"), r"--patches C:\none: there is no such folder"),
    "name": (("--node-name", "-win1"), '--node-name: "-win1" cannot be the name of a node'),
}


@pytest.mark.parametrize(("given", "told"), FAULTS.values(), ids=FAULTS)
def test_a_fault_ends_a_join_whose_cluster_is_being_looked_for(
    machine: Machine, given: tuple[str, ...], told: str
) -> None:
    """Nobody answers there, which would be told after five minutes."""
    place, trust = machine.node.path(KUBELET), "--discovery-token-unsafe-skip-ca-verification"
    place.parent.mkdir()
    place.write_bytes(machine.node.path(GIVEN).read_bytes())
    to_nobody = ("join", "10.77.0.1:9", "--token", "abcdef.0123456789abcdef", trust)
    result = machine.wmcb(*to_nobody, *given)
    assert result.code == 2
    assert result.err.startswith(f"wmcb: {told}"), result.err


CHANGING = {
    "bootstrap": ("--ignition", DOCUMENT, "--kubelet", GIVEN),
    "join": (
        *("join", "10.77.0.1:6443", "--token", "abcdef.0123456789abcdef"),
        "--discovery-token-unsafe-skip-ca-verification",
    ),
    "user data": ("--user-data", r"C:\given files\user-data"),
    "reset": ("reset",),
    "rollback": ("--rollback",),
    "initialize-kubelet": ("initialize-kubelet", "--ignition-file", DOCUMENT, "--kubelet-path", GIVEN),
    "uninstall-kubelet": ("uninstall-kubelet",),
    "pause": ("daemon", "pause"),
}


def test_a_plain_user_is_refused_whatever_it_is(machine: Machine) -> None:
    machine.made()
    before = machine.node.snapshot()
    for name, words in CHANGING.items():
        result = machine.wmcb(*words, as_user=True)
        assert (result.code, result.out) == (3, ""), name
        (line,) = [line for line in result.err.splitlines() if "warning" not in line]
        assert "needed" in line or "needs an administrator" in line, name
    assert before.changes_until(machine.node.snapshot()) == []
    # Wine lets him read all else of what is remembered.
    assert machine.wmcb("status", as_user=True).out.splitlines()[0] == (
        "? service kubelet: its dependencies and environment cannot be looked at: access is denied"
    )
    assert (
        "could not be compared: dependencies and environment of service kubelet; start this from an elevated"
    ) in machine.wmcb("plan", *CHANGING["bootstrap"], as_user=True).out


BAD: dict[str, tuple[list[str], int, str]] = {
    "no such document": (["--ignition", r"C:\no.ign", "--kubelet", GIVEN], 2, "there is no such file"),
    "no such kubelet": (["--ignition", DOCUMENT, "--kubelet", r"C:\no.exe"], 2, "there is no such file"),
    "a kubelet that is no program": (
        ["--ignition", DOCUMENT, "--kubelet", DOCUMENT],
        2,
        "no Windows program",
    ),
    "a document that is none": (["--ignition", GIVEN, "--kubelet", GIVEN], 2, "kubelet.exe"),
    "an option that there is not": (["--ignitoin", DOCUMENT], 2, "did you mean --ignition?"),
}


@pytest.mark.parametrize(("arguments", "code", "told"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_changes_nothing(
    machine: Machine, arguments: list[str], code: int, told: str
) -> None:
    before = machine.node.snapshot()
    result = machine.wmcb(*arguments)
    assert (result.code, result.out) == (code, "")
    (line,) = [line for line in result.err.splitlines() if "warning" not in line]
    assert told in line
    assert before.changes_until(machine.node.snapshot()) == []
