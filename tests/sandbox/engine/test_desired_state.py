"""What ConfigMaps want, made so on a machine, changed and taken back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any

from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.run import reset
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PROGRAM_FILE
from agent.host.services import ServiceState, StartType
from agent.sources.node_configuration import reading as node_configuration
from agent.sources.node_configuration.compiling import compile_node
from agent.sources.services_configmap import reading as services_configmap
from agent.sources.services_configmap.compiling import compile_services, scripts, stages
from agent.sources.services_configmap.model import WindowsService
from agent.spec import Artifact, Content, Inline, Specification
from sandbox.engine.test_run import run, without_state

DATA = Path(__file__).parents[2] / "data"
HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
AGENT = b"MZ 1"


class Download:
    """Of a file whose digest says what it is."""

    def resolved(self, artifact: Artifact) -> Artifact:
        assert artifact.source == "https://files.example/agent.exe"
        return replace(artifact, files={str(artifact.place): Inline(AGENT).sha256})

    def content(self, sha256: str) -> Content:
        assert sha256 == Inline(AGENT).sha256
        return Inline(AGENT)


def wanted(text: str) -> Specification:
    outcome = node_configuration.read("node.yaml", (HEAD + text).encode())
    compiled = compile_node(outcome.documents, Download(), "node.yaml")
    assert compiled.specification, [str(each) for each in (outcome.report + compiled.report).entries]
    return compiled.specification


NODE = rf"""
directories:
  - path: C:\tools\data
files:
  - path: C:\tools\agent.exe
    protection: program
    source: {{url: 'https://files.example/agent.exe', sha256: {Inline(AGENT).sha256}}}
  - path: C:\tools\settings.ini
    text: "a = 1\n"
environmentVariables:
  - {{name: TOOLS, value: 'C:\tools'}}
  - {{name: NO_TOOLS, absent: true}}
services:
  - name: tools
    program: C:\tools\agent.exe
    arguments: ['--config', 'C:\tools\settings.ini', 'two words']
    start: delayed
    environment: {{A: b}}
    restart: {{afterSeconds: [1, 5], forgivenAfterSeconds: 60}}
    reads: [{{file: 'C:\tools\settings.ini'}}]
eventSources:
  - {{name: tools, messageFile: 'C:\tools\agent.exe'}}
"""


def test_a_node_configuration_is_made_so_changed_and_taken_back(host: Host) -> None:
    host.environment.set("NO_TOOLS", "1")
    before = without_state(host)
    run(host, wanted(NODE))
    installed = host.services.read("tools")
    assert installed
    assert installed.definition.command == (
        r"C:\tools\agent.exe",
        "--config",
        r"C:\tools\settings.ini",
        "two words",
    )
    assert installed.definition.start is StartType.DELAYED
    assert installed.definition.environment == {"A": "b"}
    assert host.services.status("tools").state is ServiceState.RUNNING
    assert (host.environment.get("TOOLS"), host.environment.get("NO_TOOLS")) == (r"C:\tools", None)
    assert run(host, wanted(NODE)) == []
    changes = run(host, wanted(NODE.replace("a = 1", "a = 2")))
    assert changes == [(Action.CHANGE, r"C:\tools\settings.ini"), (Action.RESTART, "tools")]
    reset(host, Silent())
    assert without_state(host) == before


def _programs(host: Host, services: Mapping[str, Any]) -> None:
    """The operator copies them to the machine before it asks for anything."""
    for line in services.values():
        path = PureWindowsPath(line.partition(" ")[0])
        for folder in reversed(path.parents[:-1]):
            if host.files.observe(folder) is None:
                host.files.make_directory(folder, PRIVATE_DIRECTORY)
        if host.files.observe(path) is None:
            host.files.write(path, b"MZ", PROGRAM_FILE)


def test_a_services_configmap_comes_up_stage_by_stage(host: Host) -> None:
    given = json.loads((DATA / "services_configmap" / "aws.json").read_text())
    expected = json.loads((DATA / "services_configmap" / "aws.expected.json").read_text())
    node = json.loads((DATA / "services_configmap" / "node.json").read_text())
    made = services_configmap.read("aws.json", given["data"]).configuration
    assert made
    _programs(host, expected["commands"])
    printed = dict(zip(expected["scripts"], expected["outputs"], strict=True))
    so_far: list[WindowsService] = []
    outputs: dict[Any, str] = {}
    for stage, names in zip(stages(made.services), expected["stages"], strict=True):
        asked = scripts(made, stage, node).scripts
        outputs |= {script.place: printed[script.text] for script in asked}
        so_far += stage
        desired = compile_services(made, so_far, node, outputs).desired
        assert desired
        created = [name for action, name in run(host, desired.specification) if action is Action.CREATE]
        assert [name for name in created if name not in expected["environment"]] == names
        assert run(host, desired.specification) == []
    for name, line in expected["commands"].items():
        installed = host.services.read(name)
        assert installed
        # Word for word as the operator's own daemon would have registered it.
        assert installed.image_path == line
        assert installed.definition.description == f"OpenShift managed {name}"
        assert host.services.status(name).state is ServiceState.RUNNING
