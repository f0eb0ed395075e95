"""Secrets planted in each field of each document and in each option, and where they are looked for then.

Each plant is one that people make: a bootstrap token in a wrong place, a password and a signature in a URL, a
blank that is missing behind a colon, a password in a command line. What is shown may have all but the secret.
A word without any such look may be shown only of a field that its reader's record shows.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent import redaction
from agent.cli import operator, options
from agent.cli.arguments import Option
from agent.cli.commands import COMMANDS as OF_WMCB
from agent.cli.kubeadm_commands import COMMANDS as OF_KUBEADM
from agent.redaction import redacted
from agent.secret_patterns import is_secret_name
from agent.sources import ignition
from agent.sources.cloudconfig import loading
from agent.sources.kubeadm import reading as join_configuration
from agent.sources.kubeadm.configurations import read_reset, read_upgrade
from agent.sources.node_configuration import reading as node_configuration
from agent.sources.services_configmap import reading as services_configmap
from sandbox.cli.given import Answer, Machine
from sandbox.cli.planting import (
    ANY,
    NO_BLANK,
    PLANTS,
    TABLES,
    WORD,
    Leak,
    Place,
    Plant,
    has,
    leaks_of,
    leaves,
    places,
    planted,
)
from sandbox.cli.test_join import Cluster, cluster, windows
from sandbox.cli.test_operator import BOOTSTRAP, CONFIG_MAP, Operated, configuration, operated
from sandbox.cli.test_under_kubeadm import kubeadm
from unit.kube.api_server import ApiServer, ok
from unit.kube.conftest import server

__all__ = ["cluster", "operated", "server", "windows"]

DATA = Path(__file__).parents[2] / "data"
PLAIN = {"apiVersion": "wmcb.internal/v1beta1", "kind": "NodeConfiguration"}
UNIT = {"name": "kubelet.service", "contents": "[Service]\nExecStart=/usr/bin/kubelet --v=2\n"}


def _of_files(folder: str, pattern: str) -> list[Any]:
    return [yaml.safe_load(path.read_text()) for path in sorted((DATA / folder).glob(pattern))]


def _of_kubeadm(kind: str, version: str, **fields: object) -> list[Any]:
    return [{"apiVersion": f"kubeadm.k8s.io/{version}", "kind": kind, **fields}]


def _services() -> Any:
    data = json.loads((DATA / "services_configmap" / "aws.json").read_text())["data"]
    return {name: json.loads(text) for name, text in data.items()}


SAMPLES: dict[str, list[Any]] = {
    # Each part by itself, so that what is wrong in one hides nothing of another.
    "NodeConfiguration": [
        PLAIN | {name: part}
        for document in _of_files("node_configuration/valid", "*.yaml")
        for name, part in document.items()
    ],
    "services ConfigMap": [_services()],
    "cloud-config": _of_files("cloudconfig", "worker.yaml"),
    "Ignition 2": [{"ignition": {"version": "2.2.0"}, "systemd": {"units": [UNIT]}}],
    "Ignition 3": [{"ignition": {"version": "3.4.0"}, "systemd": {"units": [UNIT]}}],
    "JoinConfiguration v1beta3": [],
    "JoinConfiguration v1beta4": [],
    "ResetConfiguration v1beta4": _of_kubeadm("ResetConfiguration", "v1beta4", dryRun=True),
    "UpgradeConfiguration v1beta4": _of_kubeadm("UpgradeConfiguration", "v1beta4", node={"dryRun": True}),
}


def _data(document: Any) -> dict[str, str]:
    return {str(name): json.dumps(each) for name, each in document.items()}


def _text(name: str, document: Any) -> str:
    if name.startswith("Ignition"):
        return json.dumps(document)
    return ("#cloud-config\n" if name == "cloud-config" else "") + yaml.safe_dump(document)


def _read(name: str, document: Any) -> Any:
    if name == "services ConfigMap":
        return services_configmap.read("windows-services", _data(document))
    read = next(each for kind, each in READERS.items() if name.startswith(kind))
    return read("given", _text(name, document).encode())


READERS: dict[str, Callable[[str, bytes], Any]] = {
    "NodeConfiguration": node_configuration.read,
    "Ignition": ignition.load,
    "cloud-config": loading.load,
    "JoinConfiguration": join_configuration.read,
    "ResetConfiguration": read_reset,
    "UpgradeConfiguration": read_upgrade,
}


def _sample(name: str, place: Place) -> Any:
    """Return the document that has the field already, or else the first one that has what it stands in."""
    samples = SAMPLES[name]
    for part in range(len(place), -1, -1):
        for document in samples:
            if has(document, place[:part]):
                return document
    raise AssertionError(name)


def _forgotten() -> None:
    """As if another process began: it has registered nothing."""
    redaction._registry = redaction.Registry()


def _cases(name: str) -> Iterator[tuple[Place, Any]]:
    """Yield each place of the table, and those of the samples that no table has."""
    known = set(places(TABLES[name]))
    yield from ((place, _sample(name, place)) for place in sorted(known, key=str))
    for document in SAMPLES[name]:
        for place in leaves(document):
            if (of_table := tuple(0 if isinstance(step, int) else step for step in place)) not in known:
                known.add(of_table)
                yield place, document


def _in_turn(number: int, place: Place) -> Iterable[Plant]:
    """A plain word, one of the looks, and in a field that is called a secret one that has its form."""
    plants = list(PLANTS.values())
    own = [PLANTS["a bootstrap token"]] if _is_called_secret(place) else []
    return dict.fromkeys([plants[number % len(plants)], *own, WORD])


def _is_called_secret(place: Place) -> bool:
    return is_secret_name(str(place[-1]) if place else "")


def _planted(
    name: str, plants: Callable[[int, Place], Iterable[Plant]]
) -> Iterator[tuple[Place, Any, Plant]]:
    """Yield each document with one of these in it; in a mapping, a key without its blank."""
    of_table = set(places(TABLES[name]))
    for number, (place, document) in enumerate(_cases(name)):
        # Where any name may stand, one is a secret by its look alone.
        key = PLANTS["no blank behind the colon"] if (*place, ANY) in of_table else NO_BLANK
        made, is_key = planted(document, place, key, key)
        if is_key:
            yield place, made, key
            continue
        for plant in plants(number, place):
            yield place, planted(document, place, plant)[0], plant


@pytest.mark.parametrize("name", TABLES)
def test_no_report_has_one(name: str, cluster: Cluster) -> None:
    _with_cluster(name, cluster)
    leaks = []
    for place, made, plant in _planted(name, lambda *_: PLANTS.values()):
        _forgotten()
        told = [redacted(str(entry)) for entry in _read(name, made).report.entries]
        leaks += [(place, plant.text, line) for line in told if plant.secret in line]
    assert not leaks, "\n".join(map(str, leaks))


def _with_cluster(name: str, cluster: Cluster) -> None:
    """Have the documents join this cluster: the address of an API server is known when it is there alone."""
    if name == "cloud-config":
        (document,) = _of_files("cloudconfig", "worker.yaml")
        document["write_files"][0]["content"] = cluster.join_configuration()
        SAMPLES[name] = [document]
    if name.startswith("JoinConfiguration"):
        document = yaml.safe_load(cluster.join_configuration())
        arguments = {"v1beta3": {"v": "2"}, "v1beta4": [{"name": "v", "value": "2"}]}
        document["nodeRegistration"] |= {
            "kubeletExtraArgs": arguments[name[-7:]],
            "taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
        }
        SAMPLES[name] = [document | {"apiVersion": f"kubeadm.k8s.io/{name[-7:]}"}]


def _is_hidden(name: str, place: Place, made: Any) -> bool:
    """Whether a word without any look is a secret there: by the field's name, or since records hide it."""
    outcome = _read(name, made)
    if outcome.report.fatal:
        return False
    return _is_called_secret(place) or WORD.secret not in _shown(outcome)


def _shown(value: Any) -> str:
    """What records show, with the values of settings that are neither marked as secret nor called so."""
    if is_dataclass(value):
        is_secret = getattr(value, "secret", False) or is_secret_name(str(getattr(value, "name", "")))
        return " ".join(
            _shown(getattr(value, each.name))
            for each in fields(value)
            if each.repr or (each.name in ("value", "data") and not is_secret)
        )
    if isinstance(value, dict):
        return f"{_shown(list(value))} {_shown(list(value.values()))}"
    return " ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)


def _marked(name: str, place: Place, made: Any) -> Any:
    """Where a document can say that a value is a secret, it does."""
    if (*place[:2], "secret") in places(TABLES[name]):
        for item in made[place[0]]:
            if WORD.secret in str(item):
                item["secret"] = True
    return made


RUNS: dict[str, Callable[[Machine, str, str], Answer]] = {
    "NodeConfiguration": lambda bare, file, output: bare.wmcb(
        "plan", "--node-config", file, "--output", output, "--max-time", "1", "-v"
    ),
    "Ignition": lambda machine, file, output: machine.wmcb(
        "plan", "--ignition", file, *machine.node[2:], "--output", output, "--max-time", "1"
    ),
    "cloud-config": lambda machine, file, output: machine.wmcb(
        "--user-data", file, "--kubelet-version", "1.36", "--output", output
    ),
    "JoinConfiguration": lambda machine, file, output: machine.wmcb(
        "join", "--config", file, "--dry-run", "--output", output
    ),
    "ResetConfiguration": lambda machine, file, _: kubeadm(machine, "reset", "--config", file),
    "UpgradeConfiguration": lambda machine, file, _: kubeadm(machine, "upgrade", "node", "--config", file),
}


@pytest.mark.parametrize("name", [name for name in TABLES if name != "services ConfigMap"])
def test_no_run_shows_one(name: str, windows: Machine, cluster: Cluster) -> None:
    _with_cluster(name, cluster)
    leaks: list[Leak] = []
    read: list[bool] = []
    run = next(each for kind, each in RUNS.items() if name.startswith(kind))
    for number, (place, made, plant) in enumerate(_planted(name, _in_turn)):
        if plant is WORD and not _is_hidden(name, place, _marked(name, place, made)):
            continue
        _forgotten()
        file = windows.give("document", _text(name, made))
        answer = run(windows, file, ("text", "json")[number % 2])
        read.append(answer.code == 0 or file in answer.out + answer.err)
        leaks += leaks_of(windows, plant, answer, place)
    assert not leaks, "\n".join(map(str, leaks))
    assert read.count(True) > len(read) / 2, "most runs were refused before they read the document"


def test_no_bootstrap_for_the_operator_shows_one(operated: Operated, server: ApiServer) -> None:
    leaks: list[Leak] = []
    name = "services ConfigMap"
    for place, made, plant in _planted(name, _in_turn):
        if plant is WORD and not _is_hidden(name, place, made):
            continue
        _forgotten()
        server.at(CONFIG_MAP, ok(configuration() | {"data": _data(made)}))
        leaks += leaks_of(operated, plant, operated.wmcb(*BOOTSTRAP), place)
    assert not leaks, "\n".join(map(str, leaks))


OPTIONS = {
    called: [
        (command, option)
        for command in commands
        for option in (*command.options, *command.unlisted)
        if option.placeholder
    ]
    for called, commands in (("wmcb", OF_WMCB), ("kubeadm", OF_KUBEADM))
}


def _values(option: Option, value: str) -> Iterator[tuple[str, ...]]:
    yield (f"{option.name}={value}",)
    yield (option.name, value)
    if option.short:
        yield (f"{option.short}{value}",)


def _misplaced(option: Option, value: str) -> Iterator[tuple[str, ...]]:
    yield (option.name, "1", value)
    yield (f"{option.name}x={value}",)


@pytest.mark.parametrize("called", OPTIONS)
def test_no_option_shows_one(called: str, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    leaks: list[Leak] = []
    plants = list(PLANTS.values())
    monkeypatch.setattr(operator, "controller", lambda _: 0)
    run = machine.wmcb if called == "wmcb" else partial(kubeadm, machine)
    for number, (command, option) in enumerate(OPTIONS[called]):
        in_turn = plants[number % len(plants)]
        own = WORD if is_secret_name(option.name) else in_turn
        is_patient = option is not options.MAX_TIME and options.MAX_TIME in command.options
        cases = [(own, _values(option, own.value)), (in_turn, _misplaced(option, in_turn.value))]
        for plant, words in ((plant, words) for plant, given in cases for words in given):
            _forgotten()
            answer = run(*command.name.split(), *words, *(["--max-time=1"] if is_patient else []))
            leaks += leaks_of(machine, plant, answer, (command.name, words))
    assert not leaks, "\n".join(map(str, leaks))


def test_no_node_that_was_made_shows_one(bare: Machine, tmp_path: Path) -> None:
    """Of parts that need nothing else of a document; `test_secrets` has a whole one."""
    leaks: list[Leak] = []
    name, done = "NodeConfiguration", set()
    bundle = tmp_path / "bundle.zip"
    for place, made, plant in _planted(name, lambda *_: (WORD,)):
        if plant is not WORD or not _is_hidden(name, place, _marked(name, place, made)):
            continue
        given = bare.give("document", _text(name, made))
        for words in (
            ("prepare", "--node-config", given, "-v", "--max-time", "1"),
            ("status", "-v"),
            ("status", "--output", "json"),
        ):
            _forgotten()
            answer = bare.wmcb(*words)
            leaks += leaks_of(bare, plant, answer, place)
            if words[0] == "prepare" and answer.code == 0:
                done.add(place[0])
    assert bare.wmcb("support-bundle", str(bundle)).code == 0
    with zipfile.ZipFile(bundle) as packed:
        texts = {name: packed.read(name).decode() for name in packed.namelist()}
    assert [file for file, text in texts.items() if WORD.secret in text] == []
    assert not leaks, "\n".join(map(str, leaks))
    assert done >= {"environmentVariables", "registryValues", "cniConfigurations"}
