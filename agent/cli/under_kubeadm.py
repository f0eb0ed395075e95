"""kubeadm's commands, done by wmcb's own."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from agent.cli import join_options, options
from agent.cli.arguments import Request
from agent.cli.failure import DONE, BadUsage
from agent.cli.kubeadm_commands import CERTIFICATES, ETCD, FORMAT, KUBECONFIG, RENEWAL
from agent.cli.streams import say, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.cli.arguments import Option

_RELEASE = re.compile(r"v1\.[0-9]+\.[0-9]+\S*")
_SECONDS = 60.0

_PREFLIGHT = "preflight"
_OF_UPGRADE = (_PREFLIGHT, "control-plane", "kubeconfig", "kubelet-config", "addon", "post-upgrade")
_OF_RESET = (_PREFLIGHT, "remove-etcd-member", "cleanup-node")


def join(request: Request) -> int:
    from agent.cli.beginning import make_node

    refuse_control_plane(request)
    return make_node(request)


def preflight(request: Request) -> int:
    from agent.cli import preflight

    refuse_control_plane(request)
    return preflight.show(request)


def reset(request: Request) -> int:
    from agent.cli import reset

    _phases_to_skip(request, _OF_RESET, done="cleanup-node")
    _tell_without_effect(request, (join_options.CONFIG, CERTIFICATES, KUBECONFIG))
    # kubeadm removes a node's containers without being asked. Its kubeconfig is for etcd alone.
    values = {name: value for name, value in request.values.items() if name != KUBECONFIG.name}
    values[options.END_PODS.name] = ""
    # Nor does kubeadm remove itself, the kubelet, or containerd: the next thing may be a join.
    values[options.KEEP_PREPARED.name] = ""
    return reset.run(Request(request.words, request.command, values, request.operand))


def upgrade_node(request: Request) -> int:
    from agent.cli import upgrade

    skipped = _phases_to_skip(request, _OF_UPGRADE, done="kubelet-config")
    _tell_without_effect(request, (join_options.CONFIG, KUBECONFIG, RENEWAL, ETCD))
    values = {**request.values}
    if _PREFLIGHT in skipped:
        values[options.IGNORE.name] = "all"
    return upgrade.run(Request(request.words, request.command, values, request.operand))


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
    from agent.cli.asking import Asking, tell_report
    from agent.cli.given import given_file
    from agent.cli.machine import open_or_imagine
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
    for option in (join_options.CONTROL_PLANE, join_options.CERTIFICATE_KEY):
        if request.has(option):
            raise BadUsage(
                f"{option.name}: a Windows machine cannot be part of the control plane; leave it out",
                where=option.name,
            )


def _phases_to_skip(request: Request, known: Sequence[str], *, done: str) -> Sequence[str]:
    """Raises BadUsage for the one that is `done` here whatever is said; of the others few ever are."""
    option = join_options.SKIP_PHASES
    skipped = [phase for word in request.value(option, "").split(",") if (phase := word.strip())]
    for phase in skipped:
        # Of phases inside of phases kubeadm has names such as addon/coredns.
        if phase.partition("/")[0] not in known:
            fault = f"there is no such phase; kubeadm has {', '.join(known)}"
            raise BadUsage.of(option.name, phase, fault)
        if phase == done:
            raise BadUsage.of(
                option.name, phase, "this phase cannot be left out here: it is all that is done"
            )
    return skipped


def _tell_without_effect(request: Request, ignored: Sequence[Option]) -> None:
    for option in ignored:
        if request.has(option):
            tell(f"wmcb: {option.name} has no effect here: it is not looked at")
