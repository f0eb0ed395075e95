"""What a NodeConfiguration says of Windows itself: what a plan tells of it, and what a reset leaves."""

from __future__ import annotations

import pytest

from agent.host.port import FeatureState
from sandbox.cli.given import Machine

HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
EXCLUSION = "defenderExclusions:\n- path: C:\\ProgramData\\containerd\n"
FEATURE = "windowsFeatures:\n- {name: TelnetClient}\n"


def given(machine: Machine, text: str) -> tuple[str, str]:
    return "--node-config", machine.give("node.yaml", HEAD + text)


def test_a_plan_says_that_an_exclusion_is_a_security_decision(bare: Machine) -> None:
    plan = bare.wmcb("plan", *bare.node, *given(bare, EXCLUSION))
    (line,) = [line.strip() for line in plan.out.splitlines() if "warning" in line and "defender" in line]
    assert line.startswith(r"warning  defender exclusion path C:\ProgramData\containerd: a security decision")


def test_nothing_is_excluded_unless_a_document_says_so(machine: Machine) -> None:
    assert machine.wmcb(*machine.node).code == 0
    assert [*machine.host.defender.exclusions("path"), *machine.host.defender.exclusions("process")] == []


@pytest.mark.parametrize(
    ("more", "told", "left"),
    [
        (
            [],
            "stays: TelnetClient, which is a feature of Windows; {called} reset --features switches",
            "enabled",
        ),
        (["--features"], "", "disabled"),
    ],
)
def test_a_feature_goes_with_a_reset_only_if_asked(
    machine: Machine, more: list[str], told: str, left: str
) -> None:
    assert machine.wmcb(*machine.node, *given(machine, FEATURE)).code == 0
    assert machine.host.features.state("TelnetClient") is FeatureState.ENABLED
    assert told.format(called=machine.called) in machine.wmcb("reset", *more, "--dry-run").out
    reset = machine.wmcb("reset", *more)
    assert reset.code == 0
    assert machine.host.features.state("TelnetClient") is FeatureState(left)
    assert ("TelnetClient stays enabled" in reset.out) is (not more)


def test_what_waits_for_a_restart_is_told(machine: Machine) -> None:
    document = given(machine, "windowsFeatures:\n- {name: Microsoft-Hyper-V}\n")
    machine.wmcb(*machine.node, *document)
    told = "Windows feature Microsoft-Hyper-V is enabled when Windows has been restarted"
    assert told in machine.wmcb("status").out
