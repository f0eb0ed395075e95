"""kubeadm's commands, done by wmcb's own."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from agent.cli import join_options
from agent.cli.failure import DONE, BadUsage
from agent.cli.kubeadm_commands import CERTIFICATE_KEY, CONTROL_PLANE, FORMAT
from agent.cli.streams import say

if TYPE_CHECKING:
    from agent.cli.arguments import Request

_RELEASE = re.compile(r"v1\.[0-9]+\.[0-9]+\S*")
_SECONDS = 60.0


def join(request: Request) -> int:
    from agent.cli import bootstrap

    refuse_control_plane(request)
    return bootstrap.run(request)


def preflight(request: Request) -> int:
    from agent.cli import preflight

    refuse_control_plane(request)
    return preflight.show(request)


def reset(request: Request) -> int:
    from agent.cli import reset

    return reset.run(request)


def version(request: Request) -> int:
    """Of the kubelet: that is the Kubernetes which a kubeadm here would have come with."""
    release = _release(request)
    if not request.has(FORMAT):
        say(f"kubeadm version: {release} (wmcb in its place)")
        return DONE
    style = request.value(FORMAT, "")
    if style == "short":
        say(release)
        return DONE
    major, minor, _ = release.removeprefix("v").split(".", 2)
    told = {"major": major, "minor": minor, "gitVersion": release, "platform": "windows/amd64"}
    if style == "json":
        say(json.dumps({"clientVersion": told}, indent=2))
    else:
        say("\n".join(["clientVersion:", *(f'  {name}: "{value}"' for name, value in told.items())]))
    return DONE


def validate(request: Request) -> int:
    """As kubeadm: nothing of the machine or the cluster is looked at."""
    from agent.cli.asking import Asking
    from agent.cli.given import given_file
    from agent.cli.machine import open_or_imagine
    from agent.cli.wanted import tell_report
    from agent.sources.kubeadm.reading import read

    document = given_file(request, join_options.CONFIG, open_or_imagine(request))
    tell_report(read(document.shown, document.read(), strictly=True).report, Asking())
    say("ok")
    return DONE


def _release(request: Request) -> str:
    """Of the kubelet where it is to stay; without one, the newest that is known here."""
    from agent.cli.machine import open_or_imagine, runs_programs
    from agent.host.errors import HostError
    from agent.sources.kubelet.node import NEWEST
    from agent.sources.kubelet.placement import Placement

    unknown = f"v1.{NEWEST}.0"
    host, path = open_or_imagine(request), Placement(None).kubelet_path
    if not runs_programs(request):
        return unknown
    try:
        answer = host.processes.run((str(path), "--version"), seconds=_SECONDS)
    except HostError:
        return unknown
    found = _RELEASE.search(answer.output.decode(errors="replace"))
    return found[0] if found else unknown


def refuse_control_plane(request: Request) -> None:
    """Raises BadUsage."""
    for option in (CONTROL_PLANE, CERTIFICATE_KEY):
        if request.has(option):
            raise BadUsage(
                f"{option.name}: a Windows machine cannot be part of the control plane; leave it out",
                where=option.name,
            )
