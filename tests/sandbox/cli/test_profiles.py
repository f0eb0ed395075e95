"""The documents in packaging/profiles: each is one that wmcb and its schema take, and can be made so."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from agent.documents import read_document
from agent.host.sandbox.machine import Machine as SandboxMachine
from agent.host.sandbox.os_settings import FEATURES
from agent.host.sandbox.state import State
from agent.host.services import ServiceState
from agent.sources.node_configuration import reading as node_configuration
from agent.sources.node_configuration.compiling import compile_node
from agent.spec import File, Inline
from sandbox.cli.given import Machine, program
from sandbox.cli.test_node_config import picture
from sandbox.engine.test_desired_state import Download
from unit.sources.node_configuration.json_schema import is_valid

PACKAGING = Path(__file__).parents[3] / "packaging"
SCHEMA = json.loads((PACKAGING / "schemas" / "nodeconfiguration-v1beta1.json").read_text())
FILES = sorted((PACKAGING / "profiles").glob("*.yaml"))
PROFILES = [pytest.param(file, id=file.stem) for file in FILES]
TO_BE_THERE = re.compile(rb"path: '(?P<path>[^']+)', existing: true")


def documents(file: Path) -> list[bytes]:
    return file.read_bytes().split(b"\n---\n")


def test_each_is_named_in_the_table() -> None:
    table = (PACKAGING / "profiles" / "README.md").read_text()
    assert [file.name for file in FILES if f"| `{file.name}` |" not in table] == []


@pytest.mark.parametrize("file", PROFILES)
def test_it_is_valid_by_the_schema_that_it_names(file: Path) -> None:
    for document in documents(file):
        assert is_valid(SCHEMA, read_document(document).value)


@pytest.mark.parametrize("file", PROFILES)
def test_its_plan_can_be_shown_and_changes_nothing(bare: Machine, file: Path) -> None:
    for found in TO_BE_THERE.finditer(file.read_bytes()):
        bare.put(found["path"].decode(), program())
    before = picture(bare)
    answer = bare.wmcb("plan", "--node-name", "win-1", "--node-config", str(file), "-o", "json")
    assert answer.code == 0, answer.err
    kinds = {change["resource"][0] for change in answer.document["changes"]}
    wanted = {name for document in documents(file) for name in fields(document)}
    assert len(kinds) >= len(wanted - {"files", "nodes", "cniConfigurations", "containerPrograms"}), kinds
    assert picture(bare) == before


def fields(document: bytes) -> set[str]:
    value: Any = read_document(document).value
    return set(value) - {"apiVersion", "kind"}


RESTART = 1003


def archive(name: str, **members: bytes) -> bytes:
    """As the project publishes it."""
    packed = io.BytesIO()
    with tarfile.open(name, "w:gz", packed) as tar:
        for member, content in members.items():
            entry = tarfile.TarInfo(member.replace("__", "/") + ".exe")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def put_downloads(folder: Path, file: Path, containerd: bytes = program()) -> None:
    """What the profile fetches, with the checksums beside it."""
    folder.mkdir()
    for document in documents(file):
        value: Any = read_document(document).value
        for artifact in value.get("artifacts", ()):
            source, checksums = (artifact[name].rpartition("/")[2] for name in ("source", "checksums"))
            is_containerd = artifact["name"] == "containerd"
            members = {"bin__containerd": containerd} if is_containerd else {"crictl": program()}
            content = archive(source, **members)
            (folder / source).write_bytes(content)
            (folder / checksums).write_text(f"{hashlib.sha256(content).hexdigest()}  {source}\n")


def test_containerd_comes_up_by_its_profile_and_goes_again(bare: Machine) -> None:
    before = bare.picture()
    file = PACKAGING / "profiles" / "containerd.yaml"
    put_downloads(bare.folder / "downloads", file)
    words = ("prepare", "--node-config", str(file), "--artifacts", str(bare.folder / "downloads"))
    answer = bare.wmcb(*words)
    assert answer.code == 0, answer.err
    assert bare.host.services.status("containerd").state is ServiceState.RUNNING
    assert bare.read(r"C:\Program Files\containerd\containerd.exe") == program()
    assert b"bin_dirs" in bare.read(r"C:\Program Files\containerd\config.toml")
    assert bare.wmcb(*words).out.startswith("nothing to do")
    reset = bare.wmcb("reset")
    assert reset.code == 0
    assert "holds something that is not wmcb's" not in reset.err
    assert bare.picture() == before


def test_containerd_waits_for_the_restart_that_the_containers_feature_takes(bare: Machine) -> None:
    with State(bare.place).changing(FEATURES) as document:
        document["Containers"] = {"state": "DISABLED"}
    file = PACKAGING / "profiles" / "containerd.yaml"
    put_downloads(bare.folder / "downloads", file)
    words = ("prepare", "--node-config", str(file), "--artifacts", str(bare.folder / "downloads"))
    answer = bare.wmcb(*words)
    assert answer.code == RESTART, answer.err
    assert "Windows feature Containers is enabled when Windows has been restarted" in answer.out
    assert bare.host.services.read("containerd") is None
    machine = SandboxMachine(bare.place, run_services=False)
    machine.shut_down()
    machine.start_up()
    assert bare.wmcb(*words).code == 0
    assert bare.host.services.status("containerd").state is ServiceState.RUNNING


def test_what_a_shell_on_linux_sees_of_the_exit_code_that_asks_for_a_restart(bare: Machine) -> None:
    """A process there ends with eight bits; Windows has all of them, which the lab shows."""
    file = bare.give(
        "node.yaml",
        "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\nwindowsFeatures: [{name: Containers}]\n",
    )
    with State(bare.place).changing(FEATURES) as document:
        document["Containers"] = {"state": "DISABLED"}
    wmcb = Path(sys.executable).with_name("wmcb")
    done = subprocess.run([wmcb, "prepare", "--node-config", file, "--sandbox", bare.place], check=False)
    assert done.returncode == RESTART % 256 == 235


def test_pods_get_their_network_alike_beside_services_and_beside_daemon_sets() -> None:
    profile: Any = read_document((PACKAGING / "profiles" / "services.yaml").read_bytes()).value
    alone = {name: profile[name] for name in ("apiVersion", "kind", "cniConfigurations")}
    documents = node_configuration.read("node.yaml", json.dumps(alone).encode()).documents
    made = compile_node(documents, Download(), "node.yaml").specification
    assert made is not None
    (written,) = (want.content for want in made.wants if isinstance(want, File))
    assert isinstance(written, Inline)
    bridge = b"".join(written.blocks())
    overlay = bridge.replace(b"cbr0", b"flannel.4096").replace(b"win-bridge", b"win-overlay")
    for way, expected in {"host-gw": bridge, "overlay": overlay}.items():
        assert (PACKAGING / "manifests" / way / "10-flannel.conf").read_bytes() == expected
