"""How large what a document brings may be: declared, looked at before it comes, and while it comes."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from base64 import b64encode
from contextlib import suppress
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.artifacts.receiving import RESERVE
from agent.cli import means
from agent.spec import Inline
from lab.waiting import until
from sandbox.cli.given import Machine
from sandbox.cli.test_node_config import HEAD
from unit.fetch.servers import PATIENCE, Server, ok, raw

MEBIBYTE = 1 << 20
BODY = b"MZ" + bytes(3 * MEBIBYTE)
GIVEN = PureWindowsPath(r"C:\ProgramData\wmcb\given")
WORKER = json.dumps(
    {
        "ignition": {"version": "3.4.0"},
        "systemd": {
            "units": [{"name": "kubelet.service", "contents": "[Service]\nExecStart=/usr/bin/kubelet\n"}]
        },
    }
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked twice."""
    monkeypatch.setattr(means, "_PATIENCE_SECONDS", 0.1)


def artifact(name: str, source: str, more: str = "") -> str:
    place = f"path: 'C:\\tools\\{name}.exe'"
    return f"- {{name: {name}, source: '{source}', sha256: {Inline(BODY).sha256}, {place}{more}}}\n"


def node_config(machine: Machine, *artifacts: str) -> tuple[str, ...]:
    return "--node-config", machine.give("node.yaml", f"{HEAD}artifacts:\n{''.join(artifacts)}")


def parts(machine: Machine) -> list[str]:
    """What of a download lies on the disk."""
    files = machine.host.files
    return [] if files.observe(GIVEN) is None else [name for name in files.list(GIVEN) if "." in name]


ENDLESS = b"%x\r\n%s\r\n" % (MEBIBYTE, bytes(MEBIBYTE)) * 4
TOO_LARGE = {
    "told before": (
        raw("HTTP/1.1 200 OK", f"Content-Length: {len(BODY)}", body=BODY[:10]),
        ", maxSize: 3Mi",
        "the answer is larger than 3,145,728 bytes",
    ),
    "told before, by default": (
        raw("HTTP/1.1 200 OK", f"Content-Length: {(1 << 30) + 1}", body=BODY[:10]),
        "",
        "the answer is larger than 1,073,741,824 bytes",
    ),
    "seen while it comes": (
        raw("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=ENDLESS),
        ", maxSize: 2Mi",
        "the answer is larger than 2,097,152 bytes",
    ),
}


def test_a_first_request_that_brings_nothing_leaves_no_file(machine: Machine) -> None:
    with Server(raw("HTTP/1.1 404 Not Found", "Content-Length: 0")) as server:
        answered = machine.wmcb("prepare", *node_config(machine, artifact("tool", server.url("/t.exe"), "")))
    assert answered.code == 1
    assert " answers 404" in answered.error_lines[-1]
    assert parts(machine) == []


@pytest.mark.parametrize(("answer", "more", "told"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_larger_than_is_said_is_refused_and_leaves_nothing(
    machine: Machine, answer: Any, more: str, told: str
) -> None:
    with Server(answer) as server:
        document = node_config(machine, artifact("tool", server.url("/t.exe"), more))
        answered = machine.wmcb("prepare", *document)
        assert answered.code == 1
        assert answered.error_lines[-1] == (
            f"wmcb: {document[1]} line 4, column 3 at $.artifacts.0: its content cannot be fetched from "
            f"{server.url('/t.exe')}: {told}; if that is right, let its maxSize say more"
        )
        assert len(server.heads) == 1
    assert parts(machine) == []


def test_a_file_by_its_source_has_a_limit_too(machine: Machine) -> None:
    with Server(ok(BODY), ok(BODY)) as server:
        source = f"{{url: '{server.url('/t.exe')}', sha256: {Inline(BODY).sha256}, maxSize: %s}}"
        text = f"{HEAD}files: [{{path: 'C:\\tools\\t.exe', source: {source}}}]\n"
        small = machine.wmcb("prepare", "--node-config", machine.give("node.yaml", text % "1Mi"))
        assert small.code == 1
        assert "the answer is larger than 1,048,576 bytes" in small.error_lines[-1]
        assert machine.wmcb("prepare", "--node-config", machine.give("node.yaml", text % "4Mi")).code == 0
    assert machine.read(r"C:\tools\t.exe") == BODY


def test_a_file_of_the_machine_has_a_limit_too(machine: Machine) -> None:
    machine.put(r"C:\setup\t.exe", BODY)
    document = node_config(machine, artifact("tool", r"C:\setup\t.exe", ", maxSize: 1Mi"))
    answered = machine.wmcb("prepare", *document)
    assert answered.code == 1
    assert answered.error_lines[-1].endswith(
        "it is larger than 1,048,576 bytes; if that is right, let its maxSize say more"
    )
    assert parts(machine) == []


def test_a_larger_size_that_is_declared_is_kept_for_a_repair(machine: Machine) -> None:
    with Server(ok(BODY)) as server:
        document = node_config(machine, artifact("tool", server.url("/t.exe"), ", maxSize: 2Gi"))
        assert machine.wmcb("prepare", *document).code == 0
    (note,) = (machine.place / "ProgramData" / "wmcb" / "artifacts").iterdir()
    assert json.loads(note.read_bytes())["source"]["size_limit"] == 2 << 30


SIZES = {"nothing": "''", "no size": "large", "less than nothing": "'-1Gi'", "zero": "'0'", "a part": "1.5Gi"}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_size_that_is_none_is_one_line(machine: Machine, size: str) -> None:
    document = node_config(machine, artifact("tool", "https://nowhere.invalid/t.exe", f", maxSize: {size}"))
    answered = machine.wmcb("plan", *document)
    assert answered.code == 2
    (line,) = answered.error_lines
    assert "$.artifacts.0.maxSize: a size, such as 500Mi or 4Gi, is expected" in line


def fill(machine: Machine, free: int) -> None:
    machine.facts(disk={"total": 1 << 40, "free": free})


def test_what_does_not_fit_is_refused_before_it_is_written(machine: Machine) -> None:
    fill(machine, RESERVE + 2 * MEBIBYTE)
    with Server(ok(BODY)) as server:
        answered = machine.wmcb("prepare", *node_config(machine, artifact("tool", server.url("/t.exe"))))
    assert answered.code == 1
    assert answered.error_lines[-1].endswith(
        "cannot fetch tool: the disk is full (Windows error 112); C: has 258 MiB free, 4 MiB are to be"
        " written, and 256 MiB have to stay free: make room there"
    )
    assert parts(machine) == []


def test_downloads_that_come_together_share_what_is_free(machine: Machine) -> None:
    """Each alone would fit. The second begins when the first has written something."""
    fill(machine, RESERVE + 5 * MEBIBYTE)
    is_refused = threading.Event()

    def half(_server: Server, connection: socket.socket, _head: str) -> None:
        connection.sendall(ok(BODY)[: 2 * MEBIBYTE])
        is_refused.wait(PATIENCE)

    def second(_server: Server, connection: socket.socket, _head: str) -> None:
        begun = (machine.place / "ProgramData" / "wmcb" / "given").glob
        until(lambda: any(part.stat().st_size for part in begun("*.part")), "the first is written")
        with suppress(OSError):
            connection.sendall(ok(BODY + b"b"))
            connection.recv(1)
        is_refused.set()

    with Server(half) as one, Server(second) as two:
        first, other = artifact("a", one.url("/a.exe")), artifact("b", two.url("/b.exe"))
        other = other.replace(Inline(BODY).sha256, Inline(BODY + b"b").sha256)
        answered = machine.wmcb("prepare", *node_config(machine, first, other))
    assert answered.code == 1
    told = "cannot fetch b: the disk is full (Windows error 112); C: has 261 MiB free, 7 MiB are to be"
    assert any(told in line for line in answered.error_lines), answered.err


def ignition(machine: Machine, size: int) -> str:
    document = json.loads(WORKER)
    packed = b64encode(gzip.compress(bytes(size))).decode()
    contents = {"source": f"data:;base64,{packed}", "compression": "gzip"}
    document["storage"] = {"files": [{"path": "/etc/kubernetes/large", "contents": contents}]}
    return machine.give("worker.ign", json.dumps(document))


def words(machine: Machine, size: int, *more: str) -> tuple[str, ...]:
    return "plan", "--ignition", ignition(machine, size), *machine.node[2:], *more


def test_a_compressed_file_that_becomes_too_large_is_one_line(machine: Machine) -> None:
    answered = machine.wmcb(*words(machine, (256 << 20) + 1))
    assert answered.code == 2
    (line,) = answered.error_lines
    assert line.endswith(
        "$.storage.files.0.contents.source: it is larger than 268,435,456 bytes unpacked;"
        " if that is right, --max-file-size allows more"
    )


def test_how_large_it_may_become_can_be_said(machine: Machine) -> None:
    refused = machine.wmcb(*words(machine, 3 * MEBIBYTE, "--max-file-size", "2Mi"))
    assert refused.code == 2
    assert "larger than 2,097,152 bytes unpacked" in refused.error_lines[-1]
    assert machine.wmcb(*words(machine, 3 * MEBIBYTE, "--max-file-size", "3Mi")).code == 0


@pytest.mark.parametrize("size", ["", "large", "-1Gi", "0"])
def test_an_option_that_is_no_size_is_one_line(machine: Machine, size: str) -> None:
    answered = machine.wmcb(*words(machine, 1, "--max-file-size", size))
    assert answered.code == 2
    (line,) = answered.error_lines
    assert "--max-file-size" in line
    assert "expected a size, such as 500Mi or 1Gi" in line


def test_a_plan_shows_how_large_a_compressed_file_becomes(machine: Machine) -> None:
    plan = machine.wmcb(*words(machine, 5 * MEBIBYTE))
    assert plan.code == 0, plan.err
    told = (
        "  changed  file /etc/kubernetes/large (0.0 MiB -> 5.0 MiB): it is compressed, and written unpacked"
    )
    assert told in plan.out.splitlines()
