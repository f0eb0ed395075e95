"""The rows of kubeadm's own tests, through our readers and commands: tests/data/peers/kubeadm-*.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.cli import join_configuration
from agent.cli.asking import Asking
from agent.cli.failure import BadUsage
from agent.cli.join import runtime_endpoint_of
from agent.cli.join_configuration import configuration_of
from agent.cli.kubeadm_commands import kubeadm_request
from agent.sources.kubeadm.arguments_file import NoArguments, arguments_in
from agent.sources.kubeadm.cluster import skew_fault
from agent.sources.kubeadm.configurations import read_reset, read_upgrade, validated
from agent.sources.kubeadm.model import Argument, NodeRegistration, Taint, node_name
from agent.sources.kubeadm.patches import patched, read_patches
from agent.sources.kubeadm.reading import read
from sandbox.cli.given import Machine
from sandbox.cli.test_under_kubeadm import kubeadm

ROOT = Path(__file__).parents[3]
PEERS = ROOT / "tests" / "data" / "peers"
MIGRATION = " ".join((ROOT / "docs" / "migration.md").read_text().split())


def loaded(name: str) -> Any:
    return yaml.safe_load((PEERS / f"kubeadm-{name}.yaml").read_text())


def check(row: dict[str, Any], *, accepted: bool, said: object) -> None:
    """A row that is answered otherwise here has its reason in the guide, and none that is not."""
    agrees = ("accepts" if accepted else "refuses") == row["peer"]
    assert agrees is ("differs" not in row), said
    assert row.get("differs", "") in MIGRATION


def at(value: object, path: str) -> object:
    for step in path.split("."):
        value = getattr(value, step)
    return list(value) if isinstance(value, tuple) else value


def command_lines() -> Iterator[Any]:
    for group, table in loaded("command-lines").items():
        for row in table["rows"]:
            yield pytest.param(row, id=f"{group}: {row['name']}")


@pytest.mark.parametrize("row", list(command_lines()))
def test_command_lines(machine: Machine, row: dict[str, Any]) -> None:
    file = machine.give("file.yaml", row.get("file", ""))
    words = [word.replace("FILE", file) for word in row["line"]]
    if words[0] == "join":
        check_join(machine, row, words)
        return
    answer = kubeadm(machine, *words)
    assert answer.code in (0, 2, 3), answer.err
    check(row, accepted=answer.code != 2, said=answer.err)


def check_join(machine: Machine, row: dict[str, Any], words: list[str]) -> None:
    """As far as no cluster is asked."""
    told: list[str] = []
    try:
        request = join_configuration.as_worker(kubeadm_request(words), told.append)
        configuration = configuration_of(request, machine.host, Asking(notice=told.append))
    except BadUsage as fault:
        check(row, accepted=False, said=fault)
        return
    check(row, accepted=True, said=told)
    assert any("--control-plane" in line for line in told) is row.get("warns", False)
    for path, value in row.get("gives", {}).items():
        assert at(configuration, path) == value


def configurations() -> Iterator[Any]:
    for table in loaded("configurations"):
        for row in table["rows"]:
            body = table["template"].replace("@", row["value"]) if "template" in table else row["text"]
            name = f"{table['command']}: {table['source'].partition(' ')[0]}: {row['name']}"
            yield pytest.param(table["command"], table["head"] + body, row, id=name)


@pytest.mark.parametrize(("command", "text", "row"), list(configurations()))
def test_configurations(command: str, text: str, row: dict[str, Any]) -> None:
    if command == "config validate":
        report = validated("file.yaml", text.encode())
        check(row, accepted=not report.fatal, said=report)
        return
    reader: Any = {"join": read, "reset": read_reset, "upgrade node": read_upgrade}[command]
    outcome = reader("file.yaml", text.encode())
    check(row, accepted=outcome.configuration is not None, said=outcome.report)
    for path, value in row.get("gives", {}).items():
        assert at(outcome.configuration, path) == value


ON_THE_NODE = loaded("on-the-node")


@pytest.mark.parametrize("row", ON_THE_NODE["patch file names"]["rows"], ids=lambda row: row["name"])
def test_names_of_patches(row: dict[str, Any]) -> None:
    found = read_patches({row["name"]: b"{}"})
    outcome = "refused" if found.report.fatal else "applied" if found.found else "left out"
    assert outcome == row["outcome"]
    assert bool(found.report.warnings) is (outcome == "left out")


@pytest.mark.parametrize("row", ON_THE_NODE["patches"]["rows"], ids=lambda row: row["name"])
def test_patches(row: dict[str, Any]) -> None:
    value, report = patched({"foo": "bar"}, read_patches({row["file"]: row["text"].encode()}))
    assert (None if report.fatal else value) == row["gives"]


@pytest.mark.parametrize("row", ON_THE_NODE["kubeadm-flags.env"]["rows"], ids=lambda row: row["text"])
def test_arguments_of_a_node(row: dict[str, Any]) -> None:
    try:
        found: Any = [f"{each.name}={each.value}" for each in arguments_in("a.env", row["text"].encode())]
    except NoArguments:
        found = None
    assert found == row["gives"]


@pytest.mark.parametrize("row", ON_THE_NODE["versions"]["rows"], ids=str)
def test_versions(row: dict[str, Any]) -> None:
    fault = skew_fault(row["kubelet"], row["cluster"])
    assert ("refuses" if fault else "accepts") == row["peer"], fault


@pytest.mark.parametrize("row", ON_THE_NODE["names"]["rows"], ids=str)
def test_names(row: dict[str, Any]) -> None:
    override = row["override"]
    arguments = () if override is None else (Argument("hostname-override", override),)
    assert node_name(NodeRegistration(kubelet_extra_args=arguments), "HOST") == row["gives"]


@pytest.mark.parametrize("row", ON_THE_NODE["taints"]["rows"], ids=str)
def test_taints(row: dict[str, Any]) -> None:
    assert ",".join(str(Taint(**each)) for each in row["taints"]) == row["gives"]


@pytest.mark.parametrize("row", ON_THE_NODE["container runtimes"]["rows"], ids=str)
def test_container_runtimes(machine: Machine, row: dict[str, Any]) -> None:
    machine.facts(pipes=row["pipes"])
    request = kubeadm_request(["join", "--discovery-file=https://foo"])
    configuration = configuration_of(request, machine.host, Asking())
    try:
        found = runtime_endpoint_of(request, machine.host, configuration)
    except BadUsage:
        found = None
    assert found == row["gives"]
