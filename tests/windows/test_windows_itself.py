"""What a NodeConfiguration says of Defender and of Windows' features, seen where Windows keeps it."""

from __future__ import annotations

import pytest

from lab.defender import ABSENT, Defender
from lab.features import INSTALL_PENDING, INSTALLED, STAGED, Features
from lab.node import Node
from lab.standin import Standin
from lab.waiting import until
from windows.exe import SERVICE
from windows.test_bootstrap import Machine

DOCUMENT = r"C:\given files\node.yaml"
HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
LAYERS, RUNTIME = r"C:\ProgramData\containerd", r"C:\Program Files\containerd\containerd.exe"
EXCLUSIONS = f"defenderExclusions:\n- path: {LAYERS}\n- process: {RUNTIME}\n"
FEATURES = "windowsFeatures:\n- name: Containers\n- {name: RemoteAccessServer, withParents: true}\n"
BY_HAND = r"""
import win32com.client, wmi
services = win32com.client.Dispatch("WbemScripting.SWbemLocator").ConnectServer(
    ".", "root\\Microsoft\\Windows\\Defender"
)
preference = wmi.WMI(wmi=services).get("MSFT_MpPreference")
print(*preference.Remove(ExclusionPath=["C:\\ProgramData\\containerd"]))
"""


@pytest.fixture
def machine(node: Node) -> Machine:
    return Machine(node)


def give(machine: Machine, text: str) -> tuple[str, str]:
    machine.node.path(DOCUMENT).write_text(HEAD + text)
    return "--node-config", DOCUMENT


def take_back_by_hand(machine: Machine) -> None:
    by_hand = machine.node.python("-c", BY_HAND)
    assert (by_hand.code, by_hand.out) == (0, "0\n"), by_hand.err


def test_exclusions_are_made_kept_and_taken_back(machine: Machine) -> None:
    defender = Defender(machine.node)
    given = give(machine, EXCLUSIONS)
    result = machine.bootstrap(*given)
    assert result.code == 0, result.err
    assert (defender.excluded("Paths"), defender.excluded("Processes")) == ([LAYERS], [RUNTIME])
    assert machine.bootstrap(*given).out.startswith("nothing to do")
    assert len(defender.asked) == 2

    take_back_by_hand(machine)
    assert rf"defender exclusion path {LAYERS} is gone" in machine.wmcb("status").out
    assert machine.wmcb("daemon", "install").code == 0
    machine.node.start_service(SERVICE)
    until(lambda: defender.excluded("Paths") == [LAYERS], "it is excluded again")
    take_back_by_hand(machine)
    until(lambda: defender.excluded("Paths") == [LAYERS], "it is so again, long before it looks at all")

    assert machine.wmcb("reset").code == 0
    assert (defender.excluded("Paths"), defender.excluded("Processes")) == ([], [])


def test_features_are_enabled_by_a_restart_and_go_when_asked(machine: Machine) -> None:
    features = Features(machine.node)
    given = give(machine, FEATURES)
    result = machine.bootstrap(*given)
    assert "Windows feature Containers is enabled when Windows has been restarted" in result.out + result.err
    states = [features.state(name) for name in ("Containers", "RemoteAccessServer", "RemoteAccess")]
    assert states == [INSTALL_PENDING, INSTALL_PENDING, INSTALLED]
    assert features.asked == ["Enable Containers", "Enable RemoteAccessServer all"]

    machine.node.reboot()
    again = machine.bootstrap(*given)
    assert again.code == 0, again.err
    assert features.state("Containers") == INSTALLED
    assert machine.wmcb("status").code == 0
    assert len(features.asked) == 2

    reset = machine.wmcb("reset", "--features")
    assert "Windows feature Containers is disabled when Windows has been restarted" in reset.out
    assert features.asked[2:] == ["Disable RemoteAccessServer", "Disable Containers"]
    assert features.state("RemoteAccess") == INSTALLED, "it is not ours: only what it is part of was named"


@pytest.mark.parametrize(
    ("standin", "document", "refused", "told"),
    [
        (
            Defender,
            EXCLUSIONS,
            {"ConnectServer": ABSENT},
            "this Windows has no Microsoft Defender to exclude path ",
        ),
        (Defender, EXCLUSIONS, {"ReturnValue": 0x80070005}, "access is denied (Windows error 5)"),
        (Defender, EXCLUSIONS, {"swallow": 1}, "tamper protection or a group policy does not let it"),
        (Defender, EXCLUSIONS, {"hide": 1}, "cannot read Microsoft Defender's exclusions (path): access is"),
        (
            Features,
            FEATURES,
            {"EnableFeature": 0x800F081F},
            "cannot enable Windows feature Containers: Windows refused (Windows error 0x800f081f); its files"
            " are not on this machine",
        ),
        (
            Features,
            FEATURES,
            {"OpenSession": 0x800702E4},
            "access is denied (Windows error 740); run this as",
        ),
        (Features, FEATURES, {"GetFeatureInfo": 0x800F080C}, "this Windows has no feature Containers"),
    ],
    ids=["no Defender", "not allowed", "swallowed", "hidden", "no files", "not elevated", "unknown"],
)
def test_what_windows_refuses_is_told_in_one_line(
    machine: Machine, standin: type[Standin], document: str, refused: dict[str, int], told: str
) -> None:
    standin(machine.node).refuse(**refused)  # type: ignore[call-arg]
    result = machine.bootstrap(*give(machine, document))
    assert result.code == 1
    assert len([line for line in result.err.splitlines() if told in line]) == 1, result.err
    assert "Traceback" not in result.err
    assert machine.node.service("kubelet") is None
    assert Features(machine.node).state("Containers") == STAGED
