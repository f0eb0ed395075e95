"""Where wmcb's own program lies on a machine."""

from pathlib import PureWindowsPath

from agent.host.port import Host
from agent.release import RELEASE

PROGRAM = "wmcb.exe"
KUBEADM = "kubeadm.exe"
"""The same program, by the name under which it takes kubeadm's command lines."""
INTERNAL = "_internal"
"""The folder beside the program that holds all that it loads, by PyInstaller's name."""


def home(host: Host) -> PureWindowsPath:
    """Return the folder that has one for each version."""
    return host.facts.program_files() / "wmcb"


def place(host: Host) -> PureWindowsPath:
    """Return the folder of this version."""
    return home(host) / RELEASE


def hand_over_folder(host: Host) -> PureWindowsPath:
    """Where another wmcb.exe lies that is to take this one's place, and this one until that is well.

    Beside the program's own folder: it is the program's, and not the node's.
    """
    return host.facts.program_files() / "wmcb-hand-over"


def hand_over_memory(host: Host) -> PureWindowsPath:
    """What is known of it."""
    return hand_over_folder(host) / "succession.json"
