"""A service of a NodeConfiguration whose output goes into a file that is rotated."""

from __future__ import annotations

from lab import windows_python
from lab.node import Node
from lab.services import State
from lab.waiting import until
from windows.test_bootstrap import Machine

DOCUMENT = r"C:\given files\node.yaml"
LOG = r"C:\var\log\talker.log"
MEGABYTE = 1_000_000
LAST = "the last word, with a console"
SAYING = (
    "import ctypes, time; has_console = ctypes.windll.kernel32.GetConsoleCP() != 0; "
    "print(('x' * 99 + chr(10)) * 40_000, 'the last word, with' + ' no' * (not has_console), 'a console', "
    "flush=True); time.sleep(600)"
)
TEXT = rf"""apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
services:
- name: talker
  program: {windows_python.PROGRAM}
  arguments: [-c, "{SAYING}"]
  console: true
  output: {{path: '{LOG}', largestMegabytes: 1, files: 2}}
"""


def test_it_is_left_when_it_is_full_and_so_many_are_kept(node: Node) -> None:
    machine = Machine(node).made()
    node.path(DOCUMENT).write_text(TEXT)
    done = machine.wmcb("prepare", "--node-config", DOCUMENT)
    assert done.code == 0, done.err
    node.wait_for_service("talker", State.RUNNING)
    log = node.path(LOG)
    # While it is exchanged for another there is none.
    until(
        lambda: log.exists() and LAST in log.read_text(),
        "all is written",
        explain=lambda: list(log.parent.iterdir()),
    )
    files = sorted(log.parent.glob("talker*.log"))
    assert len(files) == 1 + 2
    assert all(file.stat().st_size <= MEGABYTE for file in files)
    assert machine.wmcb("reset").code == 0
    assert node.service("talker") is None
