"""The scripts of packaging/manifests, as far as they can be read without Windows; tests/cluster runs them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

OVERLAY = Path(__file__).parents[2] / "packaging" / "manifests" / "overlay"
RANGE, PLUGIN = "%flannel%", r"%CNI_PATH%\host-local.exe"


def chosen(line: str, there: set[str]) -> str:
    """Which command it comes to; an if without its else comes to nothing."""
    choice = re.fullmatch(r"if (not )?exist (\S+) \((.*?)\) else (.*)", line)
    if choice is None:
        return line.partition(" ")[0]
    is_so = (choice[2] in there) is not bool(choice[1])
    return chosen(choice[3] if is_so else choice[4], there)


@pytest.mark.parametrize(
    ("there", "does"),
    [(set(), "ping"), ({RANGE}, "ping"), ({PLUGIN}, "ping"), ({RANGE, PLUGIN}, "exit")],
    ids=["nothing", "the range of another start", "the plug-ins", "all"],
)
def test_kube_proxy_waits_for_flannel_with_a_pause_each_time(there: set[str], does: str) -> None:
    script = (OVERLAY / "start.cmd").read_text("utf-8")
    (waiting,) = re.findall(r"^cmd /c for /l %%n in \(0,0,1\) do @(.*)$", script, re.MULTILINE)
    assert chosen(waiting, there) == does
