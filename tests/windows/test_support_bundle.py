"""A bundle of a Windows node, made by the exe: what is in it, and that no secret is."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping

from lab.fixtures import node
from lab.node import Node
from windows.exe import DOWNLOADED, download
from windows.test_bootstrap import Machine, machine

__all__ = ["machine", "node"]

PLACE = r"C:\given files\node.zip"
BOOTSTRAP = r"C:\etc\kubernetes\kubeconfig"
LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"
ENVIRONMENT = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
VARIABLE = "DB_PASSWORD"


def _read(node: Node) -> Mapping[str, str]:
    with zipfile.ZipFile(node.path(PLACE)) as written:
        return {name: written.read(name).decode() for name in written.namelist()}


def _plant(node: Node) -> list[str]:
    """Secrets where somebody who looks for a fault lets them get to."""
    known = re.findall(r"(?:token|client-key-data): *(\S+)", node.path(BOOTSTRAP).read_text())
    assert known
    variable, password, bearer = "Geheim1wort", "Geheim2wort", "Geheim3wort"
    done = node.run("reg.exe", "add", ENVIRONMENT, "/v", VARIABLE, "/d", variable, "/f")
    assert done.code == 0, done.err
    lines = [
        f"somebody printed {' '.join(known)} {variable}",
        f"GET https://user:{password}@example.com/kubelet.exe failed",
        f"Authorization: Bearer {bearer}",
        "a line without one",
    ]
    with node.path(LOG).open("a") as log:
        log.writelines(f"{line}\n" for line in lines)
    return [*known, variable, password, bearer]


def test_of_a_node(machine: Machine) -> None:
    machine.made()
    assert machine.wmcb("daemon", "install").code == 0
    planted = _plant(machine.node)
    done = machine.wmcb("support-bundle", PLACE)
    assert done.code == 0, done.err
    files = _read(machine.node)
    assert json.loads(files["about.json"])["missing"] == {}
    services = json.loads(files["services.json"])
    assert services["kubelet"]["state"] == "RUNNING"
    assert services["wmcb"]["command"][-2:] == ["daemon", "run"]
    assert "make this machine a node: done" in files["logs/wmcb.log"]
    assert json.loads(files["machine.json"])["windows"].startswith("Windows")
    for secret in planted:
        assert [name for name, text in files.items() if secret in text] == []
    assert files["logs/wmcb.log"].endswith("a line without one\n")
    # Nobody else may read it.
    assert machine.node.mode(PLACE) & 0o007 == 0


def test_of_a_machine_that_is_no_node(node: Node) -> None:
    download(node)
    node.path(r"C:\given files").mkdir()
    done = node.run(DOWNLOADED, "support-bundle", PLACE)
    assert done.code == 0, done.err
    assert {"about.json", "machine.json", "services.json", "status.json"} <= set(_read(node))
