"""`--node-config`: what a NodeConfiguration wants beside, or before, what makes the machine a node."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PureWindowsPath

import pytest

from agent.cli import bootstrap
from agent.host.sandbox.os_settings import FIREWALL
from agent.host.sandbox.state import State
from agent.host.services import ServiceState
from sandbox.cli.given import Machine
from sandbox.engine.world import Killed, Power, powered

HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
FILE = "files:\n- path: C:\\tools\\note.txt\n  text: one\n"
NOTE = r"C:\tools\note.txt"
CONTAINERD = """\
files:
- {path: 'C:\\Program Files\\containerd\\containerd.exe', text: MZ, protection: program}
services:
- {name: containerd, program: 'C:\\Program Files\\containerd\\containerd.exe'}
"""


def picture(machine: Machine) -> dict[str, object]:
    """But for what wmcb remembers, and what its log says."""
    seen = machine.picture()
    return {name: seen[name] for name in seen if r"C:\ProgramData\wmcb" not in name}


def given(machine: Machine, text: str = FILE) -> tuple[str, str]:
    return "--node-config", machine.give("node.yaml", HEAD + text)


def test_a_node_is_made_with_what_it_wants_and_again_nothing_changes(bare: Machine) -> None:
    """Containerd, which the kubelet needs, comes by it."""
    document = given(bare, CONTAINERD)
    answer = bare.wmcb(*bare.node, *document)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("this machine is a node\n")
    assert bare.host.services.status("containerd").state is ServiceState.RUNNING
    assert bare.host.services.status("kubelet").state is ServiceState.RUNNING
    made = picture(bare)
    assert bare.wmcb(*bare.node, *document).out.startswith("nothing to do")
    assert picture(bare) == made
    assert bare.wmcb("status").code == 0


OUTPUT = """\
services:
- name: talker
  program: C:\\talker.exe
  output: {path: 'C:\\talker.log'}
"""
LOG_RUNNER = r"C:\k\wmcb-log.exe"
NO_LOG_RUNNER = (
    "line 4, column 3 at $.services.0.output: there is no C:\\k\\wmcb-log.exe to write it; the command "
    "prepare --kubernetes-version brings it, or a join: do that first"
)


@pytest.mark.parametrize("command", [("plan",), ("prepare",), ("prepare", "--dry-run")], ids=" ".join)
def test_an_output_that_nothing_could_write_is_refused_before_anything_is_done(
    bare: Machine, command: tuple[str, ...]
) -> None:
    before = picture(bare)
    document = given(bare, OUTPUT)
    answer = bare.wmcb(*command, *document, "--sandbox-run")
    assert (answer.code, answer.out) == (2, "")
    assert answer.error_lines == [f"wmcb: {document[1]} {NO_LOG_RUNNER}"]
    assert picture(bare) == before


BROUGHT = {
    "on the machine": "",
    "as a file": f"files: [{{path: '{LOG_RUNNER}', text: MZ}}]\n",
    "as an artifact": (
        f"artifacts: [{{name: log, source: 'https://a/l', sha256: {'0' * 64}, path: '{LOG_RUNNER}'}}]\n"
    ),
    "perhaps in an archive": (
        f"artifacts: [{{name: log, source: 'https://a/l', sha256: {'0' * 64}, unpack: {{into: 'C:\\k'}}}}]\n"
    ),
}


@pytest.mark.parametrize("brought", BROUGHT.values(), ids=BROUGHT)
def test_an_output_can_be_written_where_what_writes_it_comes_along(bare: Machine, brought: str) -> None:
    if not brought:
        bare.put(LOG_RUNNER, b"MZ")
    answer = bare.wmcb("plan", *given(bare, brought + OUTPUT), "--sandbox-run")
    assert (answer.code, answer.err) == (0, "")


def test_a_sandbox_that_starts_nothing_needs_no_such_program(bare: Machine) -> None:
    document = given(bare, OUTPUT)
    answer = bare.wmcb("plan", *document)
    assert answer.code == 0
    assert answer.error_lines == [f"wmcb: warning: {document[1]} {NO_LOG_RUNNER}"]


def test_what_it_made_stays_without_it_and_goes_with_a_document_that_wants_it_no_more(
    machine: Machine,
) -> None:
    machine.wmcb(*machine.node)
    made = picture(machine)
    machine.wmcb(*machine.node, *given(machine))
    assert machine.wmcb(*machine.node).out.startswith("nothing to do")
    assert machine.read(NOTE) == b"one"
    assert machine.wmcb(*machine.node, *given(machine, "")).code == 0
    assert picture(machine) == made


def test_a_reset_takes_it_away_too(bare: Machine) -> None:
    before = bare.picture()
    bare.wmcb(*bare.node, *given(bare, CONTAINERD))
    assert bare.wmcb("reset").code == 0
    assert bare.picture() == before


RULE = "firewallRules:\n- {name: kubelet, protocol: tcp, localPorts: ['10250']}\n"


def test_what_nobody_can_tell_does_not_keep_all_else_from_being_told(
    bare: Machine,
) -> None:
    bare.wmcb("prepare", *given(bare, FILE + RULE))
    with State(bare.place).changing(FIREWALL) as document:
        document["refuses"] = 1753  # the firewall's service is stopped
    bare.host.files.remove(PureWindowsPath(NOTE))
    answer = bare.wmcb("status")
    assert answer.code == 1
    assert answer.out.splitlines()[:2] == [
        f"- file {NOTE} is gone",
        "? firewall rule kubelet: cannot read firewall rule kubelet: the service is not running"
        " (Windows error 1753)",
    ]
    told = {tuple(each["resource"]): each for each in bare.wmcb("status", "-o", "json").document["resources"]}
    assert told["file", NOTE]["unseen"] is None
    assert "1753" in told["firewall_rule", "kubelet"]["unseen"]


def test_a_reset_takes_back_what_can_be_looked_at_and_the_next_one_the_rest(bare: Machine) -> None:
    before = bare.picture()
    bare.wmcb("prepare", *given(bare, FILE + RULE))
    with State(bare.place).changing(FIREWALL) as document:
        document["refuses"] = 1753  # the firewall's service is stopped
    stays = (
        "firewall rule kubelet stays, and the next reset takes it back:"
        " cannot read firewall rule kubelet: the service is not running (Windows error 1753)"
    )
    planned = bare.wmcb("reset", "--dry-run").out.splitlines()
    assert f"  {stays}" in planned
    assert planned[-1].endswith("1 to stay, 0 as they are to be")
    for _ in range(2):
        answer = bare.wmcb("reset")
        assert (answer.code, answer.out) == (
            1,
            f"not all could be taken back; all else is as it was before wmcb\n  {stays}\n",
        )
        assert bare.host.files.observe(PureWindowsPath(NOTE)) is None
        (left,) = bare.wmcb("status", "-o", "json").document["resources"]
        assert left["resource"] == ["firewall_rule", "kubelet"]
    with State(bare.place).changing(FIREWALL) as document:
        del document["refuses"]
    assert bare.wmcb("reset").code == 0
    assert bare.picture() == before


def test_one_plan_shows_both(bare: Machine) -> None:
    bare_machine = bare.picture()
    plan = bare.wmcb("plan", *bare.node, *given(bare, CONTAINERD), "--output", "json").document
    created = [change["resource"] for change in plan["changes"]]
    assert created.index(["service", "containerd"]) < created.index(["service", "kubelet"])
    assert [check["id"] for check in plan["checks"] if check["verdict"] == "error"] == []
    assert bare.picture() == bare_machine


def test_a_plan_of_it_alone_needs_no_kubelet(bare: Machine) -> None:
    answer = bare.wmcb("plan", *given(bare))
    assert (answer.code, answer.err) == (0, "")
    assert rf"+ create    file {NOTE}" in answer.out


WRONG = [
    pytest.param(
        "filez: []\n",
        'line 3, column 1 at $.filez: there is no field "filez" here; is files meant?',
        id="a field",
    ),
    pytest.param(
        "files:\n- path: note.txt\n  text: one\n",
        r"line 4, column 9 at $.files.0.path: a whole Windows path with its drive",
        id="a path",
    ),
    pytest.param(
        "nodes: {names: [another]}\nservices:\n- {name: wmcb, program: 'C:\\a.exe'}\n",
        "line 5, column 10 at $.services.0.name: this is the service that does all this",
        id="a document for another node",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), WRONG)
@pytest.mark.parametrize("command", [("plan",), ()], ids=["planned", "made"])
def test_what_is_wrong_is_told_by_file_line_and_field_before_anything_changes(
    machine: Machine, command: tuple[str, ...], text: str, told: str
) -> None:
    before = machine.picture()
    file = given(machine, text)
    answer = machine.wmcb(*command, *machine.node, *file)
    assert answer.code == 2
    assert f"wmcb: {file[1]} {told}" in answer.err
    assert machine.picture() == before


def test_of_several_documents_those_for_this_node_count(machine: Machine) -> None:
    mine = HEAD + "nodes: {names: [win-1], labels: {kubernetes.io/os: windows}}\n" + FILE
    other = HEAD + "nodes: {names: [win-2]}\n" + FILE.replace("one", "two")
    file = machine.give("node.yaml", f"{other}---\n{mine}")
    answer = machine.wmcb("plan", *machine.node, "--node-name", "win-1", "--node-config", file)
    assert f"{file} line 1, column 1: it is for other nodes than win-1, and left out" in answer.err
    assert machine.wmcb(*machine.node, "--node-name", "win-1", "--node-config", file).code == 0
    assert machine.read(NOTE) == b"one"


def test_what_the_node_wants_otherwise_is_refused_at_its_place(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    file = given(machine, "files:\n- {path: 'C:\\etc\\kubernetes\\kubelet.conf', text: mine}\n")
    made = picture(machine)
    answer = machine.wmcb("plan", *file)
    assert answer.code == 2
    assert (
        rf"{file[1]} line 4, column 3 at $.files.0: file C:\etc\kubernetes\kubelet.conf is wanted"
        in answer.err
    )
    assert machine.wmcb(*machine.node, *file).error_lines[-1] == answer.error_lines[-1]
    assert picture(machine) == made


ABSENT = "has to be there already, and is not; put it there first"
MISSING = {
    "a file": (
        ["plan", "prepare"],
        "files:\n- {path: 'C:\\k\\tool.conf', existing: true}\n- {path: 'C:\\k\\tool.log', existing: true}\n",
        [
            rf"line 4, column 3 at $.files.0: C:\k\tool.conf {ABSENT}",
            rf"line 5, column 3 at $.files.1: C:\k\tool.log {ABSENT}",
        ],
    ),
    "a drive": (
        ["prepare"],
        "files:\n- {path: 'Q:\\tools\\tool.conf', text: a}\n",
        [
            r"line 4, column 3 at $.files.0: cannot create Q:\tools: it does not exist (Windows error 3);"
            " a sandbox has no drive but C:; the machine is as it was before"
        ],
    ),
    "a service's program": (
        ["prepare"],
        "services:\n- {name: tool, program: 'C:\\k\\tool.exe'}\n",
        [
            r"line 4, column 3 at $.services.0: cannot start C:\k\tool.exe, the program of service tool:"
            " it does not exist (Windows error 2); put it there first, or name the one that is there;"
            " the machine is as it was before"
        ],
    ),
}


def test_of_many_things_that_are_missing_the_first_are_told_and_all_are_counted(bare: Machine) -> None:
    entries = [f"- {{path: 'C:\\k\\{number}.conf', existing: true}}\n" for number in range(25)]
    answer = bare.wmcb("prepare", *given(bare, f"files:\n{''.join(entries)}"))
    assert answer.code == 1
    told = [line for line in answer.error_lines if ABSENT in line]
    assert len(told) == 20
    assert rf"C:\k\19.conf {ABSENT} (and 5 more)" in told[-1]
    log = bare.read(r"C:\ProgramData\wmcb\logs\wmcb.log").decode()
    assert all(rf"C:\k\{number}.conf {ABSENT}" in log for number in range(20))


@pytest.mark.parametrize(("commands", "text", "lines"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_told_where_the_document_asks_for_it(
    bare: Machine, commands: list[str], text: str, lines: list[str]
) -> None:
    file = given(bare, text)
    for command in commands:
        answer = bare.wmcb(command, *file)
        assert answer.code == 1
        assert answer.error_lines[-len(lines) :] == [f"wmcb: {file[1]} {line}" for line in lines]


def test_a_node_that_cannot_be_made_leaves_what_was_made_before(machine: Machine) -> None:
    machine.put(r"C:\etc\kubernetes", b"a file where a folder has to be")
    assert machine.wmcb(*machine.node, *given(machine)).code == 1
    assert machine.read(NOTE) == b"one"
    assert machine.host.services.read("kubelet") is None


def test_which_program_keeps_the_node_is_nothing_for_a_file(machine: Machine) -> None:
    file = given(machine, f"{FILE}self: {{source: 'https://files.example/wmcb.exe', sha256: {'0' * 64}}}\n")
    answer = machine.wmcb(*machine.node, *file)
    assert f"{file[1]}: self counts where a ConfigMap is followed, and is left out here" in answer.err
    assert (answer.code, machine.read(NOTE)) == (0, b"one")


def test_it_does_not_go_with_user_data(machine: Machine) -> None:
    answer = machine.wmcb("--user-data", machine.give("user-data", "#cloud-config\n"), *given(machine))
    assert answer.code == 2
    assert answer.err == (
        f"wmcb: --node-config does not go with user data: give it to {machine.called} prepare before that\n"
    )


CONTENT = b"fetched"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def url() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT)

        def log_message(self, *_: object) -> None:
            """Nothing is said."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/tool.exe"
        server.shutdown()


def fetched(machine: Machine, url: str, sha256: str) -> tuple[str, str]:
    return given(machine, f"files:\n- {{path: '{NOTE}', source: {{url: '{url}', sha256: {sha256}}}}}\n")


def test_what_it_names_is_fetched_once(machine: Machine, url: str) -> None:
    assert machine.wmcb(*machine.node, *fetched(machine, url, SHA256)).code == 0
    assert machine.read(NOTE) == CONTENT
    elsewhere = fetched(machine, "http://127.0.0.1:9/", SHA256)
    assert machine.wmcb(*machine.node, *elsewhere).out.startswith("nothing to do")
    assert machine.wmcb("plan", *machine.node, *elsewhere).code == 0


def test_another_content_than_it_says_changes_nothing(machine: Machine, url: str) -> None:
    file = fetched(machine, url, SHA256[::-1])
    answer = machine.wmcb(*machine.node, *file)
    assert answer.code == 1
    why = f"its content cannot be fetched from {url}: its sha256 is {SHA256}, not the wanted"
    assert answer.error_lines[-1].startswith(f"wmcb: {file[1]} line 4, column 3 at $.files.0: {why}")
    assert machine.host.files.observe(PureWindowsPath(NOTE).parent) is None
    assert machine.host.services.read("kubelet") is None


@pytest.mark.parametrize("changes", range(4, 200, 14))
def test_cut_off_anywhere_it_is_finished_by_the_next_run(
    bare: Machine, changes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = (*bare.node, *given(bare, CONTAINERD))
    opened = bare.host
    with monkeypatch.context() as patched:
        patched.setattr(bootstrap, "open_machine", lambda _: powered(opened, Power(changes)))
        with suppress(Killed):
            bare.wmcb(*node)
    answer = bare.wmcb(*node)
    assert answer.code == 0, answer.err
    assert bare.wmcb("status").code == 0
    for name in ("containerd", "kubelet"):
        assert bare.host.services.status(name).state is ServiceState.RUNNING
