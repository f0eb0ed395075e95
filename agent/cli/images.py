"""A machine that is to be an image: what must not be on it, since each of its copies would have it."""

from __future__ import annotations

import json
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli.asking import last_of
from agent.cli.failure import BadInput, Refused
from agent.cli.inputs import title_of
from agent.cli.run_log import RunLog
from agent.engine.target import Target
from agent.resources.sealing import is_secret
from agent.sources.kubeadm.places import KUBELET_CONF
from agent.sources.kubelet.placement import ARGUMENTS_FILE
from agent.spec.host_name import HostName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.cli.stages import Stage
    from agent.host.port import Host
    from agent.spec import Want

_OF_ONE_NODE = (
    KUBELET_CONF,
    KUBELET_CONF.with_name("bootstrap-kubelet.conf"),
    ARGUMENTS_FILE,
    PureWindowsPath(r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"),
    PureWindowsPath(r"C:\var\lib\cni"),
)


def refuse_identity(host: Host, stages: Sequence[Stage]) -> None:
    """Raises Refused where this is a node, or was one, and BadInput for a document that makes it this one."""
    if title := title_of(host):
        raise Refused(f"this machine is a node already ({title}); wmcb reset takes it out of that first")
    found = [
        Refused(f"{path} is of a node that this machine was; remove it, or an image has it", where=str(path))
        for path in _OF_ONE_NODE
        if host.files.observe(path) is not None
    ]
    if found:
        raise last_of(found)
    for stage in stages:
        for want in stage.specification.wants:
            if isinstance(want, HostName):
                raise _at_its_place(stage, want, "an image has no name: each of its copies gets one")
            if is_secret(json.dumps(Target.of(want).document())):
                text = (
                    "its password is sealed by a key of this machine: an image has none, give it to each copy"
                )
                raise _at_its_place(stage, want, text)


def _at_its_place(stage: Stage, want: Want, text: str) -> BadInput:
    entry = stage.origins[want.key].error(text)
    return BadInput(str(entry).removeprefix("error: "), where=entry.where)


def forget_this_machine(host: Host) -> None:
    """What was made stays known, and each copy goes on from there; what was said meanwhile does not."""
    RunLog(host).remove()
