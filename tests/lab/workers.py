"""Tests of the lab run side by side: pytest-xdist, with each of its workers in namespaces of its own.

Most of these tests wait: for a service, for a Node. A worker is a whole lab, with its own network and
processes, so that two tests that need the same port, or a cluster each, never meet.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

from lab import machine

# One more than there are processors, since they wait. Each may hold a control plane, in half a gigabyte.
WORKERS = min((os.cpu_count() or 1) + 1, 4)


def run(tests: str, arguments: Sequence[str]) -> int:
    """Runs pytest on a folder of tests; its exit code."""
    machine.prepare()
    python = shlex.join([sys.executable, "-m", "lab", "enter", "--", sys.executable])
    # A worker starts on a part of its own, in order, so that most tests of a module share its fixtures.
    workers = ["--dist=worksteal", f"--tx={WORKERS}*popen//python={python}"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *workers, tests, *arguments], check=False
    ).returncode
