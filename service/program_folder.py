"""Where wmcb's own program lies on a machine."""

from __future__ import annotations

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
