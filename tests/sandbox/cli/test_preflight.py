"""Which machine is fit to become a node, and what is said of one that is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PureWindowsPath
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from agent.cli.checking import CLUSTER_CHECK, IDS, SKEW_CHECK
from agent.host.port import RegistryKind, RegistryValue
from agent.host.sandbox.power import SandboxClock
from agent.host.sddl import SecurityDescriptor
from agent.host.services import ServiceDefinition, StartType
from agent.preflight import checks
from sandbox.cli.given import CONTAINERD, WORKER, Machine, program

WINDOWS = {
    "major": 10,
    "minor": 0,
    "build": 20348,
    "revision": 1,
    "product": "Windows Server 2022 Datacenter",
    "edition": "ServerDatacenter",
    "server": True,
}
GIB = 1 << 30


OF_AN_IGNITION = [check for check in IDS if check not in (CLUSTER_CHECK, SKEW_CHECK)]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_PATIENCE_SECONDS", 0.0)


def windows(**other: Any) -> dict[str, Any]:
    return {"windows_version": WINDOWS | other}


def test_a_machine_that_is_fit(machine: Machine) -> None:
    answer = machine.wmcb("preflight", *machine.node)
    assert (answer.code, answer.err) == (0, "")
    *checks, last = answer.out.splitlines()
    assert [line.split()[0] for line in checks] == OF_AN_IGNITION
    assert {line.split()[1] for line in checks} == {"ok"}
    assert last == "0 errors, 0 warnings: this machine is fit to become a node"


def test_for_programs(machine: Machine) -> None:
    answer = machine.wmcb("preflight", *machine.node, "--output", "json")
    document = answer.document
    assert (document["format"], document["passed"]) == (1, True)
    assert [check["id"] for check in document["checks"]] == OF_AN_IGNITION
    assert {frozenset(check) for check in document["checks"]} == {frozenset({"id", "verdict", "text"})}


def test_the_machine_alone(machine: Machine) -> None:
    """Before there is any document: as a check of an image, say."""
    verdicts = verdicts_of(machine, "preflight")
    assert verdicts.pop("kubelet") == verdicts.pop("ignition") == "not checked"
    assert set(verdicts.values()) == {"ok"}


def verdicts_of(machine: Machine, *words: str) -> dict[str, str]:
    answer = machine.wmcb(*words, "--output", "json")
    return {check["id"]: check["verdict"] for check in answer.document["checks"]}


OPEN_ROOTS = {
    "of which users may remove anything": ("O:BAD:P(A;OICI;FA;;;BA)(A;;0x40;;;WD)", "warning"),
    "whose rights users may change": ("O:BAD:P(A;OICI;FA;;;BA)(A;;WD;;;BU)", "warning"),
    "that users may own": ("O:BAD:P(A;OICI;FA;;;BA)(A;;WO;;;AU)", "warning"),
    "without any rights": ("O:BAD:NO_ACCESS_CONTROL", "warning"),
    "where users may make folders": (
        "O:BAD:P(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)(A;OICIIO;FA;;;CO)(A;OICIIO;0x1301bf;;;AU)",
        "ok",
    ),
}


@pytest.mark.parametrize("opened, verdict", OPEN_ROOTS.values(), ids=OPEN_ROOTS)
def test_a_drive_of_which_users_can_take_folders_away(machine: Machine, opened: str, verdict: str) -> None:
    root = PureWindowsPath("C:\\")
    machine.host.files.set_descriptor(root, SecurityDescriptor.parse(opened))
    assert verdicts_of(machine, "preflight", *machine.node)["drive-rights"] == verdict
    answer = machine.wmcb(*machine.node)
    assert answer.code == 0
    assert (r"drive-rights: users may rename or remove what is in C:\," in answer.err) == (
        verdict == "warning"
    )
    assert machine.host.files.descriptor(root) == SecurityDescriptor.parse(opened)


class Unfit(NamedTuple):
    name: str
    check: str
    says: str
    facts: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    prepare: Callable[[Machine], object] = lambda _: None


def disable_containerd(machine: Machine) -> None:
    machine.host.services.change(replace(CONTAINERD, start=StartType.DISABLED))


def remove_containerd(machine: Machine) -> None:
    machine.host.services.delete("containerd")


def start_containerd(machine: Machine) -> None:
    machine.host.services.start("containerd")


STRANGER = {"address": "192.0.2.10", "pid": 4711}

ERRORS = [
    Unfit("not an administrator", "administrator", "from an elevated prompt", {"administrator": False}),
    Unfit("Windows Server 2016", "windows-build", "(build 17763) or later is needed", windows(build=14393)),
    Unfit("an ARM machine", "architecture", "for amd64 (x86-64) machines alone", {"architecture": "arm64"}),
    Unfit("one GiB of memory", "memory", "1.0 GiB: Windows itself needs 2 GiB", {"memory": GIB}),
    Unfit(
        "a full disk", "disk", "C: has 1000 MiB free; 1 MiB are to be written, and 1.0 GiB have to be left",
        {"disk": {"total": 64 * GIB, "free": 1000 << 20}},
    ),
    Unfit(
        "no containerd", "containerd-service",
        "there is no service containerd, which the kubelet needs",
        prepare=remove_containerd,
    ),
    Unfit(
        "containerd disabled", "containerd-service", "set its start type to automatic",
        prepare=disable_containerd,
    ),
    Unfit(
        "a containerd that does not answer", "containerd-pipe",
        r"service containerd runs, but nobody serves \\.\pipe\containerd-containerd",
        {"pipes": []}, start_containerd,
    ),
    Unfit(
        "a stranger at the kubelet's port", "port-10250", "port 10250 is held by process 4711; stop that",
        {"listening_ports": [STRANGER | {"port": 10250}]},
    ),
    Unfit(
        "a stranger at its health port", "port-10248", "port 10248 is held by process 4711; stop that",
        {"listening_ports": [STRANGER | {"port": 10248}]},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.name)
def test_an_unfit_machine_is_told_apart_and_left_alone(case: Unfit, machine: Machine) -> None:
    case.prepare(machine)
    machine.facts(**case.facts)
    before = machine.picture()
    answer = machine.wmcb("preflight", *machine.node)
    assert answer.code == 3
    told = next(line for line in answer.out.splitlines() if line.startswith(case.check))
    assert told.split()[1] == "error"
    assert case.says in told
    refused = machine.wmcb(*machine.node)
    assert (refused.code, refused.out) == (3, "")
    assert len(refused.error_lines) == 1
    assert refused.err.startswith(f"wmcb: {case.check}: ")
    assert case.says in refused.err
    assert machine.picture() == before


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.name)
def test_a_plan_shows_what_a_run_would_refuse(case: Unfit, machine: Machine) -> None:
    case.prepare(machine)
    machine.facts(**case.facts)
    for words in (("plan", *machine.node), (*machine.node, "--dry-run")):
        answer = machine.wmcb(*words)
        assert (answer.code, answer.err) == (0, "")
        lines = answer.out.splitlines()
        below = lines[lines.index("Of this machine, which a run would refuse:") + 1]
        assert below.startswith(f"  error    {case.check}: ")
        assert case.says in below
    (check,) = machine.wmcb("plan", *machine.node, "--output", "json").document["checks"]
    assert (check["id"], check["verdict"]) == (case.check, "error")
    assert case.says in check["text"]


@pytest.mark.parametrize("case", ERRORS, ids=lambda case: case.name)
def test_what_is_known_can_be_ignored(case: Unfit, machine: Machine) -> None:
    case.prepare(machine)
    machine.facts(**case.facts)
    for ignored in (case.check, f"clock,{case.check}", "all"):
        answer = machine.wmcb("preflight", *machine.node, "--ignore-preflight-errors", ignored)
        assert answer.code == 0
        told = next(line for line in answer.out.splitlines() if line.startswith(case.check))
        assert told.split()[1] == "warning"


def test_what_brings_containerd_is_told_for_this_machine(machine: Machine) -> None:
    remove_containerd(machine)
    told = next(line for line in machine.wmcb("preflight").out.splitlines() if "no service" in line)
    assert (
        f"; {machine.called} prepare --node-config containerd.yaml, of packaging/profiles,"
        " installs containerd; --runtime-service NAME is"
    ) in told


def test_several_faults_are_told_at_once(machine: Machine) -> None:
    machine.facts(memory=GIB, architecture="arm64")
    remove_containerd(machine)
    refused = machine.wmcb(*machine.node)
    assert refused.code == 3
    assert [line.split(": ")[1] for line in refused.error_lines] == [
        "architecture", "memory", "containerd-service"
    ]  # fmt: skip


def test_what_was_ignored_is_a_warning_of_the_run(machine: Machine) -> None:
    machine.facts(memory=GIB)
    answer = machine.wmcb(*machine.node, "--ignore-preflight-errors=memory")
    assert answer.code == 0
    assert answer.err.startswith("wmcb: warning: memory: 1.0 GiB: ")


def want_reboot(machine: Machine) -> None:
    key = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending"
    machine.host.registry.write(key, "x", RegistryValue(RegistryKind.NUMBER, 1))


def have_time_service(machine: Machine) -> None:
    machine.host.services.create(ServiceDefinition("W32Time", (r"C:\Windows\system32\svchost.exe",)))


WARNINGS = [
    Unfit("Windows 11", "windows-build", "Windows Server alone", windows(server=False, build=26100)),
    Unfit("little memory", "memory", "3.0 GiB: after what Windows needs little is left", {"memory": 3 * GIB}),
    Unfit("an idle clock", "time-service", "W32Time does not run", {}, have_time_service),
    Unfit("a reboot pending", "reboot-pending", "Windows wants to start anew", {}, want_reboot),
]  # fmt: skip


@pytest.mark.parametrize("case", WARNINGS, ids=lambda case: case.name)
def test_what_may_do_is_a_warning(case: Unfit, machine: Machine) -> None:
    case.prepare(machine)
    machine.facts(**case.facts)
    answer = machine.wmcb("preflight", *machine.node)
    assert answer.code == 0
    told = next(line for line in answer.out.splitlines() if line.startswith(case.check))
    assert told.split()[1] == "warning"
    assert case.says in told
    planned = machine.wmcb("plan", *machine.node)
    assert f"Of this machine:\n  warning  {case.check}: " in planned.out
    made = machine.wmcb(*machine.node)
    assert made.code == 0
    assert f"wmcb: warning: {case.check}: " in made.err


@pytest.mark.parametrize("case", WARNINGS, ids=lambda case: case.name)
def test_a_warning_is_told_once(case: Unfit, machine: Machine) -> None:
    """And later to whoever asks for it, or when it is another."""
    case.prepare(machine)
    machine.facts(**case.facts)
    warning = f"wmcb: warning: {case.check}: "
    assert warning in machine.wmcb(*machine.node).err
    assert machine.wmcb(*machine.node).err == ""
    assert warning in machine.wmcb(*machine.node, "-v").err
    assert case.says in machine.wmcb("plan", *machine.node).out
    machine.facts(memory=(5 << 30) // 2, windows_version=WINDOWS)
    assert "wmcb: warning: memory: 2.5 GiB" in machine.wmcb(*machine.node).err


def test_a_warning_of_a_run_that_was_refused_is_told_again(machine: Machine) -> None:
    machine.facts(memory=3 * GIB, architecture="arm64")
    for _ in range(2):
        refused = machine.wmcb(*machine.node)
        assert refused.code == 3
        assert "wmcb: warning: memory: 3.0 GiB" in refused.err


def test_the_pipe_of_a_stopped_containerd_is_not_missed(machine: Machine) -> None:
    """Windows starts it when the kubelet starts."""
    machine.facts(pipes=[])
    assert verdicts_of(machine, "preflight")["containerd-pipe"] == "not checked"


def test_of_a_containerd_that_is_missing_no_pipe_is_told(bare: Machine) -> None:
    verdicts = verdicts_of(bare, "preflight")
    assert (verdicts["containerd-service"], verdicts["containerd-pipe"]) == ("error", "not checked")


@pytest.mark.skipif(sys.platform == "win32", reason="there every program is for Windows")
def test_what_a_sandbox_can_run_is_told_for_what_it_is(machine: Machine) -> None:
    words = ("--kubelet", machine.give("kubelet.exe", "#!/bin/sh\n"), "--kubelet-version", "1.31")
    (line,) = (
        line for line in machine.wmcb("preflight", *words).out.splitlines() if line.startswith("kubelet ")
    )
    assert line.endswith("a program of this system, Kubernetes 1.31")


def test_a_containerd_that_comes_up_is_waited_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    start_containerd(machine)
    machine.facts(pipes=[])
    monkeypatch.setattr(checks, "_PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(SandboxClock, "sleep", lambda *_: machine.facts(pipes=["containerd-containerd"]))
    assert verdicts_of(machine, "preflight")["containerd-pipe"] == "ok"


def test_without_a_runtime_service_a_missing_pipe_is_a_warning(bare: Machine) -> None:
    bare.facts(pipes=[])
    verdicts = verdicts_of(bare, "preflight", "--runtime-service", "none")
    assert (verdicts["containerd-service"], verdicts["containerd-pipe"]) == ("ok", "warning")


def test_the_ports_of_the_kubelet_that_is_there_are_its_own(machine: Machine) -> None:
    host = machine.host
    machine.put("C:\\k\\kubelet.exe", program())
    host.services.create(ServiceDefinition("kubelet", ("C:\\k\\kubelet.exe",)))
    host.services.start("kubelet")
    pid = host.services.status("kubelet").pid
    machine.facts(listening_ports=[{"address": "::", "port": 10250, "pid": pid}])
    assert verdicts_of(machine, "preflight")["port-10250"] == "ok"


def with_kubelet(configuration: dict[str, Any], *flags: str) -> str:
    """A small worker's Ignition."""
    start = " ".join(["/usr/bin/kubelet", "--config=/etc/kubernetes/kubelet.conf", *flags])
    document = quote(
        json.dumps(
            {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"} | configuration
        )
    )
    return json.dumps(
        {
            "ignition": {"version": "3.2.0"},
            "storage": {
                "files": [
                    {"path": "/etc/kubernetes/kubelet.conf", "contents": {"source": f"data:,{document}"}}
                ]
            },
            "systemd": {
                "units": [{"name": "kubelet.service", "contents": f"[Service]\nExecStart={start}\n"}]
            },
        }
    )


class Port(NamedTuple):
    name: str
    configuration: dict[str, Any]
    taken: int
    check: str
    verdict: str


PORTS = [
    Port("the usual one, not configured", {"port": 10255}, 10250, "port-10250", "ok"),
    Port("the configured one", {"port": 10255}, 10255, "port-10250", "error"),
    Port("the configured health port", {"healthzPort": 11248}, 11248, "port-10248", "error"),
    Port("the usual health port, not configured", {"healthzPort": 11248}, 10248, "port-10248", "ok"),
    Port("a health port that is turned off", {"healthzPort": 0}, 10248, "port-10248", "not checked"),
]  # fmt: skip


@pytest.mark.parametrize("case", PORTS, ids=lambda case: case.name)
def test_the_ports_are_those_that_the_configuration_says(case: Port, machine: Machine) -> None:
    ignition = machine.give("worker.ign", with_kubelet(case.configuration))
    machine.facts(listening_ports=[STRANGER | {"port": case.taken}])
    verdicts = verdicts_of(machine, "preflight", "--ignition", ignition)
    assert verdicts[case.check] == case.verdict


def test_a_file_of_the_same_size_needs_no_room(machine: Machine) -> None:
    """A node that is as wanted is not refused for a full disk."""
    assert machine.wmcb(*machine.node).code == 0
    machine.facts(disk={"total": 64 * GIB, "free": 1 << 20})
    assert verdicts_of(machine, "preflight", *machine.node)["disk"] == "warning"
    assert machine.wmcb(*machine.node).code == 0


def test_a_drive_that_is_not_there(machine: Machine) -> None:
    answer = machine.wmcb("preflight", *machine.node, "--install-dir", "D:\\k")
    assert answer.code == 3
    assert "there is no drive D:" in answer.out


@pytest.mark.parametrize(
    ("year", "says"),
    [(2020, "set the machine's clock right"), (2200, "was valid until 2126")],
)
def test_a_clock_that_no_certificate_goes_by(
    year: int, says: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SandboxClock, "now", lambda _: datetime(year, 1, 1, tzinfo=UTC).timestamp())
    answer = machine.wmcb("preflight", *machine.node)
    assert answer.code == 3
    told = next(line for line in answer.out.splitlines() if line.startswith("clock"))
    assert told.split()[1:3] == ["error", f"{year}-01-01"]
    assert says in told


DOCUMENTS = [
    ("kubelet", ("--kubelet", "{arm}"), "it is a program for ARM64; one for x86-64 is needed"),
    ("kubelet", ("--kubelet", "{nowhere}"), "there is no such file"),
    ("ignition", ("--ignition", "{nowhere}"), "there is no such file"),
    ("ignition", ("--ignition", "{arm}"), "it is a Windows program"),
]


@pytest.mark.parametrize(("check", "words", "says"), DOCUMENTS)
def test_what_is_given_is_checked_too(
    check: str, words: tuple[str, ...], says: str, machine: Machine
) -> None:
    names = {"arm": machine.give("arm.exe", program(0xAA64)), "nowhere": str(machine.folder / "nowhere")}
    given = [word.format(**names) for word in words]
    answer = machine.wmcb("preflight", *given, "--kubelet-version=1.31")
    assert answer.code == 3
    told = next(line for line in answer.out.splitlines() if line.startswith(check))
    assert told.split()[1] == "error"
    assert says in told


@pytest.mark.parametrize("option", ["--kubelet", "--ignition"])
def test_what_is_not_there_cannot_be_ignored(option: str, machine: Machine) -> None:
    usual = dict(zip(machine.node[::2], machine.node[1::2], strict=True)) | {option: "nowhere"}
    words = (*(word for pair in usual.items() for word in pair), "--ignore-preflight-errors", "all")
    assert machine.wmcb(*words).code == machine.wmcb("plan", *words).code == 2
    assert machine.wmcb("preflight", *words).code == 3


def test_a_program_that_is_none_is_installed_if_somebody_insists(machine: Machine) -> None:
    strange = machine.give("strange.exe", program(0xAA64))
    words = ("--ignition", str(WORKER), "--kubelet", strange, "--kubelet-version=1.31")
    assert machine.wmcb(*words).code == 2
    assert verdicts_of(machine, "preflight", *words)["kubelet"] == "error"
    ignored = verdicts_of(machine, "preflight", *words, "--ignore-preflight-errors", "kubelet")
    assert ignored["kubelet"] == "warning"
    assert machine.wmcb(*words, "--ignore-preflight-errors", "kubelet").code == 0


def test_an_unknown_check_is_not_ignored(machine: Machine) -> None:
    answer = machine.wmcb("preflight", "--ignore-preflight-errors", "memroy")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "wmcb: --ignore-preflight-errors memroy: there is no check memroy; did you mean memory?\n"
    )
    (line,) = machine.wmcb("preflight", "--ignore-preflight-errors", "bogus").error_lines
    assert line.startswith(
        "wmcb: --ignore-preflight-errors bogus: there is no check bogus; use all, or of these: "
    )
    assert all(f" {check}" in line for check in IDS)


@pytest.mark.parametrize("given", ["all", "ALL", "All,all"])
def test_all_checks_are_ignored_in_any_letters(machine: Machine, given: str) -> None:
    assert machine.wmcb("preflight", "--ignore-preflight-errors", given).code == 0


@pytest.mark.parametrize("given", ["all,clock", "clock,ALL"])
def test_all_checks_and_one_more_are_not_ignored(machine: Machine, given: str) -> None:
    answer = machine.wmcb("preflight", "--ignore-preflight-errors", given)
    fault = "all ignores every check: name it alone, or leave it out"
    assert (answer.code, answer.error_lines) == (2, [f"wmcb: --ignore-preflight-errors {given}: {fault}"])
