"""Where another wmcb.exe lies that is to take this one's place, and this one until that is well.

Beside the program's own folder: it is the program's, and not the node's. A machine without it loads nothing
more of all that.
"""

from __future__ import annotations

from pathlib import PureWindowsPath

from agent.host.port import Host


def hand_over_folder(host: Host) -> PureWindowsPath:
    return host.facts.program_files() / "wmcb-hand-over"


def hand_over_memory(host: Host) -> PureWindowsPath:
    """What is known of it."""
    return hand_over_folder(host) / "succession.json"
