"""What OpenShift's operator calls, on a machine that is a folder: its daemon's bootstrap and clean-up."""

from __future__ import annotations

import base64
import json
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from agent.engine.machine_lock import COMMAND_LOCK, LOCK
from agent.engine.parts import OF_OPERATOR
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host.errors import AccessDenied, host_error
from agent.host.protection import PRIVATE_FILE
from agent.host.sandbox.registry import SandboxRoots
from agent.host.sandbox.services import SandboxServices
from agent.host.sddl import SecurityDescriptor
from agent.host.services import InstalledService, ServiceDefinition, ServiceState
from agent.sources.trusted_certificates import trusted
from agent.spec import EnvironmentVariable, Specification
from agent.spec.machine import TrustedCertificate
from sandbox.cli.given import Machine, program
from sandbox.cli.test_upgrade import OWN
from unit.kube.api_server import ROOT, TOKEN, ApiServer, ok, status
from unit.kube.conftest import server

__all__ = ["server"]

DATA = Path(__file__).parents[2] / "data" / "services_configmap"
VERSION = "10.21.0-3f2a1bc"
NAMESPACE = "openshift-windows-machine-config-operator"
PREFIX = "windowsmachineconfig.openshift.io/"
CONFIG_MAP = f"/api/v1/namespaces/{NAMESPACE}/configmaps/windows-services-{VERSION}"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
KUBECONFIG = r"C:\k\wicd-kubeconfig"
POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
AS_OPERATOR = ("--kubeconfig", KUBECONFIG, "--namespace", NAMESPACE)
BOOTSTRAP = ("bootstrap", "--desired-version", VERSION, *AS_OPERATOR)


def configuration(**changes: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "aws.json").read_bytes())
    data = {**found["data"], **{key: json.dumps(value) for key, value in changes.items()}}
    return {**found, "data": data}


class Operated(Machine):
    """With what the operator brings to a machine, and a PowerShell that prints a word."""

    def prepare(self, server: ApiServer) -> None:
        authority = base64.b64encode(ROOT.pem).decode()
        text = OWN.format(server=server.url, authority=authority, token=TOKEN)
        self.put(KUBECONFIG, text.encode())
        self.put(POWERSHELL, b"#!/bin/sh\necho printed\n")
        for service in json.loads(configuration()["data"]["services"]):
            self.put(service["path"].split()[0], program())

    def patches(self, server: ApiServer, version: str = "") -> list[Any]:
        """What its Node, of that version, is changed by, from now on."""
        patched: list[Any] = []

        def patch(handler: BaseHTTPRequestHandler) -> None:
            patched.append(json.loads(server.asked[-1].body))
            handler.send_response(200)
            handler.send_header("Content-Length", "2")
            handler.end_headers()
            handler.wfile.write(b"{}")

        address = self.host.facts.addresses()[0].address
        metadata = {"name": "win1", "annotations": {f"{PREFIX}version": version} if version else {}}
        there = {"metadata": metadata, "status": {"addresses": [{"address": address}]}}
        server.at("/api/v1/nodes", ok({"metadata": {}, "items": [{"metadata": {"name": "other"}}, there]}))
        server.at("/api/v1/nodes/win1", patch)
        return patched


@pytest.fixture
def operated(tmp_path: Path, capsys: pytest.CaptureFixture[str], server: ApiServer) -> Operated:
    machine = Operated(tmp_path, capsys)
    machine.place.mkdir()
    assert machine.host
    machine.prepare(server)
    server.at(CONFIG_MAP, ok(configuration()))
    server.at(CONFIG_MAPS, ok({"metadata": {}, "items": [configuration()]}))
    server.at("/api/v1/nodes", ok({"metadata": {}, "items": []}))
    return machine


def test_a_bootstrap_starts_what_comes_before_the_node(operated: Operated) -> None:
    done = operated.wmcb(*BOOTSTRAP)
    assert done.code == 0, done.err
    assert done.out == f"2 services run, by ConfigMap {NAMESPACE}/windows-services-{VERSION}; 2 changed\n"
    services = operated.host.services
    assert services.read("kube-proxy") is None
    kubelet = services.read("kubelet")
    assert kubelet is not None
    assert services.status("kubelet").state is ServiceState.RUNNING
    assert kubelet.definition.command[-2:] == ("--hostname-override=printed", "--node-ip=printed")
    assert kubelet.definition.dependencies == ("containerd",)
    assert operated.host.environment.get("HTTP_PROXY") is None
    assert operated.wmcb(*BOOTSTRAP).out.endswith("; nothing changed\n")


def test_a_script_that_fails_is_told_and_what_came_before_stays(operated: Operated) -> None:
    operated.put(POWERSHELL, b'#!/bin/sh\ncase "$*" in *latest*) echo secret; exit 3; esac\n')
    done = operated.wmcb(*BOOTSTRAP)
    assert done.code == 1
    assert f"windows-services-{VERSION}: the script of service kubelet ended with exit code 3" in done.err
    assert "secret" not in done.err
    assert operated.host.services.read("containerd") is not None
    assert operated.host.services.read("kubelet") is None


REFUSED = {
    "no version": (("bootstrap", *AS_OPERATOR), 2, "bootstrap needs --desired-version V"),
    "no kubeconfig": (("cleanup", "--namespace", "a"), 2, "cleanup needs --kubeconfig FILE"),
    "no namespace": (("controller", "--kubeconfig", KUBECONFIG), 2, "controller needs --namespace NAME"),
    "a kubeconfig of the current folder": (
        ("cleanup", "--namespace", "a", "--kubeconfig", "wicd"),
        2,
        r"--kubeconfig wicd: give its whole path with its drive, such as C:\k\wicd",
    ),
    "no such kubeconfig": (
        ("cleanup", "--namespace", "a", "--kubeconfig", r"C:\none"),
        1,
        r"C:\none is not there, or names a certificate that is not",
    ),
    "no such version": (
        ("bootstrap", "--desired-version", "1", *AS_OPERATOR),
        1,
        f"there is no ConfigMap {NAMESPACE}/windows-services-1",
    ),
}


@pytest.mark.parametrize(("words", "code", "line"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_one_line(
    operated: Operated, words: tuple[str, ...], code: int, line: str
) -> None:
    done = operated.wmcb(*words)
    assert done.code == code
    assert line in done.err
    assert len(done.error_lines) == 1


def test_one_that_is_wrong_changes_nothing(operated: Operated, server: ApiServer) -> None:
    server.at(CONFIG_MAP, ok(configuration(services=[{"name": "a"}])))
    before = operated.picture()
    done = operated.wmcb(*BOOTSTRAP)
    assert done.code == 1
    assert "at $.data.services.0" in done.err
    assert {name for name in operated.picture() if "ProgramData" not in name} == {
        name for name in before if "ProgramData" not in name
    }


LOG_SIZES = {
    "not given": ((), ["wmcb.1.log", "wmcb.log"]),
    "empty": (("--log-file-max-size=",), ["wmcb.1.log", "wmcb.log"]),
    "larger than the log": (("--log-file-max-size=7",), ["wmcb.log"]),
    "smaller than the log": (("--log-file-max-size", "1"), ["wmcb.1.log", "wmcb.log"]),
    "none": (("--log-file-max-size=0",), ["wmcb.log"]),
}


@pytest.mark.parametrize(("words", "logs"), LOG_SIZES.values(), ids=LOG_SIZES)
def test_the_daemons_log_is_rotated_at_its_size(
    operated: Operated, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], logs: list[str]
) -> None:
    folder = r"C:\var\log\wicd"

    def write_two_lines(*what: Any, **how: Any) -> int:
        del how
        log = what[3](operated.host)
        for number in range(2):
            log(f"line {number}")
        return 0

    monkeypatch.setattr("agent.cli.operator.served", write_two_lines)
    operated.put(rf"{folder}\wmcb.log", b"x" * 6_000_000)
    done = operated.wmcb("controller", "--windows-service", *AS_OPERATOR, "--log-dir", folder, *words)
    assert done.code == 0, done.err
    assert operated.host.files.list(PureWindowsPath(folder)) == logs


def test_a_clean_up_removes_all_that_the_daemon_made(operated: Operated, server: ApiServer) -> None:
    before = operated.picture()
    assert operated.wmcb(*BOOTSTRAP).code == 0
    description = "OpenShift managed hybrid-overlay-node"
    of_the_go_daemon = ServiceDefinition(
        "hybrid-overlay-node", (r"C:\k\kubelet.exe",), description=description
    )
    operated.host.services.create(of_the_go_daemon)
    patched = operated.patches(server)
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert done.code == 0, done.err
    assert done.out == "3 services removed, 0 pods ended\n"
    assert patched == [{"metadata": {"annotations": {"windowsmachineconfig.openshift.io/version": None}}}]
    after = operated.picture()
    assert {name for name in after if r"ProgramData\wmcb" not in name} == set(before)


def of_the_go_daemon(operated: Operated, *chain: str) -> None:
    """Each needs the one before it, and all run."""
    program = json.loads(configuration()["data"]["services"])[0]["path"].split()[0]
    for name, needed in zip(chain, ((), *((name,) for name in chain)), strict=False):
        description = f"OpenShift managed {name}"
        definition = ServiceDefinition(name, (program,), description=description, dependencies=needed)
        operated.host.services.create(definition)
        operated.host.services.start(name)


def test_a_clean_up_stops_first_what_needs_others(operated: Operated) -> None:
    chain = ("containerd", "kubelet", "hybrid-overlay-node", "kube-proxy")
    of_the_go_daemon(operated, *chain)
    exporter = ServiceDefinition("exporter", (r"C:\k\containerd\containerd.exe",), dependencies=("KUBELET",))
    operated.host.services.create(exporter)
    operated.host.services.start("exporter")
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert (done.code, done.out) == (0, "4 services removed, 0 pods ended\n"), done.err
    assert not {*chain} & {*operated.host.services.list()}
    assert operated.host.services.status("exporter").state is ServiceState.STOPPED, "and is not removed"


def test_a_clean_up_leaves_what_nobody_may_read(operated: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    scanner = ServiceDefinition("aScanner", (r"C:\k\containerd\containerd.exe",))
    operated.host.services.create(scanner)
    operated.host.services.start("aScanner")
    of_the_go_daemon(operated, "containerd", "kubelet")
    read = SandboxServices.read

    def read_but_the_scanner(services: SandboxServices, name: str) -> InstalledService | None:
        if name == "aScanner":
            raise host_error("read", f"service {name}", 5)
        return read(services, name)

    monkeypatch.setattr(SandboxServices, "read", read_but_the_scanner)
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert (done.code, done.out) == (0, "2 services removed, 0 pods ended\n"), done.err
    assert operated.host.services.status("aScanner").state is ServiceState.RUNNING


def test_a_clean_up_that_gives_variables_back_asks_for_a_restart(
    operated: Operated, server: ApiServer
) -> None:
    wanted = Specification.of([EnvironmentVariable("SITE", "lab")])
    make_so(operated.host, wanted, Silent(), part=OF_OPERATOR)
    patched = operated.patches(server)
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert done.code == 0, done.err
    assert operated.host.environment.get("SITE") is None
    annotations = {f"{PREFIX}version": None, f"{PREFIX}reboot-required": ""}
    assert patched == [{"metadata": {"annotations": annotations}}]


def services_of(version: str, created: str, *watched: str) -> dict[str, Any]:
    metadata = {"name": f"windows-services-{version}", "creationTimestamp": created}
    return {**configuration(watchedEnvironmentVars=watched), "metadata": metadata}


THREE_VERSIONS = [
    services_of("old", "2026-01-02T03:04:05Z", "SITE", "HTTP_PROXY"),
    services_of("newest", "2026-11-19T03:04:05Z", "HTTP_PROXY", "NO_PROXY"),
    services_of("other", "2026-10-09T03:04:05Z", "OTHER"),
    {"metadata": {"name": "cluster-info", "creationTimestamp": "2026-11-20T03:04:05Z"}, "data": {"a": "b"}},
]
VARIABLES = ("HTTP_PROXY", "NO_PROXY", "OTHER", "SITE")
LEFT_VARIABLES = {
    "the Node has the newest version": ("newest", ["OTHER", "SITE"]),
    "the Node has an older version": ("old", ["OTHER"]),
    "the Node has no version": ("", ["OTHER", "SITE"]),
    "the Node's version is gone": ("gone", ["OTHER", "SITE"]),
}


@pytest.mark.parametrize(("version", "left"), LEFT_VARIABLES.values(), ids=LEFT_VARIABLES)
def test_a_clean_up_removes_every_variable_that_is_watched(
    operated: Operated, server: ApiServer, version: str, left: list[str]
) -> None:
    environment = operated.host.environment
    for name in VARIABLES:
        environment.set(name, "any value")
    wanted = Specification.of([EnvironmentVariable("HTTP_PROXY", "http://proxy.example:3128/", secret=True)])
    make_so(operated.host, wanted, Silent(), part=OF_OPERATOR)
    server.at(CONFIG_MAPS, ok({"metadata": {}, "items": THREE_VERSIONS}))
    patched = operated.patches(server, version)
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert (done.code, done.err) == (0, "give back environment variable HTTP_PROXY\n")
    assert [name for name in VARIABLES if environment.get(name) is not None] == left
    annotations = {f"{PREFIX}version": None, f"{PREFIX}reboot-required": ""}
    assert patched == [{"metadata": {"annotations": annotations}}]


def test_a_clean_up_without_a_node_goes_by_the_newest_version(operated: Operated, server: ApiServer) -> None:
    operated.host.environment.set("NO_PROXY", "any value")
    server.at(CONFIG_MAPS, ok({"metadata": {}, "items": THREE_VERSIONS}))
    assert operated.wmcb("cleanup", *AS_OPERATOR).code == 0
    assert operated.host.environment.get("NO_PROXY") is None


UNKNOWN_VARIABLES: dict[str, tuple[Any, str]] = {
    "no ConfigMap": (ok({"metadata": {}, "items": THREE_VERSIONS[-1:]}), "there is no ConfigMap "),
    "no right to list them": (status(403, "Forbidden", "configmaps is forbidden"), "configmaps is forbidden"),
    "a ConfigMap that is wrong": (
        ok({"metadata": {}, "items": [{**THREE_VERSIONS[1], "data": {}}]}),
        "it is missing; a services ConfigMap has services and files",
    ),
}


@pytest.mark.parametrize(("answer", "line"), UNKNOWN_VARIABLES.values(), ids=UNKNOWN_VARIABLES)
def test_a_clean_up_says_where_variables_may_stay(
    operated: Operated, server: ApiServer, answer: Any, line: str
) -> None:
    assert operated.wmcb(*BOOTSTRAP).code == 0
    server.at(CONFIG_MAPS, answer)
    operated.patches(server, VERSION)
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert (done.code, done.out) == (0, "2 services removed, 0 pods ended\n")
    assert "warning: variables that the operator's own daemon set stay: " in done.err
    assert line in done.err


def imported(operated: Operated) -> TrustedCertificate:
    """Add a root certificate as the operator's own daemon does, and return it."""
    text = (DATA.parent / "certificates" / "example-root.pem").read_text()
    (certificate,) = trusted(text)
    operated.host.roots.add(certificate.encoded)
    operated.put(r"C:\k\imported-certs.pem", text.encode())
    return certificate


def test_a_clean_up_removes_certificates_that_the_operators_own_daemon_imported(
    operated: Operated, server: ApiServer
) -> None:
    certificate = imported(operated)
    patched = operated.patches(server)
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert done.code == 0, done.err
    assert operated.host.roots.read(certificate.key.name) is None
    assert operated.host.files.observe(PureWindowsPath(r"C:\k\imported-certs.pem")) is None
    annotations = {f"{PREFIX}version": None, f"{PREFIX}reboot-required": ""}
    assert patched == [{"metadata": {"annotations": annotations}}]


def test_a_clean_up_goes_on_where_an_imported_certificate_cannot_be_removed(
    operated: Operated, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: SandboxRoots, thumbprint: str) -> None:
        raise AccessDenied("remove", f"root certificate {thumbprint}", 5)

    text = (DATA.parent / "certificates" / "example-root.pem").read_text()
    operated.host.roots.add(trusted(text)[0].encoded)
    operated.put(r"C:\k\imported-certs.pem", text.encode())
    patched = operated.patches(server)
    monkeypatch.setattr(SandboxRoots, "remove", denied)
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert done.code == 0, done.err
    assert f"root certificate {trusted(text)[0].key.name}" in done.err
    assert operated.host.files.observe(PureWindowsPath(r"C:\k\imported-certs.pem")) is not None
    assert patched == [{"metadata": {"annotations": {f"{PREFIX}version": None}}}]


def test_no_other_wmcb_changes_the_machine_while_a_clean_up_removes_imported_certificates(
    operated: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove(*_: object) -> None:
        held.append([operated.host.processes.is_held(name) for name in (COMMAND_LOCK, LOCK)])

    held: list[list[bool]] = []
    text = (DATA.parent / "certificates" / "example-root.pem").read_text()
    operated.put(r"C:\k\imported-certs.pem", text.encode())
    monkeypatch.setattr(SandboxRoots, "remove", remove)
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert (done.code, held) == (0, [[True, True]])


def test_a_clean_up_while_another_command_is_at_work_does_nothing(
    operated: Operated, server: ApiServer
) -> None:
    assert operated.wmcb(*BOOTSTRAP).code == 0
    before, patched = operated.picture(), operated.patches(server)
    exclusive = operated.host.processes.exclusive
    with exclusive(COMMAND_LOCK) as waits, exclusive(LOCK) as changes:
        assert (waits, changes) == (True, True)
        done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert (done.code, done.out, patched) == (1, "", [])
    assert done.error_lines[-1].endswith(" is at work on this machine: wait until it has ended")
    assert operated.picture().keys() == before.keys()


def test_a_clean_up_leaves_imported_certificates_where_another_command_has_begun_since(
    operated: Operated, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = imported(operated)
    patched = operated.patches(server)
    with ExitStack() as another:

        def begin(*_: object) -> int:
            assert another.enter_context(operated.host.processes.exclusive(COMMAND_LOCK))
            return 0

        # It is called when the first part has ended, and has let go of the machine.
        monkeypatch.setattr("agent.cli.operator._remove_managed", begin)
        done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert done.code == 0, done.err
    (warning,) = [line for line in done.error_lines if "at work on this machine" in line]
    assert warning.startswith("wmcb: warning: another wmcb command")
    assert operated.host.roots.read(certificate.key.name) is not None
    assert operated.host.files.observe(PureWindowsPath(r"C:\k\imported-certs.pem")) is not None
    assert patched == [{"metadata": {"annotations": {f"{PREFIX}version": None}}}]


def test_a_clean_up_goes_on_where_the_list_of_imported_certificates_cannot_be_read(
    operated: Operated,
) -> None:
    assert operated.wmcb(*BOOTSTRAP).code == 0
    operated.put(r"C:\k\imported-certs.pem", b"-----BEGIN CERTIFICATE-----")
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert (done.code, done.out) == (0, "2 services removed, 0 pods ended\n")
    assert (
        "warning: the list of certificates that the operator's own daemon imported cannot be read" in done.err
    )


OF_A_USER = "O:S-1-5-21-1-2-3-1001G:BUD:AI(A;;FA;;;SY)(A;;FA;;;BA)"
KUBECONFIGS = {
    "that users may change": ("O:BAG:BAD:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;0x1301bf;;;AU)", 0),
    "that everybody may change": ("O:SYG:SYD:(A;;FA;;;WD)", 0),
    "that a user made": (OF_A_USER, 1),
}


@pytest.mark.parametrize(("descriptor", "code"), KUBECONFIGS.values(), ids=KUBECONFIGS)
def test_the_operators_kubeconfig_is_closed_to_users_once(
    operated: Operated, descriptor: str, code: int
) -> None:
    path = PureWindowsPath(KUBECONFIG)
    operated.host.files.set_descriptor(path, SecurityDescriptor.parse(descriptor))
    done = operated.wmcb(*BOOTSTRAP)
    assert done.code == code, done.err
    if code:
        assert done.err.startswith(f"wmcb: {path} can be changed by users")
        return
    line = f"wmcb: warning: {path}: users could change the operator's kubeconfig; it is restricted to "
    assert done.err.startswith(line)
    assert operated.host.files.descriptor(path) == PRIVATE_FILE
    assert line not in operated.wmcb(*BOOTSTRAP).err


def test_on_a_machine_that_it_never_saw_a_clean_up_does_nothing(operated: Operated) -> None:
    done = operated.wmcb("cleanup", *AS_OPERATOR)
    assert (done.code, done.out) == (0, "0 services removed, 0 pods ended\n")
    assert done.err == "wmcb: this machine has no Node in the cluster\n"


@pytest.mark.parametrize("option", ["--cert-dir", "--cert-duration"])
def test_what_its_daemon_does_not_heed_is_said_in_a_whole_line(
    operated: Operated, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr("agent.cli.operator.served", lambda *_, **__: 0)
    done = operated.wmcb("controller", *AS_OPERATOR, "--windows-service", option, "1h")
    assert done.code == 0
    assert done.err == f"wmcb: {option} has no effect: this daemon asks by its kubeconfig\n"
