"""Secrets planted in each field of each document and in each option, and where they are looked for then.

Each plant is one that people make: a bootstrap token in a wrong place, a password and a signature in a URL, a
blank that is missing behind a colon, a password in a command line. What is shown may have all but the secret.
"""

from __future__ import annotations

import copy
import json
import re
import zipfile
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from agent.cli.commands import COMMANDS
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
from sandbox.cli.test_join import KUBELET_CONFIG, Cluster, cluster, join, windows
from unit.kube.api_server import TOKEN, status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sandbox.cli.given import Answer, Machine

__all__ = ["cluster", "windows"]

DATA = Path(__file__).parents[2] / "data"
LOG = r"C:\x.log"
NOWHERE = "127.0.0.1:1"
"""Where no server listens."""

Place = tuple[str | int, ...]


class Plant(NamedTuple):
    """What is put into a field; `{}` is the secret."""

    text: str
    secret: str

    @property
    def value(self) -> str:
        return self.text.format(self.secret)


PLANTS = {
    "a bootstrap token": Plant("abcdef.{}", "0123456789geheim"),
    "a password in a URL": Plant(f"https://me:{{}}@{NOWHERE}/x", "Geheim017wort"),
    "a signature in a URL": Plant(f"https://{NOWHERE}/x?sv=1&sig={{}}", "Geheim018wort"),
    "no blank behind the colon": Plant("password:{}", "Geheim019wort"),
    "a connection": Plant("Server=a;Password={};x=1", "Geheim020wort"),
}
NO_BLANK = Plant("value:{}", "Geheim021wort")
"""A key then, and no value."""


def _leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """The place of each text, and of each mapping, in which a key may stand."""
    if isinstance(value, dict):
        yield place
        for key, each in value.items():
            yield from _leaves(each, (*place, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _leaves(each, (*place, number))
    elif isinstance(value, str):
        yield place


def _planted(document: Any, place: Place, plant: Plant) -> Any:
    """The document with the plant there: in the text's place, or as a key of the mapping."""
    made = copy.deepcopy(document)
    *above, last = ("", *place)
    inside: Any = {"": made}
    for step in above:
        inside = inside[step]
    if isinstance(inside[last], dict):
        inside[last][plant.value] = None
    else:
        inside[last] = plant.value
    return made if place else inside[""]


def _cases(document: Any) -> Iterator[tuple[Any, Plant]]:
    """Each field once, and each kind of plant in turn; in each mapping a key without its blank."""
    plants = list(PLANTS.values())
    for number, place in enumerate(_leaves(document)):
        there = document
        for step in place:
            there = there[step]
        plant = NO_BLANK if isinstance(there, dict) else plants[number % len(plants)]
        yield _planted(document, place, plant), plant


def _written(machine: Machine) -> Mapping[str, str]:
    """What wmcb has written that users may read, or that goes elsewhere."""
    folder = machine.place / ".sandbox"
    texts = {"events": folder / "events.jsonl", "services": folder / "services.json"}
    found = {name: path.read_text() for name, path in texts.items() if path.exists()}
    service = machine.host.services.read("wmcb")
    if service is not None:
        found["the service's command line"] = service.image_path
    logs = machine.place / "ProgramData" / "wmcb" / "logs"
    return found | {path.name: path.read_text() for path in logs.glob("wmcb*.log")}


def _check(machine: Machine, plant: Plant, answer: Answer, about: object) -> None:
    texts = {"stdout": answer.out, "stderr": answer.err, **_written(machine)}
    leaks = [name for name, text in texts.items() if plant.secret in text]
    assert not leaks, (about, leaks, [line for line in answer.err.splitlines() if plant.secret in line])


NODE_CONFIGURATIONS = sorted((DATA / "node_configuration" / "valid").glob("*.yaml"))


@pytest.mark.parametrize("file", NODE_CONFIGURATIONS, ids=lambda file: file.stem)
def test_a_node_configuration(bare: Machine, file: Path) -> None:
    document = yaml.safe_load(file.read_text())
    for number, (planted, plant) in enumerate(_cases(document)):
        given = bare.give("node.yaml", yaml.safe_dump(planted))
        output = ("text", "json")[number % 2]
        answer = bare.wmcb("plan", "--node-config", given, "--output", output, "--max-time", "1", "-v")
        _check(bare, plant, answer, planted)


def test_an_ignition(machine: Machine) -> None:
    document = json.loads((DATA / "ignition" / "worker-3.4.ign").read_text())
    for number, (planted, plant) in enumerate(_cases(document)):
        given = machine.give("worker.ign", json.dumps(planted))
        output = ("text", "json")[number % 2]
        words = ("--ignition", given, *machine.node[2:], "--output", output, "--max-time", "1")
        _check(machine, plant, machine.wmcb("plan", *words), planted)


def test_user_data(machine: Machine) -> None:
    document = yaml.safe_load((DATA / "cloudconfig" / "worker.yaml").read_text())
    for number, (planted, plant) in enumerate(_cases(document)):
        given = machine.give("user-data", f"#cloud-config\n{yaml.safe_dump(planted)}")
        output = ("text", "json")[number % 2]
        words = ("--user-data", given, "--kubelet-version", "1.36", "--output", output)
        _check(machine, plant, machine.wmcb("plan", *words), planted)


def test_a_join_configuration(windows: Machine, cluster: Cluster) -> None:
    document = yaml.safe_load(cluster.join_configuration())
    document["nodeRegistration"] |= {
        "criSocket": "npipe:////./pipe/containerd-containerd",
        "kubeletExtraArgs": [{"name": "v", "value": "2"}],
        "taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
        "imagePullPolicy": "IfNotPresent",
    }
    document["caCertPath"] = "/etc/kubernetes/pki/ca.crt"
    document["patches"] = {"directory": r"C:\patches"}
    document["skipPhases"] = ["kubelet-start"]
    document["timeouts"] = {"discovery": "1s", "tlsBootstrap": "1s"}
    for number, (planted, plant) in enumerate(_cases(document)):
        given = windows.give("join.yaml", yaml.safe_dump(planted))
        output = ("text", "json")[number % 2]
        answer = windows.wmcb("join", "--config", given, "--dry-run", "--output", output)
        _check(windows, plant, answer, planted)


def test_a_services_config_map() -> None:
    data = json.loads((DATA / "services_configmap" / "aws.json").read_text())["data"]
    whole = {name: json.loads(text) for name, text in data.items()}
    for planted, plant in _cases(whole):
        texts = {str(name): json.dumps(each) for name, each in planted.items()}
        outcome = services_configmap.read("operator/windows-services", texts)
        told = [redacted(str(entry)) for entry in outcome.report.entries]
        assert [line for line in told if plant.secret in line] == [], planted


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


def test_a_kubeconfig() -> None:
    for planted, plant in _cases(KUBECONFIG):
        try:
            kubeconfig.read(yaml.safe_dump(planted).encode(), "given.conf").check()
        except NotUsable as fault:
            assert plant.secret not in redacted(str(fault)), planted


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


OPTIONS = [
    (command.name, option)
    for command in COMMANDS
    for option in (*command.options, *command.unlisted)
    if option.placeholder and command.name not in ("daemon hand-over", "controller", "explain")
]


@pytest.mark.parametrize("form", ["{0}={1}", "{0} {1}"])
@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_an_option(machine: Machine, plant: Plant, form: str) -> None:
    for command, option in OPTIONS:
        words = form.format(option.name, plant.value).split(" ", 1)
        least = ["--max-time=1"] if (command, "--max-time") in {(c, o.name) for c, o in OPTIONS} else []
        more = [] if option.name == "--max-time" else least
        _check(machine, plant, machine.wmcb(*command.split(), *words, *more), (command, option.name))


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
  environment: {A_TOKEN: Geheim115wort, PLAIN: Geheim116wort}
"""
SECRET = re.compile("Geheim[0-9]{3}")


def _shown_anywhere(machine: Machine, answer: Answer) -> list[str]:
    texts = {"stdout": answer.out, "stderr": answer.err, **_written(machine)}
    # What its document wants of it is in the service's own command line.
    texts.pop("services", None)
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
    with zipfile.ZipFile(bundle) as packed:
        texts = {name: packed.read(name).decode() for name in packed.namelist()}
    assert [name for name, text in texts.items() if SECRET.search(text)] == []
    assert "Contoso" in texts["state/node.json"]
    assert _shown_anywhere(bare, bare.wmcb("reset", "-v")) == []


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
