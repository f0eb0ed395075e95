"""A program that is run, where whoever runs it is killed."""

from __future__ import annotations

from lab.node import Node
from lab.waiting import until

KILLED = 7
RUNNING = f"""
import os, sys
from agent.host.windows import running

def killed(*given):
    made(*given)
    os._exit({KILLED})

made, running._create = running._create, killed
running.run((sys.executable, "-c", "import time; time.sleep(600)"), 600, None, None, 1, console=False)
"""


def test_killed_as_soon_as_it_is_made_it_leaves_nothing(node: Node) -> None:
    """What Windows closes of whoever dies ends it."""
    assert node.python("-c", RUNNING, folder=r"Z:\repo").code == KILLED
    until(
        lambda: not node.processes("python.exe"),
        "all of it has ended",
        explain=lambda: node.processes("python.exe"),
    )
