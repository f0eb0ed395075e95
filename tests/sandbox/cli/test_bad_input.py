"""What cannot be meant: one clear line, an exit code, and a machine that is as it was."""

from __future__ import annotations

import base64
import gzip
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agent.cli import ignition as of_ignition
from agent.cli import main, options
from agent.cli.arguments import Option
from agent.cli.failure import BadInput
from agent.cli.given import GivenFile, refuse_another_kind
from agent.host.errors import AccessDenied, NoSpace
from agent.host.sandbox.files import SandboxFiles
from sandbox.cli.given import Machine, program
from unit.fetch.authority import issue, serving
from unit.fetch.servers import Server, closed_port, ok

UNIT = "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf\n"


def ignition(*files: Mapping[str, Any], version: str = "3.2.0", unit: str = UNIT, **about: Any) -> str:
    document = {
        "ignition": {"version": version} | about,
        "storage": {"files": list(files)},
        "systemd": {"units": [{"name": "kubelet.service", "contents": unit}] if unit else []},
    }
    return json.dumps(document)


def file(path: str = "/etc/kubernetes/extra", **contents: Any) -> dict[str, Any]:
    return {"path": path, "contents": contents}


def bomb() -> str:
    """A gigabyte and a little, of nothing, in a megabyte."""
    packed = gzip.compress(bytes(1 << 24)) * 65
    return "data:;base64," + base64.b64encode(packed).decode()


class Bad(NamedTuple):
    name: str
    document: Callable[[], str | bytes]
    says: str


SOURCE = "$.storage.files.0.contents.source"

DOCUMENTS = [
    Bad("empty", lambda: "", "{file}: it is empty; an Ignition configuration is expected"),
    Bad("not JSON", lambda: "variant: fcos", "{file} line 1, column 1: it is not JSON: a value is"),
    Bad("not text", lambda: b"\x80", "{file} line 1, column 1: it is not UTF-8"),
    Bad("cut off", lambda: '{"ignition":', "{file} line 1, column 13: it is not JSON"),
    Bad("a list", lambda: "[]", "{file} line 1, column 1: an Ignition configuration is a JSON object"),
    Bad("nested deeply", lambda: "[" * 200_000, "{file}: lists and objects are nested too deeply"),
    Bad("of a later version", lambda: ignition(version="3.9.0"), '$.ignition.version: version "3.9.0" is'),
    Bad("of an experimental version", lambda: ignition(version="3.6.0-experimental"), "$.ignition.version: "),
    Bad("of a version that is none", lambda: ignition(version="three"), "$.ignition.version: "),
    Bad("without a kubelet", lambda: ignition(unit=""), "$.systemd.units: there is no kubelet.service in it"),
    Bad("with another service", lambda: ignition(unit="[Service]\nExecStart=/usr/bin/crio\n"), "crio"),
    Bad(
        "a wrong hash",
        lambda: ignition(file(source="data:,abc", verification={"hash": "sha256-" + "0" * 64})),
        f"{SOURCE}: its sha256 is ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, not the",
    ),
    Bad("a data URL that is none", lambda: ignition(file(source="data:;base64,#")), f"{SOURCE}: it is a"),
    Bad("a URL of another kind", lambda: ignition(file(source="ftp://192.0.2.1/x")), f"{SOURCE}: "),
    Bad(
        "a bomb",
        lambda: ignition(file(source=bomb(), compression="gzip")),
        f"{SOURCE}: it is larger than 268,435,456 bytes unpacked",
    ),
    Bad(
        "100,000 files",
        lambda: ignition(*(file(f"/etc/kubernetes/{number}", source="data:,") for number in range(100_000))),
        "$.storage.files: 100,000 of them; a node has no use for more than 10,000",
    ),
    Bad("a device", lambda: ignition(file("/etc/kubernetes/NUL", source="data:,")), "files.0.path: "),
    Bad(
        "two names that are one on Windows",
        lambda: ignition(*(file(f"/etc/kubernetes/{name}", source="data:,") for name in "aA")),
        "$.storage.files.1.path: Windows takes it for the same file",
    ),
]  # fmt: skip


def left_alone(machine: Machine, answer_of: Callable[[], Any], code: int = 2) -> str:
    """The one line."""
    before = machine.picture()
    answer = answer_of()
    assert (answer.code, answer.out) == (code, "")
    assert len(answer.error_lines) == 1, answer.err
    assert machine.picture() == before
    line: str = answer.error_lines[0]
    return line


def bootstrap(machine: Machine, document: str | bytes, *more: str) -> Any:
    given = machine.give("worker.ign", document)
    return machine.wmcb("--ignition", given, *machine.node[2:], *more)


@pytest.mark.parametrize("case", DOCUMENTS, ids=lambda case: case.name)
def test_a_bad_document_is_one_line(case: Bad, machine: Machine) -> None:
    document = case.document()
    line = left_alone(machine, lambda: bootstrap(machine, document))
    place = str(machine.folder / "worker.ign")
    assert line.startswith((f"wmcb: {place} ", f"wmcb: {place}: ", "wmcb: kubelet.service "))
    assert case.says.format(file=place) in line


JOIN = "# a node\napiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
JOIN_IN_JSON = '{"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "JoinConfiguration"}'
NODE = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
NODE_IN_JSON = '{"apiVersion": "wmcb.internal/v1beta1", "kind": "NodeConfiguration"}'
USER_DATA = "#cloud-config\nwrite_files: []\n"
TEMPLATE = "## template: jinja\n#cloud-config\n"
MULTIPART = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n"
FROM_CLUSTER = "apiVersion: v1\ndata:\n  userData: e30K\nkind: Secret\n"
FROM_CLUSTER_IN_JSON = '{"apiVersion": "v1", "data": {"value": "e30K"}, "kind": "Secret"}'
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\ndata:\n  node.yaml: |\n    files: []\n"
ENCODED = base64.b64encode(ignition().encode()).decode()
PROGRAM = "MZ\x90 and more"
IN_ITS_DATA = "which may be a value of its data, in base64: write that alone into a file"
MISTAKEN = [
    (options.IGNITION, JOIN, "it is a JoinConfiguration; {called} --kubeadm-config FILE takes that"),
    (options.IGNITION, JOIN_IN_JSON, "it is a JoinConfiguration; {called} --kubeadm-config FILE takes that"),
    (options.IGNITION, USER_DATA, "it is cloud-init user data; {called} --user-data FILE takes that"),
    (options.IGNITION, MULTIPART, "it is cloud-init user data; {called} --user-data FILE takes that"),
    (options.KUBEADM_CONFIG, ignition(), "it is an Ignition; {called} --ignition FILE takes that"),
    (options.KUBEADM_CONFIG, TEMPLATE, "it is cloud-init user data; {called} --user-data FILE takes that"),
    (options.USER_DATA, JOIN, "it is a JoinConfiguration; {called} --kubeadm-config FILE takes that"),
    (options.IGNITION, NODE, "it is a NodeConfiguration; {called} prepare --node-config FILE takes that"),
    (
        options.KUBEADM_CONFIG,
        NODE_IN_JSON,
        "it is a NodeConfiguration; {called} prepare --node-config FILE takes that",
    ),
    (options.NODE_CONFIG, ignition(), "it is an Ignition; {called} --ignition FILE takes that"),
    (options.NODE_CONFIG, JOIN, "it is a JoinConfiguration; {called} --kubeadm-config FILE takes that"),
    (options.IGNITION, FROM_CLUSTER, f"it is a Secret of a cluster; an Ignition is expected, {IN_ITS_DATA}"),
    (
        options.USER_DATA,
        FROM_CLUSTER_IN_JSON,
        f"it is a Secret of a cluster; cloud-init user data is expected, {IN_ITS_DATA}",
    ),
    (
        options.NODE_CONFIG,
        CONFIG_MAP,
        "it is a ConfigMap of a cluster; a NodeConfiguration is expected, which may be a value of its data: "
        "write that alone into a file",
    ),
    (options.IGNITION, ENCODED, "it is base64; decode it first"),
    (options.IGNITION, PROGRAM, "it is a Windows program; an Ignition is expected"),
    (options.KUBEADM_CONFIG, PROGRAM, "it is a Windows program; a JoinConfiguration is expected"),
]


@pytest.mark.parametrize(("option", "document", "says"), MISTAKEN)
def test_a_document_of_another_option(option: Option, document: str, says: str, machine: Machine) -> None:
    given = machine.give("given.txt", document)
    words = () if option is options.USER_DATA else machine.node[2:]
    words = machine.node if option is options.NODE_CONFIG else words
    line = left_alone(machine, lambda: machine.wmcb(option.name, given, *words))
    assert line == f"wmcb: {option.name} {given}: {says.format(called=machine.called)}"


BEGIN_AS_USER_DATA = {
    "PowerShell": "<powershell>\n",
    "PowerShell for cloudbase-init": "#ps1_sysnative\n",
    "cmd": "rem cmd\n",
    "an interpreter's": "#!/usr/bin/env powershell\n",
    "multipart, with another header first": "From nobody\nSubject: a node\nContent-Type: multipart/mixed\n\n",
}


class Held(GivenFile):
    def __init__(self, text: str) -> None:
        super().__init__("--file", "given.txt")
        self._text = text

    def _blocks(self) -> Iterator[bytes]:
        yield self._text.encode()


@pytest.mark.parametrize("document", [CONFIG_MAP, JOIN, FROM_CLUSTER], ids=["ConfigMap", "join", "Secret"])
@pytest.mark.parametrize("beginning", BEGIN_AS_USER_DATA.values(), ids=BEGIN_AS_USER_DATA)
def test_user_data_may_hold_what_is_no_user_data(beginning: str, document: str, machine: Machine) -> None:
    file = Held(f"{beginning}@'\n{document}'@ | Set-Content it.yaml\n")
    refuse_another_kind(file, options.USER_DATA, machine.host)
    with pytest.raises(BadInput, match="it is cloud-init user data"):
        refuse_another_kind(file, options.IGNITION, machine.host)


def test_a_document_in_the_place_of_an_address(machine: Machine) -> None:
    line = left_alone(machine, lambda: machine.wmcb("join", "join.yaml"))
    assert line == ("wmcb: join.yaml: HOST:PORT is expected here; --config FILE takes a JoinConfiguration")


def test_several_faults_are_a_line_each(machine: Machine) -> None:
    document = ignition(file("etc/x", source="data:,"), file(source="data:;base64,#"))
    before = machine.picture()
    answer = bootstrap(machine, document)
    assert answer.code == 2
    assert [line.split(": ")[1].rpartition("$.")[2] for line in answer.error_lines] == [
        "storage.files.0.path", "storage.files.1.contents.source"
    ]  # fmt: skip
    assert machine.picture() == before


# The network


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_ignition, "_PATIENCE_SECONDS", 0.01)


def pointer(url: str, *authorities: bytes, **source: Any) -> str:
    sources = [
        {"source": "data:;base64," + base64.b64encode(authority).decode()} for authority in authorities
    ]
    tls = {"tls": {"certificateAuthorities": sources}} if sources else {}
    about = {"version": "3.2.0", "config": {"merge": [{"source": url} | source]}, "security": tls}
    return json.dumps({"ignition": about})


def test_a_source_that_nobody_serves(machine: Machine) -> None:
    port = closed_port()
    answer = bootstrap(machine, pointer(f"http://127.0.0.1:{port}/config/worker"), "--allow-plain-http")
    assert (answer.code, answer.out) == (1, "")
    line = answer.error_lines[-1]
    assert "at $.ignition.config.merge.0.source: " in line
    assert f"127.0.0.1:{port}" in line


@pytest.mark.parametrize("limit", ["command line", "document"])
def test_a_source_that_does_not_answer_is_not_waited_for_longer_than_asked(
    limit: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest limit counts, whoever sets it."""
    monkeypatch.setattr(of_ignition, "_PATIENCE_SECONDS", 120.0)
    short, long = ("1", 600) if limit == "command line" else ("600", 1)
    document = json.loads(pointer("http://{}/"))
    document["ignition"]["timeouts"] = {"httpTotal": long, "httpResponseHeaders": long}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        document["ignition"]["config"]["merge"][0]["source"] = f"http://{place}/config/worker"
        answer = bootstrap(machine, json.dumps(document), "--max-time", short, "--allow-plain-http")
    assert (answer.code, answer.out) == (1, "")
    assert place in answer.error_lines[-1]
    assert answer.error_lines[-1].endswith("within 1 second")


def test_a_server_that_another_authority_vouches_for(machine: Machine, tmp_path: Path) -> None:
    right, wrong = issue("right", authority=True), issue("wrong", authority=True)
    with Server(ok(b"{}"), context=serving(tmp_path, issue("server", right), right)) as server:
        document = pointer(server.url("/config/worker"), wrong.pem)
        line = left_alone(machine, lambda: bootstrap(machine, document), code=1)
    assert server.heads == []
    assert "at $.ignition.config.merge.0.source: " in line
    assert "CN=right" in line


def test_a_pointer_leads_to_the_node(machine: Machine, tmp_path: Path) -> None:
    root = issue("root-ca", authority=True)
    worker = ignition(file("/etc/kubernetes/ca.crt", source="data:,x")).encode()
    with Server(ok(worker), context=serving(tmp_path, issue("server", root), root)) as server:
        answer = bootstrap(machine, pointer(server.url("/config/worker"), root.pem))
    assert (answer.code, answer.err.count("wmcb:")) == (0, 0)
    assert machine.host.services.read("kubelet")


# Programs and places


PROGRAMS = [
    ("for ARM64", program(0xAA64), "it is a program for ARM64; one for x86-64 is needed"),
    ("for 32 bits", program(0x014C), "it is a program for 32-bit x86; one for x86-64 is needed"),
    ("cut off", program()[:40], "it is no Windows program"),
    ("damaged", program().replace(b"PE\0\0", b"PX\0\0"), "it is no Windows program, or a damaged one"),
    ("a text", b"kubelet", "it is no Windows program"),
    ("empty", b"", "it is no Windows program"),
]


@pytest.mark.parametrize(("content", "says"), [each[1:] for each in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_a_kubelet_that_is_no_program(content: bytes, says: str, machine: Machine) -> None:
    given = machine.give("given/kubelet.exe", content)
    line = left_alone(machine, lambda: machine.wmcb(*machine.node))
    assert line == f"wmcb: --kubelet {given}: {says}"


OPTIONS = [
    (("--ignition", "{nowhere}"), "--ignition {nowhere}: there is no such file"),
    (("--ignition", "{folder}"), "--ignition {folder}: it is a folder; name a file"),
    (("--ignition", "http://h/w.ign"), "--ignition http://h/w.ign: a URL is not taken here; fetch it first"),
    (("--kubelet", ""), "--kubelet: its value is empty; name a file"),
    (("--kubelet", "{nowhere}"), "--kubelet {nowhere}: there is no such file"),
    (("--kubelet", "{folder}"), "--kubelet {folder}: it is a folder; name a file"),
    (("--kubelet", r"C:\nowhere.exe"), r"--kubelet C:\nowhere.exe: "),
    (("--log-runner", "{nowhere}"), "--log-runner {nowhere}: there is no such file"),
    (("--kubelet-version", "new"), "--kubelet-version new: expected something like 1."),
    (("--node-ip", "10.0.0"), "--node-ip 10.0.0: '10.0.0' is no IP address"),
    (("--cluster-dns", "dns"), "--cluster-dns dns: 'dns' is no IP address"),
    (("--kubelet-verbosity", "loud"), "--kubelet-verbosity loud: expected a number, such as 2"),
    (
        ("--node-ip", "10.0.0.5,10.0.0.6"),
        "--node-ip 10.0.0.5,10.0.0.6: a node has one address, or one of IPv4",
    ),
    (("--node-ip", "fd00::5,10.0.0.5,fd00::6"), "a node has one address, or one of IPv4 and one of IPv6"),
    (("--node-ip", "10.0.0.5,"), "--node-ip 10.0.0.5,: '' is no IP address"),
    (("--node-ip", "127.0.0.1"), "127.0.0.1 is a loopback address, at which no node can be reached"),
    (("--node-ip", "fe80::1"), "fe80::1 is a link-local address, at which no node"),
    (("--node-ip", "fd00::5%3"), "'fd00::5%3' has a zone"),
    (("--node-ip", "224.0.0.1"), "224.0.0.1 is a multicast address"),
    (("--node-ip", "0.0.0.0,fd00::5"), "0.0.0.0 is every address"),
    (("--node-name", "win_1"), '--node-name win_1: "win_1" cannot be the name of a node: only a to z'),
    (("--node-name", ""), "--node-name : a node has to have a name"),
    (("--container-runtime-endpoint", ""), "expected npipe:////./pipe/NAME or tcp://HOST:PORT"),
    (("--container-runtime-endpoint", "containerd"), "expected npipe:////./pipe/NAME or tcp://HOST:PORT"),
    (("--container-runtime-endpoint", r"\\.\pipe\x"), "expected npipe:////./pipe/NAME or tcp://HOST:PORT"),
    (("--container-runtime-endpoint", r"npipe:\\.\pipe\x"), "expected npipe:////./pipe/NAME"),
    (("--container-runtime-endpoint", "npipe:////./pipe/"), "expected npipe:////./pipe/NAME"),
    (("--container-runtime-endpoint", "unix:///run/x.sock"), "expected npipe:////./pipe/NAME"),
    (("--container-runtime-endpoint", "tcp://127.0.0.1"), "expected npipe:////./pipe/NAME"),
    (("--container-runtime-endpoint", "tcp://127.0.0.1:99999"), "expected npipe:////./pipe/NAME"),
    (("--start-timeout", "-5"), "--start-timeout -5: expected a number of seconds, such as 60"),
    (("--start-timeout", "0"), "--start-timeout 0: nothing is done in no time"),
    (("--start-timeout", "0.0"), "--start-timeout 0.0: nothing is done in no time"),
    (("--max-time", "soon"), "--max-time soon: expected a number of seconds, such as 60"),
    (("--max-time", "0"), "--max-time 0: nothing is done in no time"),
    (("--install-dir", "k"), "it has to be a folder on a drive, such as C:\\k"),
    (("--install-dir", r"C:\Windows\k"), r"C:\Windows is Windows' own"),
    (("--install-dir", r"C:\k\..\x"), "'..' leads back out of its folder"),
    (("--rollback", "--dry-run"), "--rollback does not go with --dry-run"),
]


@pytest.mark.parametrize(("words", "says"), OPTIONS, ids=[" ".join(words) for words, _ in OPTIONS])
def test_an_option_that_cannot_be_meant(words: tuple[str, ...], says: str, machine: Machine) -> None:
    names = {"nowhere": str(machine.folder / "nowhere"), "folder": str(machine.folder)}
    given = [word.format(**names) for word in words]
    usual = dict(zip(machine.node[::2], machine.node[1::2], strict=True))
    usual.pop(given[0], None)
    others = [word for pair in usual.items() for word in pair]
    line = left_alone(machine, lambda: machine.wmcb(*others, *given))
    assert says.format(**names) in line


@pytest.mark.parametrize("option", ["--ignition", "--kubelet"])
@pytest.mark.parametrize("name", ["-", os.devnull])
def test_what_can_be_read_but_once_is_refused(option: str, name: str, machine: Machine) -> None:
    usual = dict(zip(machine.node[::2], machine.node[1::2], strict=True))
    words = [word for pair in (usual | {option: name}).items() for word in pair]
    line = left_alone(machine, lambda: machine.wmcb(*words))
    assert line.startswith(f"wmcb: {option} {name}: a regular file is needed")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe with a name in a folder")
def test_a_pipe_is_refused_and_not_waited_for(machine: Machine) -> None:
    pipe = machine.folder / "pipe"
    os.mkfifo(pipe)
    line = left_alone(machine, lambda: machine.wmcb("--ignition", str(pipe), *machine.node[2:]))
    assert line.startswith(f"wmcb: --ignition {pipe}: a regular file is needed")


ROOT = Path(Path.cwd().anchor)
SANDBOXES = [
    ("", "--sandbox DIR needs the name of a folder; this one is empty"),
    (" ", "--sandbox DIR needs the name of a folder; this one is empty"),
    (str(ROOT), f"--sandbox {ROOT}: that is a whole disk; name a folder of the sandbox's own"),
    (f"{ROOT}a/..", f"--sandbox {ROOT}a/..: that is a whole disk; name a folder of the sandbox's own"),
]


@pytest.mark.parametrize("command", [("status",), ("plan",), ("reset",)], ids=" ".join)
@pytest.mark.parametrize(("folder", "says"), SANDBOXES, ids=[repr(folder) for folder, _ in SANDBOXES])
def test_a_folder_that_is_no_sandbox(
    command: tuple[str, ...], folder: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["--sandbox", folder, *command]) == 2
    assert capsys.readouterr() == ("", f"wmcb: {says}\n")
    assert not (ROOT / ".sandbox").exists()


A_DOCUMENT = " or ".join(f"{option.name} FILE" for option in options.DOCUMENTS)
NEEDED = [
    ("--ignition", "--kubelet FILE is needed"),
    ("--kubelet", f"{A_DOCUMENT} is needed"),
]


@pytest.mark.parametrize(("option", "says"), NEEDED)
def test_what_is_needed_is_said(option: str, says: str, machine: Machine) -> None:
    line = left_alone(machine, lambda: machine.wmcb(option, machine.kubelet, "--kubelet-version=1.31"))
    assert line == f"wmcb: {says}"


@pytest.mark.parametrize("command", [(), ("plan",), ("preflight",)], ids=["run", "plan", "preflight"])
def test_two_documents_are_one_too_many(command: tuple[str, ...], machine: Machine) -> None:
    for other in options.DOCUMENTS[1:]:
        words = (*command, *machine.node, other.name, machine.give("document", ""))
        assert left_alone(machine, lambda given=words: machine.wmcb(*given)) == (  # type: ignore[misc]
            f"wmcb: --ignition and {other.name} do not go together: each says what the whole node is"
        )


@pytest.mark.parametrize(("command", "look"), [(("plan",), "plan"), (("--dry-run",), "--dry-run")])
def test_what_commands_lead_to_is_not_foreseen(command: tuple[str, ...], look: str, machine: Machine) -> None:
    words = (*command, "--user-data", machine.give("userdata", "#cloud-config\n{}\n"))
    assert left_alone(machine, lambda: machine.wmcb(*words)) == (
        f"wmcb: {look} does not go with --user-data:"
        " what comes after its commands is not known before they have run"
    )


# The machine


def test_an_install_directory_that_is_a_file(machine: Machine) -> None:
    machine.put("C:\\k", b"")
    before = machine.picture()
    for words in ((), ("plan",)):
        answer = machine.wmcb(*words, *machine.node)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err == "wmcb: C:\\k is a file, where a folder is to be; move it away\n"
    seen = machine.picture()
    log = {name for name in seen if r"C:\ProgramData\wmcb" in name}
    assert {name: seen[name] for name in seen if name not in log} == before


FAULTS = [
    (NoSpace("write", r"C:\k\kubelet.exe", 112), "the disk is full (Windows error 112)"),
    (AccessDenied("write", r"C:\k\kubelet.exe", 5), "access is denied (Windows error 5)"),
]


@pytest.mark.parametrize(("fault", "says"), FAULTS, ids=["disk full", "no permission"])
def test_what_fails_half_way_is_taken_back(
    fault: Exception, says: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = SandboxFiles.write

    def fail(files: SandboxFiles, path: Any, *given: Any) -> Any:
        if path.name == "kubelet.exe":
            raise fault
        return write(files, path, *given)

    monkeypatch.setattr(SandboxFiles, "write", fail)
    before = machine.picture()
    answer = machine.wmcb(*machine.node)
    assert (answer.code, answer.out) == (1, "")
    assert answer.error_lines[-1] == (
        f"wmcb: cannot write C:\\k\\kubelet.exe: {says}; the machine is as it was before"
    )
    seen = machine.picture()
    assert {name: seen[name] for name in seen if r"C:\ProgramData\wmcb" not in name} == before


@pytest.mark.parametrize("command", [("status",), ("reset",)], ids=" ".join)
def test_a_file_is_no_sandbox(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert main.run(["--sandbox", str(file), *command]) == 2
    assert capsys.readouterr().err.endswith(
        f"--sandbox {file}: it is a file, or lies below one; name a folder\n"
    )
