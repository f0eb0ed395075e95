"""--platform-type: by which name the node joins."""

from __future__ import annotations

import pytest

from agent.host.port import RegistryKind, RegistryValue
from sandbox.cli.given import Machine
from sandbox.cli.metadata_service import AWS, Metadata

TCPIP = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"


@pytest.fixture(autouse=True)
def metadata(monkeypatch: pytest.MonkeyPatch) -> Metadata:
    """Nobody answers."""
    service = Metadata()
    service.install(monkeypatch)
    return service


def flags(machine: Machine) -> tuple[str, ...]:
    installed = machine.host.services.read("kubelet")
    assert installed is not None
    return installed.definition.command


def test_on_aws_the_node_is_called_as_the_instance_is(machine: Machine, metadata: Metadata) -> None:
    metadata.answers = AWS
    assert machine.wmcb(*machine.node, "--platform-type", "AWS").code == 0
    assert "--hostname-override=ip-10-0-1-2.ec2.internal" in flags(machine)
    assert "--provider-id=aws:///eu-west-1a/i-0123456789" in flags(machine)


def test_a_name_that_is_asked_for_goes_before(machine: Machine, metadata: Metadata) -> None:
    metadata.answers = AWS
    assert machine.wmcb(*machine.node, "--platform-type", "aws", "--node-name", "mine").code == 0
    assert "--hostname-override=mine" in flags(machine)


def test_on_vsphere_its_domain_belongs_to_it(machine: Machine) -> None:
    machine.host.registry.write(TCPIP, "NV Domain", RegistryValue(RegistryKind.STRING, "corp.example"))
    assert machine.wmcb(*machine.node, "--platform-type", "vSphere").code == 0
    assert "--hostname-override=winworker.corp.example" in flags(machine)


@pytest.mark.parametrize("platform", ["azure", "none"])
def test_elsewhere_nobody_is_asked(platform: str, machine: Machine) -> None:
    assert machine.wmcb(*machine.node, "--platform-type", platform).code == 0
    assert not [flag for flag in flags(machine) if flag.startswith("--provider-id")]


def test_a_platform_that_does_not_answer_is_one_line(machine: Machine) -> None:
    before = machine.picture()
    answer = machine.wmcb(*machine.node, "--platform-type", "aws")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "wmcb: --platform-type aws: 169.254.169.254:80 answers 404 Not Found;"
        " or leave it out and name the node with --node-name\n"
    )
    assert machine.picture() == before


def test_an_unknown_platform_is_bad_usage(machine: Machine) -> None:
    answer = machine.wmcb(*machine.node, "--platform-type", "vspere")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("wmcb: --platform-type: ")
    assert "maybe vsphere is meant" in answer.err
