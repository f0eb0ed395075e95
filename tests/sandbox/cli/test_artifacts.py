"""`--node-config` with artifacts: from a server, a mirror or a folder, told as it goes, and gone on with."""

from __future__ import annotations

import pathlib
import threading
import time
from base64 import b64encode
from contextlib import suppress
from pathlib import PureWindowsPath

import pytest

from agent.cli import bootstrap, means
from agent.cli.arguments import parse
from agent.cli.commands import COMMANDS
from agent.cli.engine_run import OneLine
from agent.host.protection import PRIVATE_FILE
from agent.spec import Inline
from sandbox.cli.given import Machine
from sandbox.cli.test_node_config import HEAD
from sandbox.engine.world import Killed, Power, powered
from service.elsewhere import private_mirrors
from unit.artifacts.archives_made import tar_gz
from unit.fetch.servers import Server, answer, ok, raw, silent

ARCHIVE = tar_gz(("tool/bin/tool.exe", b"MZ"), ("tool/LICENSE", b"free"))
TOOL = r"C:\tools\bin\tool.exe"
BODY = b"MZ" + bytes(3 << 20)
TAG = 'ETag: "one"'
BEGUN = 2 << 20
LESS_THAN_AN_ANSWER_SECONDS = 20.0


def given(
    machine: Machine, source: str, content: bytes = ARCHIVE, place: str = "", more: str = ""
) -> tuple[str, ...]:
    place = place or "unpack: {into: 'C:\\tools', strip: 1}"
    text = f"artifacts:\n- {{name: tools, source: '{source}', sha256: {Inline(content).sha256}, {place}}}\n"
    return "--node-config", machine.give("node.yaml", HEAD + text + more)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked twice."""
    monkeypatch.setattr(means, "_PATIENCE_SECONDS", 0.1)


def test_a_plan_fetches_nothing_and_a_second_run_neither(machine: Machine) -> None:
    with Server(ok(ARCHIVE)) as server:
        document = given(machine, server.url("/tools.tar.gz?sig=swordfish"))
        plan = machine.wmcb("plan", *document)
        assert server.heads == []
        assert "+ create    artifact tools" in plan.out
        assert "warning  artifact tools: what is in it is known once it has been fetched\n" in plan.out
        assert "swordfish" not in plan.out
        made = machine.wmcb(*machine.node, *document)
        assert made.code == 0, made.err
        assert machine.read(TOOL) == b"MZ"
        assert machine.wmcb(*machine.node, *document).out.startswith("nothing to do")
        assert "nothing to do, " in machine.wmcb("plan", *machine.node, *document).out
        assert len(server.heads) == 1
    assert machine.wmcb("status").code == 0
    assert machine.wmcb("reset").code == 0
    assert machine.host.files.observe(PureWindowsPath(r"C:\ProgramData\wmcb")) is None


def test_a_servers_password_is_in_no_file_of_ours_and_still_known(machine: Machine) -> None:
    with Server(ok(ARCHIVE), ok(ARCHIVE)) as server:
        url = server.url("/tools.tar.gz").replace("://", "://me@example:swordfish@")
        document = given(machine, url)
        assert machine.wmcb(*machine.node, *document).code == 0
        for path in (machine.place / "ProgramData" / "wmcb").rglob("*"):
            assert path.is_dir() or b"swordfish" not in path.read_bytes(), path
        machine.host.files.remove(PureWindowsPath(TOOL))
        assert machine.wmcb(*machine.node, *document).code == 0
        assert server.header("Authorization") == f"Basic {b64encode(b'me@example:swordfish').decode()}"
    assert machine.read(TOOL) == b"MZ"


def test_what_broke_off_is_gone_on_with_by_the_next_run(machine: Machine) -> None:
    told = f"Content-Range: bytes {BEGUN}-{len(BODY) - 1}/{len(BODY)}"
    part = raw("HTTP/1.1 200 OK", f"Content-Length: {len(BODY)}", TAG, body=BODY[:BEGUN])
    with Server(part, answer("206 Partial Content", BODY[BEGUN:], told, TAG)) as server:
        document = given(machine, server.url("/t.exe"), BODY, "path: 'C:\\tools\\t.exe'")
        answered = machine.wmcb(*machine.node, *document)
        assert answered.code == 1
        assert answered.error_lines[-1] == (
            f"wmcb: {document[1]} line 4, column 3 at $.artifacts.0: its content cannot be fetched "
            f"from {server.url('/t.exe')}: {server.place} breaks off after {BEGUN:,} of {len(BODY):,} bytes"
        )
        assert machine.host.services.read("kubelet") is None
        assert machine.wmcb(*machine.node, *document).code == 0
        assert server.header("Range") == f"bytes={BEGUN}-"
    assert machine.read(r"C:\tools\t.exe") == BODY


def test_a_silent_server_is_waited_for_as_long_as_is_said(machine: Machine) -> None:
    """Though it takes the request, and would have half a minute for its answer."""
    with Server(silent) as server:
        document = given(machine, server.url("/tools.tar.gz?sig=swordfish"))
        began = time.monotonic()
        answered = machine.wmcb(*machine.node, *document, "--max-time", "0.5")
        assert time.monotonic() - began < LESS_THAN_AN_ANSWER_SECONDS
    assert answered.code == 1
    (line,) = [line for line in answered.error_lines if "cannot be fetched" in line]
    assert line == (
        f"wmcb: {document[1]} line 4, column 3 at $.artifacts.0: its content cannot be fetched from "
        f"{server.url('/tools.tar.gz')}: not all of the answer of {server.place} came within 0.5 seconds"
    )


def test_a_mirror_and_a_folder_serve_in_its_place(machine: Machine, tmp_path: pathlib.Path) -> None:
    document = given(machine, "https://nowhere.invalid/v1/tools.tar.gz")
    with Server(ok(ARCHIVE)) as server:
        mirrors = (
            "--mirror",
            "https://other.invalid/=https://a/",
            "--mirror",
            f"https://nowhere.invalid/={server.url('/m/')}",
        )
        assert machine.wmcb(*machine.node, *document, *mirrors).code == 0
        assert server.heads[0].startswith("GET /m/v1/tools.tar.gz ")
    assert machine.wmcb("reset").code == 0
    folder = tmp_path / "offline"
    folder.mkdir()
    (folder / "tools.tar.gz").write_bytes(ARCHIVE)
    assert machine.wmcb(*machine.node, *document, "--artifacts", str(folder)).code == 0
    assert machine.read(TOOL) == b"MZ"


def test_checksums_from_beside_it_are_said_to_be_weaker(machine: Machine) -> None:
    text = "{name: a, source: 'https://a/b.exe', checksums: 'https://a/b.sha256', path: 'C:\\b.exe'}"
    document = machine.give("node.yaml", f"{HEAD}artifacts: [{text}]\n")
    plan = machine.wmcb("plan", "--node-config", document)
    assert "warning  artifact a: its digest is fetched from beside it, and whoever can change" in plan.out


@pytest.mark.parametrize("changes", range(1, 60, 8))
def test_cut_off_anywhere_it_is_finished_by_the_next_run(
    machine: Machine, changes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(ok(ARCHIVE)) as server:
        document = given(machine, server.url("/tools.tar.gz"))
        opened = machine.host
        with monkeypatch.context() as patched:
            patched.setattr(bootstrap, "open_machine", lambda _: powered(opened, Power(changes)))
            patched.setattr(threading, "excepthook", lambda _: None)  # a thread ends with its process
            with suppress(Killed):
                machine.wmcb(*machine.node, *document)
        answered = machine.wmcb(*machine.node, *document)
    assert answered.code == 0, answered.err
    assert machine.read(TOOL) == b"MZ"
    assert machine.wmcb("status").code == 0


USAGE = {
    "no mirror": (("--mirror", "https://a/"), "--mirror https://a/: expected FROM=TO, such as "),
    "a password": (("--mirror", "https://me:swordfish@a/"), "--mirror https://***@a/: expected FROM=TO"),
    "half a slash": (("--mirror", "https://a/=https://b"), "both sides have to end with a slash, or neither"),
    "no folder": (("--artifacts", "/nowhere/at/all"), "--artifacts /nowhere/at/all: there is no such folder"),
}


@pytest.mark.parametrize("case", USAGE.values(), ids=USAGE)
def test_what_cannot_be_meant_is_told(machine: Machine, case: tuple[tuple[str, ...], str]) -> None:
    options, why = case
    answered = machine.wmcb("plan", *given(machine, "https://a/b.zip"), *options)
    assert answered.code == 2
    assert why in answered.err


def test_a_folder_that_may_not_be_looked_at_is_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, is_dir = given(machine, "https://a/b.zip"), pathlib.Path.is_dir

    def refused(path: pathlib.Path) -> bool:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path)

    monkeypatch.setattr(pathlib.Path, "is_dir", refused)
    answered = machine.wmcb("plan", *document, "--artifacts", "/closed")
    assert answered.code == 2
    assert "--artifacts /closed: it cannot be read (error 13: Permission denied)" in answered.err


def test_somebody_at_a_console_sees_how_much_has_come(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr("agent.cli.engine_run._is_console", lambda: True)
    monkeypatch.setattr(OneLine, "meanwhile", lambda _, line: lines.append(line))
    monkeypatch.setattr("agent.cli.means._SHOWN_EVERY_SECONDS", 0.0)
    with Server(ok(BODY)) as server:
        document = given(machine, server.url("/t.exe"), BODY, "path: 'C:\\tools\\t.exe'")
        assert machine.wmcb(*machine.node, *document).code == 0
    assert lines[:2] == ["fetching tools 1 of 3 MB", "fetching tools 2 of 3 MB"]


def test_where_contents_are_had_is_kept_with_the_resident_service(
    machine: Machine, tmp_path: pathlib.Path
) -> None:
    def arguments() -> list[str]:
        service = machine.host.services.read("wmcb")
        assert service is not None
        return [word for word in service.definition.command if word not in ("daemon", "run")][1:]

    kept = [
        "--mirror",
        "https://a/=https://b/",
        "--mirror",
        "https://c/=https://d/",
        "--artifacts",
        str(tmp_path),
    ]
    assert machine.wmcb("daemon", "install", *kept).code == 0
    assert arguments() == kept
    assert machine.wmcb("daemon", "install", "--metrics-port", "9182").code == 0
    assert arguments() == ["--metrics-port", "9182", *kept]
    assert machine.wmcb("daemon", "install", "--mirror=", "--metrics-port", "0").code == 0
    assert arguments() == ["--artifacts", str(tmp_path)]


PRIVATE_MIRRORS = r"C:\Program Files\wmcb\mirrors"


@pytest.mark.parametrize("secret", ["https://me:swordfish@b/", "https://b/?sig=swordfish&path=/"])
def test_a_mirrors_secret_is_in_a_private_file_and_in_no_command_line_that_all_may_read(
    machine: Machine, secret: str
) -> None:
    mirrors = ("--mirror", f"https://a/={secret}", "--mirror", "https://c/=https://d/")
    answer = machine.wmcb("daemon", "install", *mirrors)
    assert answer.code == 0, answer.err
    service = machine.host.services.read("wmcb")
    assert service is not None
    assert "swordfish" not in service.image_path
    assert service.definition.command[-2:] == ("--mirror", "https://c/=https://d/")
    place = PureWindowsPath(PRIVATE_MIRRORS)
    assert private_mirrors(machine.host) == (f"https://a/={secret}",)
    request = parse(service.definition.command[1:], COMMANDS)
    used = [str(each) for each in means.means_of_service(request, machine.host).mirrors]
    assert used == ["https://c/=https://d/", f"https://a/={secret}"]
    assert machine.host.files.descriptor(place) == PRIVATE_FILE
    for words in (("daemon", "install", "--metrics-port", "9182"), ("status", "-o", "json"), ("reset",)):
        answer = machine.wmcb(*words)
        assert "swordfish" not in answer.out + answer.err
    assert private_mirrors(machine.host) == (f"https://a/={secret}",)
    assert machine.wmcb("daemon", "install", "--mirror=").code == 0
    assert machine.host.files.observe(place) is None


def test_a_mirrors_secret_goes_with_the_service(machine: Machine) -> None:
    mirror = ("--mirror", "https://a/=https://me:swordfish@b/")
    assert machine.wmcb("daemon", "install", *mirror).code == 0
    assert machine.wmcb("daemon", "uninstall").code == 0
    assert machine.host.files.observe(PureWindowsPath(PRIVATE_MIRRORS).parent) is None


def test_the_command_that_is_advised_has_no_secret_of_a_mirror(machine: Machine) -> None:
    mirror = ("--mirror", "https://a/=https://b/?sig=swordfish&path=/")
    assert machine.wmcb(*machine.node, *mirror).code == 0
    told = machine.wmcb("status", "-o", "json").document["command"]
    assert " --mirror *** " in told
    assert b"swordfish" not in machine.read(r"C:\ProgramData\wmcb\node.json")


def test_a_mirror_with_a_name_like_a_token_is_one(machine: Machine) -> None:
    alike = ("--mirror", r"https://a=server.mirror0123456789")
    assert machine.wmcb("daemon", "install", *alike).code == 0
