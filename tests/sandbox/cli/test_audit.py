"""`wmcb audit`: a node made here has no failure; on one made by hand it finds what is wrong, and mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from agent.cli.streams import many
from agent.engine import planning, repairing, run
from agent.host.errors import InUse, NotFound
from agent.host.port import Host, RegistryKind, RegistryValue
from agent.host.protection import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    PROGRAM_DIRECTORY,
    PROGRAM_FILE,
    granted_to_others,
)
from agent.host.sandbox.files import SandboxFiles
from agent.host.sddl import FILE_EXECUTE, FILE_READ, SecurityDescriptor
from agent.host.services import ServiceDefinition
from sandbox.cli.given import Machine, program

SOMEBODY = "S-1-5-21-1-2-3-1001"
AS_BELOW_C = SecurityDescriptor.parse(
    f"O:{SOMEBODY}G:BAD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;0x1200a9;;;BU)(A;OICIID;0x1301bf;;;AU)"
)
"""What a folder made by hand gets of C:\\, whose maker owns it: whoever is logged on may change all in it."""
ROOT = (
    "O:SYG:SYD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
    "(A;CI;LC;;;BU)(A;CIIO;DC;;;BU)(A;OICIIO;GA;;;CO)"
)
"""A drive's, as Windows Server makes it."""
CONFIGURATION = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: true}
  x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}
readOnlyPort: 10255
tlsCipherSuites: [TLS_RSA_WITH_3DES_EDE_CBC_SHA]
"""
SCRIPT = r"""$FileContent = Get-Content -Path "/var/lib/kubelet/kubeadm-flags.env"
$global:KubeletArgs = $FileContent.TrimStart('KUBELET_KUBEADM_ARGS=').Trim('"')
$cmd = "C:\k\kubelet.exe $global:KubeletArgs --cert-dir=$env:SYSTEMDRIVE\var\lib\kubelet\pki --config=/var/lib/kubelet/config.yaml --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --hostname-override=somebody --resolv-conf=`"`""
Invoke-Expression $cmd
"""  # noqa: E501 - as the script has it
FILES = {
    r"C:\k\kubelet.exe": program(),
    r"C:\k\StartKubelet.ps1": SCRIPT.encode(),
    r"C:\etc\kubernetes\kubelet.conf": b"apiVersion: v1\nkind: Config\n",
    r"C:\etc\kubernetes\pki\ca.crt": b"a certificate",
    r"C:\var\lib\kubelet\config.yaml": CONFIGURATION.encode(),
    r"C:\var\lib\kubelet\kubeadm-flags.env": b'KUBELET_KUBEADM_ARGS="--node-labels=a=b"\n',
    r"C:\var\lib\kubelet\pki\kubelet-client-2026-11-19-08-00-00.pem": b"a key",
}
KUBEADMS = Path(__file__).parents[2] / "data/kubeadm-join-v1.36/usual/var/lib/kubelet/config.yaml"
NSSM = r"C:\Program Files\nssm\nssm.exe"
PARAMETERS = r"SYSTEM\CurrentControlSet\Services\kubelet\Parameters"


def by_id(document: Any) -> dict[str, Any]:
    return {each["id"]: each for each in document["controls"]}


def failing(machine: Machine, *words: str) -> list[str]:
    answer = machine.wmcb("audit", "--output", "json", *words)
    found = [name for name, each in by_id(answer.document).items() if each["result"] == "fail"]
    assert answer.document["passed"] is not bool(found)
    assert answer.code == (1 if found else 0)
    return found


@pytest.fixture
def by_hand(machine: Machine) -> Host:
    """A node as PrepareNode.ps1 leaves it: C:\\k made by hand, NSSM, a script, no access control at all."""
    host = machine.host
    for path, content in FILES.items():
        place = PureWindowsPath(path)
        for folder in reversed(place.parents[:-1]):
            if host.files.observe(folder) is None:
                host.files.make_directory(folder, AS_BELOW_C)
        host.files.write(place, content, AS_BELOW_C)
    (pki,) = machine.place.rglob("kubelet/pki")
    (pki / "kubelet-client-current.pem").symlink_to("kubelet-client-2026-11-19-08-00-00.pem")
    host.services.create(ServiceDefinition("kubelet", (NSSM,)))
    for name, value in {
        "Application": r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe",
        "AppParameters": r"-ExecutionPolicy Bypass -NoProfile C:\k\StartKubelet.ps1",
    }.items():
        host.registry.write(PARAMETERS, name, RegistryValue(RegistryKind.STRING, value))
    return host


def test_a_node_made_here_has_no_failure(machine: Machine) -> None:
    assert machine.wmcb(*machine.node).code == 0
    answer = machine.wmcb("audit")
    assert answer.code == 0
    assert answer.out.endswith("CIS Kubernetes Benchmark 1.10, worker nodes: 0 failures\n")
    assert "4.2.6   no meaning  iptables' chains are kept: Windows has no iptables\n" in answer.out


def test_parameters_of_an_nssm_that_runs_no_more_are_not_read(machine: Machine) -> None:
    """NSSM leaves them in the registry when the service is given another program."""
    assert machine.wmcb(*machine.node).code == 0
    for name, value in {"Application": NSSM, "AppParameters": r"C:\k\gone.ps1 --anonymous-auth=true"}.items():
        machine.host.registry.write(PARAMETERS, name, RegistryValue(RegistryKind.STRING, value))
    assert failing(machine) == []


def test_without_a_kubelet_there_is_nothing_to_audit(machine: Machine) -> None:
    answer = machine.wmcb("audit")
    assert (answer.code, answer.out) == (1, "")
    assert answer.error_lines[-1] == "wmcb: there is no service kubelet here, so there is no node to audit"


def test_a_node_made_by_hand(machine: Machine, by_hand: Host) -> None:
    del by_hand
    answer = machine.wmcb("audit", "--output", "json")
    found = by_id(answer.document)
    assert {name for name, each in found.items() if each["result"] == "fail"} == {
        *("4.1.1", "4.1.2", "4.1.5", "4.1.6", "4.1.7", "4.1.8", "4.1.9", "4.1.10"),
        *("4.2.1", "4.2.4", "4.2.10", "4.2.12"),
    }
    assert r"C:\k\StartKubelet.ps1 can be changed by others" in found["4.1.1"]["reason"]
    assert r"C:\k can be changed by others" in found["4.1.1"]["reason"]
    assert "kubelet-client-2026-11-19-08-00-00.pem is open to others" in found["4.1.5"]["reason"]
    assert found["4.2.1"]["reason"] == "authentication.anonymous.enabled is true"
    assert found["4.2.7"]["result"] == "manual"
    assert all(each["remedy"] for each in found.values() if each["result"] in ("fail", "manual"))


def test_what_can_be_is_put_right_and_given_back(machine: Machine, by_hand: Host) -> None:
    before = machine.picture()
    assert failing(machine, "--fix") == ["4.2.12"], "which ciphers there are to be is a person's to say"
    configuration = machine.read(r"C:\var\lib\kubelet\config.yaml").decode()
    assert "readOnlyPort: 0\n" in configuration
    assert "clientCAFile: /etc/kubernetes/pki/ca.crt\n" in configuration, "all else stays"
    assert machine.read(r"C:\k\StartKubelet.ps1") == SCRIPT.encode()
    again = machine.wmcb("audit", "--fix")
    assert "(put right just now)" not in again.out
    gone = machine.wmcb("reset")
    assert gone.code == 0
    assert machine.picture() == before
    assert by_hand.services.read("kubelet") is not None
    name = by_hand.facts.host_name().lower()
    assert gone.out.splitlines()[1:] == [
        "  restart the service kubelet: it reads its configuration when it starts",
        f"  the kubelet that was here before wmcb stays, as the Node {name}",
    ], "and nobody is told to delete the Node of a kubelet that runs"


def test_a_library_beside_what_runs_is_closed_too(machine: Machine, by_hand: Host) -> None:
    library = PureWindowsPath(r"C:\k\version.dll")
    by_hand.files.write(library, b"planted", AS_BELOW_C)
    reason = by_id(machine.wmcb("audit", "--output", "json").document)["4.1.1"]["reason"]
    assert f"{library} can be changed by others" in reason
    assert "4.1.1" not in failing(machine, "--fix")
    assert by_hand.files.descriptor(library) == PROGRAM_FILE


def test_what_else_lies_in_the_folder_stays_as_it_is(machine: Machine, by_hand: Host) -> None:
    service = SecurityDescriptor.parse("O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;S-1-5-80-1-2-3-4-5)")
    data = PureWindowsPath(r"C:\k\data")
    by_hand.files.make_directory(data, AS_BELOW_C)
    by_hand.files.write(data / "of-its-service.mdf", b"", service)
    assert "4.1.1" not in failing(machine, "--fix")
    assert by_hand.files.descriptor(PureWindowsPath(r"C:\k")) == PROGRAM_DIRECTORY
    assert by_hand.files.descriptor(data) == AS_BELOW_C
    assert by_hand.files.descriptor(data / "of-its-service.mdf") == service


def at_root(machine: Machine, rights: str) -> PureWindowsPath:
    """A machine whose kubelet lies in C:\\ itself."""
    path = PureWindowsPath(r"C:\kubelet.exe")
    machine.put(str(path), program())
    machine.host.files.set_descriptor(PureWindowsPath("C:\\"), SecurityDescriptor.parse(rights))
    machine.host.services.create(ServiceDefinition("kubelet", (str(path), "--kubeconfig=C:\\c")))
    return path


def test_a_drives_root_as_windows_makes_it_is_no_fault(machine: Machine) -> None:
    """Users make folders there, and exchange nothing."""
    at_root(machine, ROOT)
    assert "4.1.1" not in failing(machine)


@pytest.mark.parametrize("right", ["0x1301bf", "DC", "DT", "WD"], ids=["change", "add", "remove", "rights"])
def test_a_drives_root_that_users_could_exchange_files_in_is_its_owners_to_close(
    machine: Machine, right: str
) -> None:
    path = at_root(machine, f"{ROOT}(A;OICI;{right};;;AU)")
    machine.host.files.set_descriptor(path, AS_BELOW_C)
    private = PureWindowsPath(r"C:\private\of-joe.txt")
    machine.put(str(private), b"")
    machine.host.files.set_descriptor(private, AS_BELOW_C)
    assert "directory" not in machine.wmcb("audit", "--fix", "--dry-run").out
    told = machine.wmcb("audit", "--fix").out.splitlines()
    why = r"--fix leaves it to you: C:\ can be changed by others; "
    assert [line for line in told if line.startswith(f"  4.1.1 remains, {why}")]
    assert machine.host.files.descriptor(path) == PROGRAM_FILE
    assert machine.host.files.descriptor(private) == AS_BELOW_C


@pytest.mark.parametrize("folder", [r"C:\ProgramData", r"C:\Users\somebody"])
def test_a_folder_of_windows_own_is_not_closed(machine: Machine, folder: str) -> None:
    place = PureWindowsPath(folder)
    machine.put(rf"{folder}\kubelet.exe", program())
    machine.host.files.set_descriptor(place, AS_BELOW_C)
    machine.host.services.create(ServiceDefinition("kubelet", (rf"{folder}\kubelet.exe",)))
    told = machine.wmcb("audit", "--fix").out.splitlines()
    why = f"--fix leaves it to you: {folder} can be changed by others; "
    assert [line for line in told if line.startswith(f"  4.1.1 remains, {why}")]
    assert machine.host.files.descriptor(place) == AS_BELOW_C


def test_a_link_among_the_programs_keeps_nothing_else_from_being_put_right(
    machine: Machine, by_hand: Host
) -> None:
    (program,) = machine.place.rglob("k/kubelet.exe")
    program.rename(program.with_name("kubelet-1.36.exe"))
    program.symlink_to("kubelet-1.36.exe")
    assert "4.1.1" in failing(machine, "--fix")
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert found["4.1.1"]["reason"].startswith(
        r"cannot ask for the protection of C:\k\kubelet.exe: there is a link"
    )
    folder = by_hand.files.descriptor(PureWindowsPath(r"C:\k"))
    assert not granted_to_others(folder, "") & ~(FILE_READ | FILE_EXECUTE)


def test_a_node_that_was_put_right_can_become_one_of_wmcbs(machine: Machine, by_hand: Host) -> None:
    before = machine.picture()
    machine.wmcb("audit", "--fix")
    answer = machine.wmcb(*machine.node)
    assert answer.code == 0, answer.err
    assert "kubelet.exe" in str(by_hand.services.read("kubelet"))
    assert machine.wmcb("reset").code == 0
    after = machine.picture()
    assert {name for name, what in after.items() if before.get(name) != what} <= {"service containerd"}
    assert before.keys() == after.keys()


def test_a_fix_tells_what_it_did(machine: Machine, by_hand: Host) -> None:
    del by_hand
    answer = machine.wmcb("audit", "--fix")
    assert answer.code == 1
    assert "restart the service kubelet: it reads its configuration when it starts" in answer.err
    assert "4.2.1   pass        anonymous requests are refused:" in answer.out
    assert "authentication.anonymous.enabled is false (put right just now)\n" in answer.out


def test_a_fix_tells_at_its_end_how_many_it_put_right_and_what_is_left_to_a_person(
    machine: Machine, by_hand: Host
) -> None:
    del by_hand
    assert machine.wmcb("audit", "--fix").out.splitlines()[-3:] == [
        "CIS Kubernetes Benchmark 1.10, worker nodes: 11 put right, 1 failure remains",
        "  4.2.12 remains, --fix leaves it to you: TLS_RSA_WITH_3DES_EDE_CBC_SHA is weak; "
        "take what is weak out of tlsCipherSuites, and restart the kubelet",
        "  for a person to judge: 4.2.7, 4.2.9",
    ]


def test_a_fix_is_foreseen_and_does_nothing_then(machine: Machine, by_hand: Host) -> None:
    del by_hand
    before = machine.picture()
    answer = machine.wmcb("audit", "--fix", "--dry-run")
    assert answer.code == 0
    shown = answer.out.splitlines()
    assert r"~ change    file C:\var\lib\kubelet\config.yaml" in shown
    assert "  restart the service kubelet: it reads its configuration when it starts" in shown
    document = machine.wmcb("audit", "--fix", "--dry-run", "--output=json").document
    assert machine.picture() == before
    machine.wmcb("audit", "--fix")
    made = machine.wmcb("reset", "--dry-run", "--output=json").document
    assert len(made["changes"]) == len(document["changes"])


def test_a_fix_of_what_was_made_here_is_foreseen_too(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    nothing = "nothing to do: there is nothing that --fix could repair\n"
    assert machine.wmcb("audit", "--fix", "--dry-run").out == nothing
    machine.host.files.set_descriptor(PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf"), AS_BELOW_C)
    (change,) = machine.wmcb("audit", "--fix", "--dry-run", "--output=json").document["changes"]
    assert (change["action"], change["resource"]) == ("change", ["file", r"C:\etc\kubernetes\kubelet.conf"])


def test_without_a_fix_there_is_nothing_to_foresee(machine: Machine) -> None:
    answer = machine.wmcb("audit", "--dry-run")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "wmcb: --dry-run goes with --fix: without that, nothing is changed\n"


def test_what_remains_is_told_with_no_more_than_is_known(
    machine: Machine, by_hand: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that keeps rights of its own, as Wine's."""
    del by_hand
    monkeypatch.setattr(SandboxFiles, "set_descriptor", lambda *_: None)
    kept = r"this machine keeps what was set in its own way: C:\etc\kubernetes\pki\ca.crt is open to others"
    told = machine.wmcb("audit", "--fix").out.splitlines()
    assert [line for line in told if line.startswith(f"  4.1.7 remains, {kept}; ")]
    # By another program, just after it had been put right.
    monkeypatch.setattr(repairing, "repair", lambda *_: repairing.Repaired())
    monkeypatch.setattr(run, "make_so", lambda *_, **__: run.Done(planning.Plan((), (), (), ())))
    again = "it was found again after it had been put right"
    told = machine.wmcb("audit", "--fix").out.splitlines()
    assert [line for line in told if line.startswith(f"  4.1.7 remains, {again}: ")]


def test_what_could_not_be_mended_is_told_with_the_reason(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.wmcb(*machine.node)
    path = PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf")
    machine.host.files.set_descriptor(path, AS_BELOW_C)

    protect = SandboxFiles.set_descriptor

    def refuse(files: SandboxFiles, place: PureWindowsPath, descriptor: SecurityDescriptor) -> None:
        if place == path:
            raise InUse("protect", str(path), 32)
        protect(files, place, descriptor)

    monkeypatch.setattr(SandboxFiles, "set_descriptor", refuse)
    told = machine.wmcb("audit", "--fix").out.splitlines()
    why = rf"file {path}: cannot protect {path}: another program has it open (Windows error 32)"
    assert [line for line in told if line.startswith(f"  4.1.9 remains, {why}: ")]


def test_a_fix_that_had_nothing_to_do(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    told = machine.wmcb("audit", "--fix").out.splitlines()[-1]
    assert told == "CIS Kubernetes Benchmark 1.10, worker nodes: 0 put right, 0 failures remain"


def test_drift_of_what_was_made_here_is_made_right_again(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    place = PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf")
    machine.host.files.set_descriptor(place, AS_BELOW_C)
    assert failing(machine) == ["4.1.9", "4.1.10"]
    assert machine.wmcb("status").code == 1
    assert failing(machine, "--fix") == []
    assert machine.wmcb("status").code == 0


KUBELETS = r"C:\etc\kubernetes\kubelet.conf"
DRIFTED: dict[str, bytes | None] = {
    "a setting is changed": b"""
kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
readOnlyPort: 10255
authentication: {x509: {clientCAFile: 'C:/etc/kubernetes/kubelet-ca.crt'}}
rotateCertificates: true
""",
    "it cannot be read": b"apiVersion: [",
    "it is gone": None,
}


def drift_to(machine: Machine, content: bytes | None) -> None:
    if content is None:
        machine.host.files.remove(PureWindowsPath(KUBELETS))
    else:
        machine.host.files.write(PureWindowsPath(KUBELETS), content, PRIVATE_FILE)


@pytest.mark.parametrize("content", DRIFTED.values(), ids=DRIFTED)
def test_a_configuration_that_has_drifted_is_repaired_from_its_copy(
    machine: Machine, content: bytes | None
) -> None:
    """The resident service keeps copies of small files."""
    machine.wmcb(*machine.node)
    repairing.put_by(machine.host)
    drift_to(machine, content)
    assert failing(machine)
    assert failing(machine, "--fix") == []
    assert machine.wmcb("status").code == 0


@pytest.mark.parametrize("content", DRIFTED.values(), ids=DRIFTED)
def test_a_configuration_of_which_no_copy_is_kept_is_repaired_by_the_command_that_is_named(
    machine: Machine, content: bytes | None
) -> None:
    machine.wmcb(*machine.node)
    drift_to(machine, content)
    wrong = failing(machine)
    command = f"wmcb {' '.join(machine.node)} --sandbox {machine.place}"
    named = f"run this again to repair that: {command}"
    found = by_id(machine.wmcb("audit", "--output=json").document)
    assert {found[name]["remedy"] for name in wrong} == {named}
    told = machine.wmcb("audit").out
    assert told.endswith(f"worker nodes: {many(len(wrong), 'failure')}\n"), "none that --fix repairs"
    nothing, *remain = machine.wmcb("audit", "--fix", "--dry-run").out.splitlines()
    assert nothing == "nothing to do: there is nothing that --fix could repair"
    assert len(remain) == len(wrong)
    assert all(line.endswith(named) for line in remain)
    told = machine.wmcb("audit", "--fix").out
    assert f"  {wrong[0]} remains, --fix leaves it to you: {found[wrong[0]]['reason']}; {named}\n" in told
    assert machine.wmcb(*machine.node).code == 0
    assert failing(machine) == []


def test_a_link_in_place_of_the_authority_is_no_drift_of_the_configuration(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    authority = PureWindowsPath(r"C:\etc\kubernetes\kubelet-ca.crt")
    place = machine.host.files.native_path(authority)
    place.unlink()
    place.symlink_to("kubelet.conf")
    assert machine.wmcb("audit").out.endswith("worker nodes: 2 failures\n"), "none that --fix repairs"
    nothing, *left = machine.wmcb("audit", "--fix", "--dry-run").out.splitlines()
    assert nothing == "nothing to do: there is nothing that --fix could repair"
    link = f"cannot ask for the protection of {authority}: there is a link"
    assert [line.partition(" on the way")[0] for line in left] == [
        f"4.1.7 remains: {link} or junction",
        f"4.1.8 remains: {link} or junction",
    ]


STATE = PureWindowsPath(r"C:\ProgramData\wmcb")


def plant(machine: Machine) -> None:
    machine.host.files.set_descriptor(STATE, AS_BELOW_C)


def write_as_newer(machine: Machine) -> None:
    for name in ("node.json", "node.json.copy"):
        machine.host.files.write(STATE / name, b'{"format": 99}', PRIVATE_FILE)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (plant, rf"{STATE} was made by a user, so nothing in it is believed"),
        (write_as_newer, rf"{STATE}\node.json was written by a newer wmcb (format 99, known: "),
    ],
    ids=["a user's folder", "a newer wmcb's"],
)
def test_a_memory_that_cannot_be_used_is_reported_and_nothing_promised(
    machine: Machine, change: Callable[[Machine], None], told: str
) -> None:
    machine.wmcb(*machine.node)
    machine.host.files.set_descriptor(PureWindowsPath(KUBELETS), AS_BELOW_C)
    change(machine)
    answer = machine.wmcb("audit")
    assert answer.err.startswith(f"wmcb: warning: {told}")
    assert answer.out.endswith("worker nodes: 2 failures\n"), "none that --fix repairs"
    looked = machine.wmcb("audit", "--fix", "--dry-run")
    assert (looked.code, looked.out) == (1, "")
    assert looked.err.startswith(f"wmcb: {told}")
    assert len(looked.error_lines) == 1


@pytest.mark.parametrize(
    ("line", "control", "reason"),
    [
        ("--anonymous-auth=true", "4.2.1", "--anonymous-auth is true"),
        ("--anonymous-auth", "4.2.1", "--anonymous-auth is true"),
        ("--authorization-mode=AlwaysAllow", "4.2.2", "--authorization-mode is AlwaysAllow"),
        ("--read-only-port 10255", "4.2.4", "--read-only-port is 10255"),
        ("--streaming-connection-idle-timeout=0s", "4.2.5", "--streaming-connection-idle-timeout is 0s"),
        ("--rotate-certificates=false", "4.2.10", "--rotate-certificates is false"),
        ("--feature-gates=RotateKubeletServerCertificate=false", "4.2.11", "a feature gate keeps it from"),
        ("--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA", "4.2.12", "TLS_RSA_WITH_RC4_128_SHA is weak"),
    ],
)
def test_a_flag_has_the_say(machine: Machine, line: str, control: str, reason: str) -> None:
    """And is nothing that a fix could change: it stands in somebody's command line."""
    machine.put(
        r"C:\k\config.yaml", b"authentication: {anonymous: {enabled: false}}\nrotateCertificates: true\n"
    )
    words = ("C:\\k\\kubelet.exe", r"--config=C:\k\config.yaml", *line.split())
    machine.host.services.create(ServiceDefinition("kubelet", words))
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert found[control]["result"] == "fail"
    assert reason in found[control]["reason"]
    assert control in failing(machine, "--fix")


LISTED = "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA"


@pytest.mark.parametrize(
    ("words", "control", "reason"),
    [
        (LISTED, "4.2.12", "TLS_RSA_WITH_RC4_128_SHA is weak"),
        (f"'{LISTED}','--v=2'", "4.2.12", "TLS_RSA_WITH_RC4_128_SHA is weak"),
        (
            "--feature-gates=A=true,RotateKubeletServerCertificate=false",
            "4.2.11",
            "a feature gate keeps it from",
        ),
        ("--register-node --read-only-port=10255", "4.2.4", "--read-only-port is 10255"),
        ("--register-node `\n  --read-only-port=10255", "4.2.4", "--read-only-port is 10255"),
        ("--anonymous-auth `\n  --v=2", "4.2.1", "--anonymous-auth is true"),
        ("@(--authorization-mode=AlwaysAllow, --v=2)", "4.2.2", "--authorization-mode is AlwaysAllow"),
        ("--authorization-mode=AlwaysAllow,--v=2", "4.2.2", "--authorization-mode is AlwaysAllow"),
        ("--v=2 --read-only-port  10255", "4.2.4", "--read-only-port is 10255"),
    ],
)
def test_flags_of_a_script(machine: Machine, words: str, control: str, reason: str) -> None:
    script = rf"C:\k\kubelet.exe --config=C:\k\config.yaml {words}"
    machine.put(r"C:\k\start.ps1", script.encode())
    machine.put(r"C:\k\config.yaml", b"rotateCertificates: true\n")
    machine.host.services.create(ServiceDefinition("kubelet", (NSSM, r"C:\k\start.ps1")))
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert reason in found[control]["reason"]
    assert found["4.2.10"]["result"] == "pass", "and the configuration is read"


def test_flags_that_kubeadm_wrote(machine: Machine, by_hand: Host) -> None:
    flags = f'KUBELET_KUBEADM_ARGS="--register-with-taints=a=b:NoSchedule {LISTED}"\n'
    by_hand.files.write(PureWindowsPath(r"C:\var\lib\kubelet\kubeadm-flags.env"), flags.encode(), AS_BELOW_C)
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert found["4.2.12"]["reason"] == "TLS_RSA_WITH_RC4_128_SHA is weak"


@pytest.mark.parametrize("span", ["0", "0s", "0h0m0s", "0.0ms", "-0s"])
def test_no_time_by_a_flag_is_for_ever(machine: Machine, span: str) -> None:
    words = ("C:\\k\\kubelet.exe", f"--streaming-connection-idle-timeout={span}")
    machine.host.services.create(ServiceDefinition("kubelet", words))
    assert "4.2.5" in failing(machine)


def configured(machine: Machine, content: bytes) -> dict[str, Any]:
    """What is found of a kubelet that is told this by its file."""
    machine.put(r"C:\k\config.yaml", content)
    words = (r"C:\k\kubelet.exe", r"--config=C:\k\config.yaml")
    machine.host.services.create(ServiceDefinition("kubelet", words))
    return by_id(machine.wmcb("audit", "--output", "json").document)


@pytest.mark.parametrize("span", ["0s", "0h0m0s", "'0'"])
def test_no_time_in_a_file_is_the_usual_one(machine: Machine, span: str) -> None:
    """So kubeadm writes it."""
    found = configured(machine, f"streamingConnectionIdleTimeout: {span}\n".encode())["4.2.5"]
    told = f"streamingConnectionIdleTimeout is 4h, since {span.strip(chr(39))} in a file stands for that"
    assert (found["result"], found["reason"]) == ("pass", told)


BY_THE_BENCHMARK = (
    *("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    *("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    *("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    *("TLS_RSA_WITH_AES_256_GCM_SHA384", "TLS_RSA_WITH_AES_128_GCM_SHA256"),
)


def test_the_ciphers_that_the_benchmark_names_are_strong(machine: Machine) -> None:
    found = configured(machine, f"tlsCipherSuites: [{', '.join(BY_THE_BENCHMARK)}]\n".encode())["4.2.12"]
    assert (found["result"], found["reason"]) == ("pass", "8 are named, all of them strong")


@pytest.mark.parametrize("weak", ["TLS_RSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_RSA_WITH_RC4_128_SHA"])
def test_others_are_weak(machine: Machine, weak: str) -> None:
    found = configured(machine, f"tlsCipherSuites: [{BY_THE_BENCHMARK[0]}, {weak}]\n".encode())["4.2.12"]
    assert (found["result"], found["reason"]) == ("fail", f"{weak} is weak")


def test_no_mode_in_a_file_is_the_usual_one(machine: Machine) -> None:
    found = configured(machine, b"authorization: {mode: ''}\n")["4.2.2"]
    assert (found["result"], found["reason"]) == (
        "pass",
        "authorization.mode is Webhook, since nothing is said",
    )


def test_a_configuration_of_kubeadms_has_no_fault(machine: Machine) -> None:
    machine.put(r"C:\etc\kubernetes\pki\ca.crt", b"a certificate")
    found = configured(machine, KUBEADMS.read_bytes())
    assert not [name for name, each in found.items() if name[:3] == "4.2" and each["result"] == "fail"]


HEAD = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.fixture
def merged(machine: Machine) -> PureWindowsPath:
    """A folder of which each .conf is merged into the kubelet's own configuration, in the order of names."""
    folder = PureWindowsPath(r"C:\k\kubelet.d")
    contents = {
        r"C:\k\config.yaml": b"authentication: {anonymous: {enabled: false}}\nrotateCertificates: true\n",
        rf"{folder}\10.conf": b"authentication: {anonymous: {enabled: true}}\nreadOnlyPort: 10255\n",
        rf"{folder}\20\a.conf": b"readOnlyPort: 0\nstreamingConnectionIdleTimeout: 0s\n",
        rf"{folder}\30.yaml": b"rotateCertificates: false\n",
    }
    for path, content in contents.items():
        machine.put(path, HEAD + content)
    words = (r"C:\k\kubelet.exe", r"--config=C:\k\config.yaml", f"--config-dir={folder}")
    machine.host.services.create(ServiceDefinition("kubelet", words))
    return folder


def test_what_is_merged_into_a_configuration_has_the_say(machine: Machine, merged: PureWindowsPath) -> None:
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert found["4.2.1"]["reason"] == "authentication.anonymous.enabled is true"
    assert rf"in {merged}\10.conf, and restart it" in found["4.2.1"]["remedy"]
    assert found["4.2.4"]["result"] == found["4.2.10"]["result"] == "pass"
    assert found["4.2.5"]["reason"] == "streamingConnectionIdleTimeout is 0s", "here it is no time at all"
    assert rf"{merged}\20\a.conf is open to others" in found["4.1.9"]["reason"]
    assert f"{merged} is open" not in found["4.1.9"]["reason"]


def test_it_is_put_right_where_it_stands(machine: Machine, merged: PureWindowsPath) -> None:
    own = machine.read(r"C:\k\config.yaml")
    machine.host.files.set_descriptor(merged, AS_BELOW_C)
    assert not {"4.1.9", "4.1.10", "4.2.1", "4.2.5"} & set(failing(machine, "--fix"))
    assert b"enabled: false" in machine.read(rf"{merged}\10.conf")
    assert b"streamingConnectionIdleTimeout: 4h" in machine.read(rf"{merged}\20\a.conf")
    assert machine.read(r"C:\k\config.yaml") == own
    assert machine.host.files.descriptor(merged) == PRIVATE_DIRECTORY


def test_what_is_merged_and_cannot_be_read_is_named(machine: Machine, merged: PureWindowsPath) -> None:
    machine.put(rf"{merged}\20\a.conf", b"a: [")
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert found["4.2.1"]["reason"].startswith(rf"{merged}\20\a.conf: ")


def test_without_a_configuration_a_kubelet_lets_everybody_in(machine: Machine) -> None:
    machine.host.services.create(ServiceDefinition("kubelet", (r"C:\k\kubelet.exe", "--kubeconfig=C:\\c")))
    assert {"4.2.1", "4.2.2", "4.2.3", "4.2.4"} <= set(failing(machine))


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"a: [", "config.yaml: "), (None, r"C:\k\config.yaml")],
    ids=["no document", "not there"],
)
def test_a_configuration_that_cannot_be_read(machine: Machine, content: bytes | None, told: str) -> None:
    if content is not None:
        machine.put(r"C:\k\config.yaml", content)
    words = (r"C:\k\kubelet.exe", r"--config=C:\k\config.yaml")
    machine.host.services.create(ServiceDefinition("kubelet", words))
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert found["4.2.1"]["result"] == "fail"
    assert told in found["4.2.1"]["reason"]


def test_a_kube_proxy_that_answers_everybody(machine: Machine, by_hand: Host) -> None:
    machine.put(
        r"C:\k\proxy.yaml", b"metricsBindAddress: 0.0.0.0:10249\nclientConnection: {kubeconfig: /k/p}\n"
    )
    machine.put(r"C:\k\p", b"apiVersion: v1\n")
    by_hand.services.create(
        ServiceDefinition("kube-proxy", (r"C:\k\kube-proxy.exe", r"--config=C:\k\proxy.yaml"))
    )
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert found["4.3.1"]["reason"] == "it answers at 0.0.0.0:10249"
    assert found["4.1.3"]["reason"] == r"C:\k\p is open to others"


def test_a_path_with_blanks_and_no_quotes(machine: Machine) -> None:
    machine.put(r"C:\Program Files\k\kubelet.exe", program())
    machine.host.services.create(ServiceDefinition("kubelet", (r"C:\Program Files\k\kubelet.exe",)))
    installed = machine.host.services.read("kubelet")
    assert installed is not None
    machine.host.services.restore(replace(installed, image_path=r"C:\Program Files\k\kubelet.exe"))
    found = by_id(machine.wmcb("audit", "--output", "json").document)
    assert "no quotes around it" in found["4.1.1"]["reason"]


def test_nothing_is_fixed_without_rights(machine: Machine, by_hand: Host) -> None:
    del by_hand
    machine.facts(administrator=False)
    answer = machine.wmcb("audit", "--fix")
    assert answer.code == 3
    with pytest.raises(NotFound):
        machine.host.files.list(PureWindowsPath(r"C:\ProgramData\wmcb"))
