"""Secrets in what is neither a document nor an option, and in a node that is made, changed and taken away.

What is planted in fields and options is in `test_planted_secrets`.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
import yaml

from agent.engine import run as engine
from agent.engine.journal import Journal, Step
from agent.host.port import RegistryKind, RegistryValue
from agent.kube import kubeconfig
from agent.kube.failure import NotUsable
from agent.redaction import redacted
from agent.sources.cloudconfig import document as cloudconfig_document
from agent.sources.ignition import document as ignition_document
from agent.sources.kubeadm import reading as join_configuration
from agent.sources.kubelet import documents as kubelet_documents
from agent.sources.node_configuration import reading as node_configuration
from agent.sources.services_configmap import reading as services_configmap
from sandbox.cli.given import Answer, Machine
from sandbox.cli.planting import NO_BLANK, PLANTS, Plant, leaks_of, leaves, planted, written
from sandbox.cli.test_join import KUBELET_CONFIG, Cluster, cluster, join, windows
from unit.kube.api_server import TOKEN, status

__all__ = ["cluster", "windows"]

DATA = Path(__file__).parents[2] / "data"
LOG = r"C:\x.log"


def _check(machine: Machine, plant: Plant, answer: Answer, about: object) -> None:
    assert leaks_of(machine, plant, answer, about) == []


READERS: dict[str, Callable[[bytes], object]] = {
    "NodeConfiguration": lambda content: node_configuration.read("node.yaml", content),
    "JoinConfiguration": lambda content: join_configuration.read("join.yaml", content),
    "Ignition": lambda content: ignition_document.Document("worker.ign", content.decode()),
    "cloud-config": lambda content: cloudconfig_document.read("user-data", content.decode()),
    "services ConfigMap": lambda content: services_configmap.read("x", {"services": content.decode()}),
    "KubeletConfiguration": lambda content: kubelet_documents.read_document("kubelet.conf", content),
    "kubeconfig": lambda content: kubeconfig.read(content, "kubelet.conf"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_reader_registers_what_it_reads(read: Callable[[bytes], object]) -> None:
    """So another program that repeats it cannot have it shown."""
    read(b'{"users": [{"name": "u", "user": {"password": "Geheim401wort"}}]}')
    assert redacted("the server: Geheim401wort is wrong") == "the server: *** is wrong"


KUBECONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443"}}],
    "users": [{"name": "u", "user": {"token": "t", "client-key": "x", "username": "me"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "x",
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_a_kubeconfig(plant: Plant) -> None:
    for place in leaves(KUBECONFIG):
        made, is_key = planted(KUBECONFIG, place, plant)
        try:
            kubeconfig.read(yaml.safe_dump(made).encode(), "given.conf").check()
        except NotUsable as fault:
            assert (NO_BLANK if is_key else plant).secret not in redacted(str(fault)), place


UNITS = {
    "half a value": ("Environment=DB_PASSWORD=one {}", "Geheim022wort"),
    "a specifier": ("Environment=DB_PASSWORD=one {}%q", "Geheim023wort"),
    "an option of the kubelet": ("ExecStart=/usr/bin/kubelet --token={} --unknown", "Geheim024wort"),
    "a word too many": ("ExecStart=/usr/bin/kubelet --token {} x", "Geheim025wort"),
}


@pytest.mark.parametrize(("line", "secret"), UNITS.values(), ids=UNITS)
def test_a_unit_of_systemd(machine: Machine, line: str, secret: str) -> None:
    plant = Plant(line, secret)
    unit = f"[Service]\nExecStart=/usr/bin/kubelet --v=2\n{plant.value}\n"
    document = {
        "ignition": {"version": "3.2.0"},
        "systemd": {"units": [{"name": "kubelet.service", "contents": unit}]},
    }
    given = machine.give("worker.ign", json.dumps(document))
    for output in ("text", "json"):
        answer = machine.wmcb("plan", "--ignition", given, *machine.node[2:], "--output", output)
        _check(machine, plant, answer, line)


MISUSES: dict[str, tuple[tuple[str, ...], str]] = {
    "a token as a node's name": (("plan", "--node-name", "abcdef.0123456789geheim"), "0123456789geheim"),
    "a token with a letter too few": (("plan", "--node-name", "bcdef.0123456789geheim"), "0123456789geheim"),
    "a token as a command": (("abcdef.0123456789geheim",), "0123456789geheim"),
    "an option that there is none of": (("plan", "--tokn=abcdef.0123456789geheim"), "0123456789geheim"),
    "a token of another length": (("join", "--token", "geheim.wort"), "geheim.wort"),
}


@pytest.mark.parametrize(("words", "secret"), MISUSES.values(), ids=MISUSES)
def test_what_was_given_wrongly(machine: Machine, words: tuple[str, ...], secret: str) -> None:
    for output in ("text", "json"):
        answer = machine.wmcb(*words, "--output", output)
        assert answer.code == 2
        _check(machine, Plant("{}", secret), answer, words)


NODE = """\
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
files:
- {path: 'C:\\agent.exe', text: MZ, protection: program}
- {path: 'C:\\own.key', text: "-----BEGIN PRIVATE KEY-----\\nGeheim101wortGeheim101wort\\n"}
- {path: 'C:\\settings.ini', text: 'dsn = Geheim102wort'}
environmentVariables:
- {name: API_TOKEN, value: Geheim103wort}
- {name: DSN, value: Geheim104wort, secret: true}
- {name: HTTPS_PROXY, value: 'http://me:Geheim105wort@proxy:3128'}
registryValues:
- {key: 'HKLM\\SOFTWARE\\Contoso', name: Password, string: Geheim106wort}
- {key: 'HKLM\\SOFTWARE\\Contoso', name: Dsn, strings: [Geheim107wort, x], secret: true}
- {key: 'HKLM\\SOFTWARE\\Contoso', name: Url, string: 'https://me:Geheim108wort@h/'}
services:
- name: agent
  program: C:\\agent.exe
  arguments:
  - --token
  - Geheim109wort
  - --password=Geheim110wort
  - --url=https://me:Geheim111wort@h/?sig=Geheim112wort
  - Server=a b;Password=Geheim113 wort;x=1
  - /p:Geheim114wort
  - Connect-It -Password Geheim117wort -Force
  environment: {A_TOKEN: Geheim115wort, PLAIN: Geheim116wort}
"""
SECRET = re.compile("Geheim[0-9]{3}")
LAST_STEP = 9
"""Of a run that is cut off: the service is registered, and does not run."""


def _shown_anywhere(machine: Machine, answer: Answer) -> list[str]:
    texts = {"stdout": answer.out, "stderr": answer.err, **written(machine)}
    return [f"{found} in {name}" for name, text in texts.items() for found in SECRET.findall(text)]


def test_a_node_that_is_full_of_them(bare: Machine, tmp_path: Path) -> None:
    """Made, looked at, changed by others, mended, packed for others and taken away."""
    given = bare.give("node.yaml", NODE)
    changed = bare.give("changed.yaml", SECRET.sub(lambda found: f"Geheim9{found[0][-2:]}", NODE))
    bundle = str(tmp_path / "bundle.zip")
    for words in (
        ("plan", "--node-config", given, "-v"),
        ("plan", "--node-config", given, "-o", "json"),
        ("prepare", "--node-config", given, "-v"),
        ("plan", "--node-config", changed, "-v"),
        ("plan", "--node-config", changed, "-o", "json"),
        ("prepare", "--node-config", changed, "-o", "json"),
        ("status", "-v"),
        ("status", "-o", "json"),
        ("reset", "--dry-run", "-v"),
        ("reset", "--dry-run", "-o", "json"),
    ):
        answer = bare.wmcb(*words)
        assert answer.code == 0, answer.err
        assert _shown_anywhere(bare, answer) == [], words
    bare.host.environment.set("API_TOKEN", "Geheim201wort")
    bare.host.registry.write(
        r"SOFTWARE\Contoso", "Password", RegistryValue(RegistryKind.STRING, "Geheim202wort")
    )
    for words in (("status", "-v"), ("status", "-o", "json"), ("support-bundle", bundle, "-o", "json")):
        assert _shown_anywhere(bare, bare.wmcb(*words)) == [], words
    texts = _packed(bundle)
    assert [name for name, text in texts.items() if SECRET.search(text)] == []
    assert "Contoso" in texts["state/node.json"]
    assert _shown_anywhere(bare, bare.wmcb("reset", "-v")) == []


def _packed(bundle: str) -> dict[str, str]:
    with zipfile.ZipFile(bundle) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


class PowerCut(BaseException):
    pass


def test_a_run_that_is_cut_off(bare: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its journal is for administrators; nothing of it is shown, or packed for others."""
    add, added = Journal.add, []

    def cut_off(journal: Journal, step: Step) -> None:
        add(journal, step)
        added.append(step)
        if len(added) == LAST_STEP:
            raise PowerCut

    def dies(*_: object, **__: object) -> None:
        raise PowerCut

    given = bare.give("node.yaml", NODE)
    with monkeypatch.context() as dying, pytest.raises(PowerCut):
        dying.setattr(Journal, "add", cut_off)
        dying.setattr(engine, "undo", dies)
        bare.wmcb("prepare", "--node-config", given, "-v")
    bundle = str(tmp_path / "bundle.zip")
    for words in (("status", "-v"), ("plan", "--node-config", given), ("support-bundle", bundle)):
        assert _shown_anywhere(bare, bare.wmcb(*words)) == [], words
    texts = _packed(bundle)
    assert "Contoso" in texts["state/journal.json"]
    assert [name for name, text in texts.items() if SECRET.search(text)] == []
    answer = bare.wmcb("prepare", "--node-config", given, "-o", "json")
    assert (answer.code, _shown_anywhere(bare, answer)) == (0, [])


ONE_WORD = """\
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
files: [{path: 'C:\\agent-west.exe', text: MZ}]
environmentVariables: [{name: A_PASSWORD, value: agent-west}]
services: [{name: agent-west, program: 'C:\\agent-west.exe', start: manual, running: false}]
"""


def test_a_resource_is_called_by_its_name_though_a_password_is_the_same_word(bare: Machine) -> None:
    given = bare.give("node.yaml", ONE_WORD)
    resource = ["service", "agent-west"]
    planned = json.loads(bare.wmcb("plan", "--node-config", given, "-o", "json").out)
    assert resource in [each["resource"] for each in planned["changes"]]
    assert "create    service agent-west\n" in bare.wmcb("plan", "--node-config", given).out
    assert bare.wmcb("prepare", "--node-config", given).code == 0
    status = json.loads(bare.wmcb("status", "-o", "json").out)
    assert resource in [each["resource"] for each in status["resources"]]
    planned = json.loads(bare.wmcb("plan", "--node-config", given, "-o", "json").out)
    assert resource in planned["unchanged"]


OF_ANOTHER_NODE = """\
---
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
nodes: {names: [another]}
"""


def test_a_node_is_called_by_its_name_though_a_password_is_a_part_of_it(bare: Machine) -> None:
    given = bare.give("node.yaml", ONE_WORD + OF_ANOTHER_NODE)
    answer = bare.wmcb("plan", "--node-config", given, "--node-name", "agent-west-2", "-v")
    assert "it is for other nodes than agent-west-2, and left out" in answer.err


REMARK = "every user may read the command line of service agent, and there is a secret in it: "


def test_a_secret_in_the_command_line_of_a_service_is_warned_of(bare: Machine) -> None:
    """Wherever it is put there by a document: Windows lets all users read it."""
    answer = bare.wmcb("plan", "--node-config", bare.give("node.yaml", NODE))
    assert REMARK in answer.out
    harmless = re.sub(r"(?m)^  - .*\n", "", NODE).replace("  arguments:\n", "  arguments: [--v=2]\n")
    answer = bare.wmcb("plan", "--node-config", bare.give("node.yaml", harmless))
    assert (answer.code, REMARK in answer.out) == (0, False)


def test_a_server_that_repeats_the_token(windows: Machine, cluster: Cluster) -> None:
    said = f"the token {TOKEN} is none, nor is {TOKEN.partition('.')[2]}"
    cluster.server.at(KUBELET_CONFIG, status(403, "Forbidden", said))
    answer = join(windows, cluster)
    assert answer.code == 1
    plant = Plant("{}", TOKEN.partition(".")[2])
    _check(windows, plant, answer, "the server's answer")
    assert "abcdef.*** is none, nor is ***" in answer.err


def test_a_key_in_a_log_is_not_shown_line_by_line(bare: Machine) -> None:
    bare.put(LOG, b"it failed with\n-----BEGIN PRIVATE KEY-----\nGeheim301wort\n-----END PRIVATE KEY-----\n")
    document = (
        "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
        "files: [{path: 'C:\\x.exe', text: MZ}, {path: 'C:\\k\\wmcb-log.exe', text: MZ}]\n"
        f"services: [{{name: x, program: 'C:\\x.exe', output: {{path: '{LOG}'}}}}]\n"
    )
    assert bare.wmcb("prepare", "--node-config", bare.give("node.yaml", document)).code == 0
    bare.host.files.remove(PureWindowsPath(r"C:\x.exe"))
    for output in ("text", "json"):
        answer = bare.wmcb("status", "-v", "--output", output)
        assert "it failed with" in answer.out
        assert "Geheim301wort" not in answer.out + answer.err


IN_A_URL = """\
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
files: [{{path: 'C:\\x.exe', text: MZ}}]
registryValues: [{{key: 'HKLM\\SOFTWARE\\Contoso', name: Url, string: 'https://h/x?sig={0}'}}]
services:
- {{name: x, program: 'C:\\x.exe', arguments: ['--url=https://h/x?sig={0}', a -Password {0}], running: false}}
"""


def test_a_change_of_a_secret_within_a_text_can_be_seen(bare: Machine) -> None:
    first, second = (bare.give(word, IN_A_URL.format(word)) for word in ("Geheim501", "Geheim502"))
    assert bare.wmcb("prepare", "--node-config", first).code == 0
    text = bare.wmcb("plan", "--node-config", second)
    document = bare.wmcb("plan", "--node-config", second, "-o", "json")
    assert [*SECRET.findall(text.out), *SECRET.findall(document.out)] == []
    hidden = r"\(hidden, [0-9a-f]{12}\)"
    for line in (
        rf"    data: https://h/x\?\*\*\* {hidden} -> https://h/x\?\*\*\* {hidden}",
        rf"      - --url=https://h/x\?\*\*\* {hidden}",
        rf"      \+ --url=https://h/x\?\*\*\* {hidden}",
        rf'      - "a -Password \*\*\*" {hidden}',
        rf'      \+ "a -Password \*\*\*" {hidden}',
    ):
        assert re.search(f"(?m)^{line}$", text.out), (line, text.out)
    changes = [each for change in document.document["changes"] for each in change["differences"]]
    assert [each["field"] for each in changes] == ["data", "command"]
    assert all(each["found"] != each["wanted"] for each in changes), changes
