"""Where wmcb keeps what is its own."""

from __future__ import annotations

from pathlib import PureWindowsPath

from agent.host.port import Host


def own_folder(host: Host) -> PureWindowsPath:
    return host.facts.program_data() / "wmcb"
