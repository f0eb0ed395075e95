"""What wmcb.exe says, and what Ansible is told of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.wmcb.windows.plugins.module_utils import logs, outcomes
from ansible_collections.wmcb.windows.plugins.module_utils.machine import Ended

SERVICE = {"action": "create", "resource": ["service", "kubelet"], "differences": []}
FILE = {
    "action": "change",
    "resource": ["file", r"C:\k\kubelet.exe"],
    "differences": [{"field": "sha256", "found": "1a", "wanted": "2b"}],
}


def ended(document: dict[str, Any], code: int = 0) -> Ended:
    return Ended(code, json.dumps({"format": 1, **document}), "wmcb: warning: so and so\n")


def test_changes() -> None:
    outcome = outcomes.read(ended({"changes": [SERVICE, FILE], "remarks": ["the Node stays"]}))
    assert not outcome.fault
    assert outcome.changes == ["create service kubelet", r"change file C:\k\kubelet.exe"]
    assert outcome.plan == (
        "create service kubelet\nchange file C:\\k\\kubelet.exe\n  sha256: 1a -> 2b\nnote: the Node stays\n"
    )


def test_nothing_to_do() -> None:
    outcome = outcomes.read(ended({"changes": []}))
    assert (outcome.changes, outcome.fault, outcome.plan) == ([], "", "nothing to do\n")
    assert outcome.tells_changes


def test_what_differs_from_what_was_made_is_no_fault() -> None:
    outcome = outcomes.read(ended({"title": "node win1", "resources": []}, 1))
    assert (outcome.fault, outcome.tells_changes) == ("", False)


def test_what_had_to_stay_is_no_fault() -> None:
    outcome = outcomes.read(ended({"changes": [], "left": [r"C:\k stays: it is not empty"]}))
    assert (outcome.fault, outcome.left) == ("", [r"C:\k stays: it is not empty"])


def test_a_restart_that_an_exit_code_cut_by_ssh_does_not_tell_of() -> None:
    outcome = outcomes.read(ended({"changes": [SERVICE], "awaiting": ["the host name"]}, 1003 & 0xFF))
    assert outcome.awaiting == ["the host name"]


ERROR = {"message": "kubelet.exe ended at once", "details": ["E1 no"], "others": [{"message": "first"}]}
PREFLIGHT = {
    "checks": [{"id": "disk", "verdict": "error", "text": "full"}, {"id": "x", "verdict": "warning"}]
}
FAULTS = {
    "a failure, with the log's last lines": (
        ended({"error": ERROR}, 1),
        "first; kubelet.exe ended at once",
        ["E1 no"],
    ),
    "a machine that is not fit": (ended({"passed": False, **PREFLIGHT}, 3), "disk: full", []),
    "no wmcb.exe at all": (
        Ended(1, "", "first\nnot recognized"),
        "could not be run: not recognized",
        ["first"],
    ),
    "a reset after which something stays": (
        ended({"changes": [SERVICE], "left": ["firewall rule kubelet stays"], "awaiting": []}, 1),
        "firewall rule kubelet stays",
        [],
    ),
    "of another format": (ended({"format": 2}), "does not know wmcb's format 2", []),
}


@pytest.mark.parametrize(("told", "fault", "details"), FAULTS.values(), ids=FAULTS)
def test_what_is_a_fault(told: Ended, fault: str, details: list[str]) -> None:
    outcome = outcomes.read(told)
    assert outcome.fault.endswith(fault)
    assert [*outcome.details] == details


def test_which_line_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "wmcb.log"
    log.write_text("T1 it failed\nT2 done\nT3 join: it failed; all is as it was\n    more\n")
    assert logs.place_of("it failed", log).endswith("line 3: T3 join: it failed; all is as it was")
    assert logs.place_of("something else", log) == ""


# Of a real one, whose token nobody knows.
KUBELET = """\
E1119 12:11:53.071843     680 kubelet.go:3516] "Unable to register mirror pod" node="win1"
I1119 12:11:54.100000     680 kubelet.go:2500] "Started"
E1119 12:11:54.342063     680 controller.go:201] "Failed to ensure lease exists, will retry"
E1119 12:11:54.371848     680 kubelet.go:3516] "Unable to register mirror pod" node="win1"
W1119 12:11:55.100000     680 kubelet.go:1] E1119 12:11:55 again
E1119 12:11:55.215577     680 kubelet_node_status.go:114] "Unable to register node with API server"
E1119 12:11:56.252770     680 kubelet.go:3516] "Unable to register mirror pod" node="win1"
"""


def test_what_a_kubelet_could_not_do_last(tmp_path: Path) -> None:
    log = tmp_path / "kubelet.log"
    log.write_text(KUBELET)
    numbers = [re.search(r"kubelet\.log line (\d+): E1119", each) for each in logs.last_troubles(log)]
    assert [found and int(found[1]) for found in numbers] == [3, 6, 7]
    log.write_text("".join(f"E1119 12:00:00.000000 1 kubelet.go:{line}] no\n" for line in range(9)))
    assert [each[-5] for each in logs.last_troubles(log)] == ["5", "6", "7", "8"]
    log.write_text("I1119 09:17:00 Started\n")
    assert logs.last_troubles(log) == []
