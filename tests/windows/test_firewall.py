"""A NodeConfiguration's firewall rules on Windows, seen where Windows keeps its rules."""

from __future__ import annotations

import pytest

from lab.firewall import STOPPED, Firewall
from lab.node import Node
from lab.waiting import until
from windows.exe import SERVICE
from windows.test_bootstrap import Machine

DOCUMENT = r"C:\given files\node.yaml"
TEXT = r"""apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
firewallRules:
- name: kubelet for the API server
  protocol: tcp
  localPorts: ["10250"]
  remoteAddresses: [10.0.0.0/8, 192.0.2.1]
- name: no pings
  protocol: icmpv4
  action: block
  profiles: [public]
"""
KUBELET, PINGS = "kubelet for the API server", "no pings"
OURS = "EmbedCtxt=wmcb"
MADE = {
    KUBELET: {
        "Action=Allow", "Active=TRUE", "Dir=In", "Protocol=6", "LPort=10250", "RA4=10.0.0.0/255.0.0.0",
        "RA4=192.0.2.1/255.255.255.255", f"Name={KUBELET}", OURS,
    },
    PINGS: {
        "Action=Block", "Active=TRUE", "Dir=In", "Protocol=1", "Profile=Public", f"Name={PINGS}", OURS,
    },
}  # fmt: skip
BY_HAND = """
import win32com.client
rules = win32com.client.Dispatch("HNetCfg.FwPolicy2").Rules
rules.Item("kubelet for the API server").RemoteAddresses = "*"
rules.Remove("no pings")
print(sorted((rule.Name, rule.Grouping, rule.RemoteAddresses) for rule in rules))
"""


@pytest.fixture
def machine(node: Node) -> Machine:
    machine = Machine(node)
    node.path(DOCUMENT).write_text(TEXT)
    return machine


def changed_by_hand(machine: Machine) -> str:
    """What there is then."""
    changed = machine.node.python("-c", BY_HAND)
    assert changed.code == 0, changed.err
    return changed.out


def test_rules_are_made_kept_and_taken_back(machine: Machine) -> None:
    """One test for all, since each node costs seconds."""
    firewall = Firewall(machine.node)
    result = machine.bootstrap("--node-config", DOCUMENT)
    assert result.code == 0, result.err
    assert firewall.rules == MADE
    assert firewall.asked == [f"Add {KUBELET}", f"Add {PINGS}"]
    assert machine.bootstrap("--node-config", DOCUMENT).out.startswith("nothing to do")

    assert changed_by_hand(machine) == f"[('{KUBELET}', 'wmcb', '*')]\n"
    told = machine.wmcb("status")
    assert told.code == 1
    assert "remote addresses: any -> 10.0.0.0/8, 192.0.2.1" in told.out
    assert f"firewall rule {PINGS} is gone" in told.out
    assert machine.bootstrap("--node-config", DOCUMENT).code == 0
    assert firewall.rules == MADE

    changed_by_hand(machine)
    assert machine.wmcb("daemon", "install").code == 0
    machine.node.start_service(SERVICE)
    until(lambda: firewall.rules == MADE, "the rules are as they were made")
    added = firewall.asked.count(f"Add {PINGS}")
    changed_by_hand(machine)
    until(
        lambda: firewall.asked.count(f"Add {PINGS}") > added and firewall.rules == MADE,
        "the rules are so again, long before it looks at everything",
    )

    # What cannot be looked at just now keeps nothing else from going, and goes with the next reset.
    firewall.refuse(Rules_Item=STOPPED)
    reset = machine.wmcb("reset")
    assert (reset.code, machine.node.service("kubelet")) == (1, None), reset.err
    (line,) = [line for line in reset.out.splitlines() if KUBELET in line]
    assert line.startswith(f"  firewall rule {KUBELET} stays, and the next reset takes it back: cannot read ")
    assert firewall.rules == MADE
    firewall.refuse()
    assert machine.wmcb("reset").code == 0
    assert firewall.rules == {}


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (
            {"Rules_Item": STOPPED},
            f"cannot read firewall rule {KUBELET}: the service is not running (Windows error 1753); "
            "start Windows Defender Firewall (MpsSvc)",
        ),
        (
            {"Rules_Add": 0x80070005},
            f"cannot add firewall rule {KUBELET}: access is denied (Windows error 5)",
        ),
        (
            {"Rule_RemoteAddresses": 0x8000FFFF},
            f"cannot add firewall rule {KUBELET}: Windows refused (Windows error 0x8000ffff)",
        ),
    ],
    ids=["its service is stopped", "not allowed", "unexpected"],
)
def test_what_the_firewall_refuses_is_told_in_one_line(
    machine: Machine, refused: dict[str, int], told: str
) -> None:
    firewall = Firewall(machine.node)
    firewall.refuse(**refused)
    result = machine.bootstrap("--node-config", DOCUMENT)
    assert result.code == 1
    assert len([line for line in result.err.splitlines() if told in line]) == 1, result.err
    assert "Traceback" not in result.err
    assert firewall.rules == {}
    assert machine.node.service("kubelet") is None
