"""The same once more: that there is nothing to do is known without reading the document, where it is so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PureWindowsPath

import pytest

from agent.cli import wanted
from agent.host.protection import PRIVATE_FILE
from sandbox.cli.given import WORKER, Machine

NOTHING = "nothing to do: this machine is the node that is wanted\n"
CONFIGURATION = PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf")


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tells of each time that a document was read."""
    read: list[str] = []
    real = wanted.wanted_node

    def tell(*arguments: object) -> object:
        read.append("read")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("agent.cli.wanted.wanted_node", tell)
    return read


def test_nothing_is_read(machine: Machine, unread: list[str]) -> None:
    machine.wmcb(*machine.node)
    unread.clear()
    answer = machine.wmcb(*machine.node)
    assert (answer.code, answer.out) == (0, NOTHING)
    assert unread == []


def test_it_is_in_the_log_all_the_same(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    before = machine.read(r"C:\ProgramData\wmcb\logs\wmcb.log").count(b"\n")
    machine.wmcb(*machine.node)
    assert machine.read(r"C:\ProgramData\wmcb\logs\wmcb.log").count(b"\n") >= before + 2


CHANGED = {
    "another option": ("--kubelet-verbosity", "4"),
    "another release": ("--kubelet-version", "1.32"),
}


@pytest.mark.parametrize("more", CHANGED.values(), ids=CHANGED)
def test_what_is_asked_otherwise_is_read(machine: Machine, unread: list[str], more: tuple[str, str]) -> None:
    machine.wmcb(*machine.node)
    unread.clear()
    others = machine.node[:-2] if more[0] == "--kubelet-version" else machine.node
    assert machine.wmcb(*others, *more).code == 0
    assert unread == ["read"]


def test_another_kubelet_is_seen(machine: Machine, unread: list[str]) -> None:
    machine.wmcb(*machine.node)
    unread.clear()
    machine.give("given/kubelet.exe", (machine.folder / "given" / "kubelet.exe").read_bytes() + b"2")
    assert "1 changed" in machine.wmcb(*machine.node).out
    assert unread == ["read"]


def test_another_document_is_seen(machine: Machine) -> None:
    document = machine.give("worker.ign", WORKER.read_bytes())
    node = ("--ignition", document, *machine.node[2:])
    machine.wmcb(*node)
    machine.give("worker.ign", WORKER.read_bytes().replace(b"3.4.0", b"3.3.0"))
    assert machine.wmcb(*node).out == NOTHING
    changed = json.loads(WORKER.read_bytes())
    (authority,) = (f for f in changed["storage"]["files"] if f["path"] == "/etc/kubernetes/kubelet-ca.crt")
    authority["contents"] = {"source": "data:,another"}
    machine.give("worker.ign", json.dumps(changed))
    assert "1 changed" in machine.wmcb(*node).out


def test_drift_is_seen(machine: Machine, unread: list[str]) -> None:
    machine.wmcb(*machine.node)
    unread.clear()
    machine.host.files.write(CONFIGURATION, b"{}", PRIVATE_FILE)
    assert "1 changed" in machine.wmcb(*machine.node).out
    assert unread == ["read"]


def test_for_programs_and_with_more_words_it_is_read(machine: Machine, unread: list[str]) -> None:
    machine.wmcb(*machine.node)
    unread.clear()
    notes = machine.wmcb(*machine.node, "--output", "json").document["notes"]
    assert notes
    assert unread == ["read"]


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[bytes]]]:
    """A URL, and what is answered there."""
    contents = [b"first"]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(contents[0])))
            self.end_headers()
            self.wfile.write(contents[0])

        def log_message(self, *_: object) -> None:
            """Nothing is said."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/cloud.conf", contents
        server.shutdown()


def test_what_is_elsewhere_is_asked_for_each_time(
    machine: Machine, elsewhere: tuple[str, list[bytes]]
) -> None:
    url, contents = elsewhere
    document = json.loads(WORKER.read_bytes())
    for file in document["storage"]["files"]:
        if file["path"] == "/etc/kubernetes/kubelet-ca.crt":
            file["contents"] = {"source": url}
            break
    else:
        pytest.fail("the example has no such file any more")
    given = machine.give("worker.ign", json.dumps(document))
    node = ("--ignition", given, *machine.node[2:], "--allow-plain-http")
    assert machine.wmcb(*node).code == 0
    contents[0] = b"second"
    assert "1 changed" in machine.wmcb(*node).out


def test_a_version_that_is_assumed_is_told_again_where_that_changes_something(machine: Machine) -> None:
    *node, _, _ = machine.node
    assumed = "wmcb: warning: kubelet.exe cannot be asked for its version here; 1.36 is assumed"
    assert assumed in machine.wmcb(*node).err
    assert assumed not in machine.wmcb(*node).err
    assert machine.wmcb(*node, "--kubelet-version", "1.20").code == 0
    answer = machine.wmcb(*node)
    assert answer.error_lines[0].startswith(assumed)
    assert "change service kubelet" in answer.error_lines
