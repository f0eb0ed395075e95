"""Which kind of document somebody gave, by how it begins: one option's is easily given to another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.cli import options

if TYPE_CHECKING:
    from agent.cli.arguments import Option
    from agent.cli.given import GivenFile
    from agent.host.port import Host

_LOOKED_AT = 1 << 16
_USER_DATA = re.compile(
    rb"#cloud-config\b|##\s*template:|#ps1|#include\b|(?:content-type|mime-version):", re.I
)
_JOIN = re.compile(rb"""^["']?kind["']?[ \t]*:[ \t]*["']?JoinConfiguration\b""", re.MULTILINE)
_JOIN_IN_JSON = re.compile(rb'"kind"\s*:\s*"JoinConfiguration"')
_IGNITION_IN_JSON = re.compile(rb'"ignition"\s*:')
_NODE = re.compile(rb"""^["']?kind["']?[ \t]*:[ \t]*["']?NodeConfiguration\b""", re.MULTILINE)
_NODE_IN_JSON = re.compile(rb'"kind"\s*:\s*"NodeConfiguration"')
_CALLED = {
    options.IGNITION: "an Ignition",
    options.KUBEADM_CONFIG: "a JoinConfiguration",
    options.USER_DATA: "cloud-init user data",
    options.NODE_CONFIG: "a NodeConfiguration",
}


def refuse_another_kind(file: GivenFile, wanted: Option, host: Host) -> None:
    """Raises BadInput where it is plainly one that another option takes."""
    found = _kind(file.head(_LOOKED_AT).removeprefix(b"\xef\xbb\xbf").lstrip())
    # User data may be an Ignition: Cluster API writes it in that format, too.
    is_meant = found is wanted or (found is options.IGNITION and wanted is options.USER_DATA)
    if found is None or is_meant:
        return
    command = f"{host.called} prepare" if found is options.NODE_CONFIG else host.called
    raise file.objection(f"it is {_CALLED[found]}; {command} {found.name} {found.placeholder} takes that")


def _kind(beginning: bytes) -> Option | None:
    if beginning.startswith(b"{"):
        if _IGNITION_IN_JSON.search(beginning):
            return options.IGNITION
        if _JOIN_IN_JSON.search(beginning):
            return options.KUBEADM_CONFIG
        return options.NODE_CONFIG if _NODE_IN_JSON.search(beginning) else None
    if _USER_DATA.match(beginning):
        return options.USER_DATA
    if _JOIN.search(beginning):
        return options.KUBEADM_CONFIG
    return options.NODE_CONFIG if _NODE.search(beginning) else None
