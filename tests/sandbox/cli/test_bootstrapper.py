"""initialize-kubelet and uninstall-kubelet: what scripts made for OpenShift's bootstrapper rely on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path, PureWindowsPath

import pytest

from agent.host.services import ServiceDefinition, ServiceState
from sandbox.cli.given import CONTAINERD, DATA, WORKER, Answer, Machine, program
from sandbox.cli.metadata_service import AWS, Metadata

DONE = "Bootstrapping completed successfully"
GONE = "kubelet uninstalled successfully"


def initialize(machine: Machine, *more: str) -> Answer:
    return machine.wmcb(
        "initialize-kubelet", "--ignition-file", str(WORKER), "--kubelet-path", machine.kubelet, *more
    )


def command(machine: Machine) -> tuple[str, ...]:
    installed = machine.host.services.read("kubelet")
    assert installed is not None
    return installed.definition.command


def test_a_node_is_made_and_taken_away(machine: Machine) -> None:
    machine.host.services.start("containerd")
    before = machine.picture()
    assert initialize(machine) == (0, f"{DONE}\n", "")
    assert machine.host.services.status("kubelet").state is ServiceState.RUNNING
    assert machine.wmcb("status").code == 0
    assert machine.wmcb("uninstall-kubelet") == (0, f"{GONE}\n", "")
    assert machine.picture() == before


def test_again_it_says_the_same(machine: Machine) -> None:
    initialize(machine)
    assert initialize(machine) == (0, f"{DONE}\n", "")


def test_all_that_the_bootstrapper_takes(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    Metadata(AWS).install(monkeypatch)
    answer = initialize(
        machine, "--install-dir", r"C:\node", "--node-ip", "192.0.2.7", "--cluster-dns", "192.0.2.53",
        "--platform-type", "AWS", "--kubelet-verbosity", "6",
    )  # fmt: skip
    assert answer == (0, f"{DONE}\n", "")
    given = command(machine)
    assert given[0] == r"C:\node\kubelet.exe"
    assert {"--node-ip=192.0.2.7", "--v=6", "--hostname-override=ip-10-0-1-2.ec2.internal"} <= set(given)
    assert b"192.0.2.53" in machine.read(r"C:\node\kubelet.conf")


AZURE = DATA / "worker-azure-3.2.ign"
LAYOUTS = {
    "its own folder": (WORKER, r"C:\k", ()),
    "another folder": (WORKER, r"C:\node", ("--install-dir", r"C:\node")),
    "with a cloud configuration": (AZURE, r"C:\k", ("--platform-type", "none")),
}


@pytest.mark.parametrize(("document", "folder", "words"), LAYOUTS.values(), ids=LAYOUTS)
def test_files_lie_where_openshifts_other_programs_look_for_them(
    machine: Machine, document: Path, folder: str, words: tuple[str, ...]
) -> None:
    machine.host.services.start("containerd")
    before = machine.picture()
    given = ("--ignition-file", str(document), "--kubelet-path", machine.kubelet, "--kubelet-version", "1.24")
    assert machine.wmcb("initialize-kubelet", *given, *words) == (0, f"{DONE}\n", "")
    flags = dict(word.partition("=")[::2] for word in command(machine))
    assert flags["--config"] == rf"{folder}\kubelet.conf"
    assert flags["--bootstrap-kubeconfig"] == rf"{folder}\bootstrap-kubeconfig"
    assert flags["--kubeconfig"] == rf"{folder}\kubeconfig"
    assert flags["--cert-dir"] == r"C:\var\lib\kubelet\pki"
    configuration = json.loads(machine.read(rf"{folder}\kubelet.conf"))
    assert configuration["authentication"]["x509"]["clientCAFile"] == rf"{folder}\kubelet-ca.crt"
    assert b"BEGIN CERTIFICATE" in machine.read(rf"{folder}\kubelet-ca.crt")
    assert b"current-context" in machine.read(rf"{folder}\bootstrap-kubeconfig")
    if document is AZURE:
        assert flags["--cloud-config"] == rf"{folder}\cloud.conf"
        assert b"AzurePublicCloud" in machine.read(rf"{folder}\cloud.conf")
    installed = machine.host.services.read("kubelet")
    assert installed is not None
    assert installed.definition.description == "OpenShift managed kubelet"
    there = machine.host.files.list(PureWindowsPath(r"C:\etc\kubernetes"))
    assert not {"kubelet.conf", "kubeconfig", "kubelet-ca.crt", "cloud.conf"} & set(there)
    assert machine.wmcb("uninstall-kubelet").code == 0
    assert machine.picture() == before


def test_the_kubelets_own_kubeconfig_comes_later_and_goes_with_the_node(machine: Machine) -> None:
    machine.host.services.start("containerd")
    before = machine.picture()
    initialize(machine)
    assert machine.wmcb("status").code == 0
    machine.put(r"C:\k\kubeconfig", b"apiVersion: v1\n")
    assert machine.wmcb("status").code == 0
    assert initialize(machine) == (0, f"{DONE}\n", "")
    assert machine.read(r"C:\k\kubeconfig") == b"apiVersion: v1\n"
    assert machine.wmcb("uninstall-kubelet").code == 0
    assert machine.picture() == before


def test_warnings_are_in_the_log_alone(machine: Machine) -> None:
    machine.facts(memory=3 << 30)
    assert initialize(machine).err == ""
    assert b"warning: memory: 3.0 GiB" in machine.read(r"C:\ProgramData\wmcb\logs\wmcb.log")


def test_status_has_the_command_that_repairs_it(machine: Machine) -> None:
    assert initialize(machine, "--node-ip", "192.0.2.7").code == 0
    machine.host.files.remove(PureWindowsPath(r"C:\k\kubelet-ca.crt"))
    status = machine.wmcb("status")
    again = f"wmcb initialize-kubelet --ignition-file {WORKER} --kubelet-path {machine.kubelet}"
    assert status.code == 1
    assert f"{again} --node-ip 192.0.2.7 --sandbox {machine.place}" in status.out
    assert initialize(machine, "--node-ip", "192.0.2.7").code == 0
    assert machine.wmcb("status").code == 0


BOTH = ("--ignition-file", "{ignition}", "--kubelet-path", "{kubelet}")
FAILURES: list[tuple[int, str, tuple[str, ...]]] = [
    (2, "--ignition-file FILE is needed", ("--kubelet-path", "{kubelet}")),
    (
        2,
        r"--install-dir foo: it has to be a folder on a drive, such as C:\k",
        (*BOTH, "--install-dir", "foo"),
    ),
    (2, "--kubelet-path FILE is needed", ("--ignition-file", "{ignition}")),
    (
        2,
        "initialize-kubelet has no option --ignition, but wmcb without a command, plan and preflight have; "
        "did you mean --ignition-file?",
        ("--ignition=x",),
    ),
    (2, "--ignition-file {nowhere}: there is no such file", ("--ignition-file={nowhere}", *BOTH[2:])),
    (2, "--node-ip x: 'x' is no IP address", (*BOTH, "--node-ip", "x")),
]


@pytest.mark.parametrize(("code", "says", "words"), FAILURES)
def test_a_failure_is_told_on_standard_error(
    code: int, says: str, words: tuple[str, ...], machine: Machine
) -> None:
    names = {"kubelet": machine.kubelet, "ignition": str(WORKER), "nowhere": str(machine.folder / "nowhere")}
    before = machine.picture()
    answer = machine.wmcb("initialize-kubelet", *(word.format(**names) for word in words))
    assert (answer.code, answer.out) == (code, "")
    assert answer.error_lines[-1] == f"wmcb: {says.format(**names)}"
    assert machine.picture() == before


def test_where_there_is_no_kubelet_none_is_uninstalled(machine: Machine) -> None:
    before = machine.picture()
    assert machine.wmcb("uninstall-kubelet") == (1, "", "wmcb: kubelet service is not present\n")
    assert machine.picture() == before


def test_a_refusal_names_its_check(bare: Machine) -> None:
    answer = initialize(bare)
    assert (answer.code, answer.out) == (3, "")
    assert answer.error_lines[-1].startswith("wmcb: containerd-service: ")


def test_advice_of_a_refusal_can_be_followed(bare: Machine) -> None:
    answer = initialize(bare)
    assert "--runtime-service NAME is for one of another name, none for a runtime" in answer.err
    bare.put(CONTAINERD.command[0], program())
    bare.host.services.create(replace(CONTAINERD, name="other"))
    assert initialize(bare, "--runtime-service", "other").code == 0


def test_what_another_bootstrapper_made_is_uninstalled(machine: Machine) -> None:
    """Its files stay, as they do there."""
    machine.put(r"C:\k\kubelet.exe", program())
    machine.host.services.create(ServiceDefinition("kubelet", (r"C:\k\kubelet.exe", "--windows-service")))
    machine.host.services.start("kubelet")
    assert machine.wmcb("uninstall-kubelet") == (0, f"{GONE}\n", "")
    assert machine.host.services.read("kubelet") is None
    assert machine.read(r"C:\k\kubelet.exe") == program()


def test_what_needs_the_kubelet_of_another_bootstrapper_is_stopped_before_it(machine: Machine) -> None:
    services = machine.host.services
    machine.put(r"C:\k\kubelet.exe", program())
    for name, needed in (("kubelet", ()), ("overlay", ("Kubelet",)), ("proxy", ("overlay",))):
        services.create(ServiceDefinition(name, (r"C:\k\kubelet.exe",), dependencies=needed))
        services.start(name)
    assert machine.wmcb("uninstall-kubelet") == (0, f"{GONE}\n", "")
    assert services.read("kubelet") is None
    assert {services.status(name).state for name in ("overlay", "proxy")} == {ServiceState.STOPPED}


def test_a_service_that_was_taken_over_goes_too(machine: Machine) -> None:
    machine.put(r"C:\k\kubelet.exe", program())
    machine.host.services.create(ServiceDefinition("kubelet", (r"C:\k\kubelet.exe", "--old")))
    initialize(machine)
    assert machine.wmcb("uninstall-kubelet").code == 0
    assert machine.host.services.read("kubelet") is None


def test_a_service_that_others_need_is_not_taken_from_them(machine: Machine) -> None:
    initialize(machine)
    machine.put(r"C:\overlay.exe", program())
    machine.host.services.create(
        ServiceDefinition("overlay", (r"C:\overlay.exe",), dependencies=("kubelet",))
    )
    machine.host.services.start("overlay")
    answer = machine.wmcb("uninstall-kubelet")
    assert (answer.code, answer.out) == (1, "")
    assert "cannot be stopped while overlay runs; stop that first" in answer.err
    assert machine.host.services.status("kubelet").state is ServiceState.RUNNING
