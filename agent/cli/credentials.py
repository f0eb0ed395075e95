"""Whether a node still has what it is known by to its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PureWindowsPath

from agent.engine.planning import Change, Match, Plan
from agent.host.port import Host, ServiceState
from agent.resources.kind import State
from agent.spec import File, Key, Service

_KUBECONFIG, _BOOTSTRAP = "--kubeconfig=", "--bootstrap-kubeconfig="


def missing_credentials(host: Host, plan: Plan) -> Iterator[str]:
    """Lines for a person, of a kubelet that was there before this run."""
    all_of_it: list[Change | Match] = [*plan.changes, *plan.unchanged]
    for each in all_of_it:
        key, found = each.target.key, each.found
        if key.kind != Service.kind or each.target.want is None or found is None:
            continue
        if _runs_on_paper(host, key.name, found):
            continue
        path = _kubeconfig(found)
        if path is None or host.files.observe(PureWindowsPath(path)) is not None:
            continue
        if Key(File.kind, path) not in {other.target.key for other in all_of_it}:
            yield (
                f"{path} is not there: without these credentials {key} asks its cluster for new ones, "
                "and somebody there may have to approve that"
            )


def _kubeconfig(found: State) -> str | None:
    """What the kubelet writes when it is admitted; None if it does not go by a bootstrap kubeconfig."""
    command = found.get("command")
    words = [str(word) for word in command] if isinstance(command, list | tuple) else []
    if not any(word.startswith(_BOOTSTRAP) for word in words):
        return None
    given = (word.removeprefix(_KUBECONFIG) for word in words if word.startswith(_KUBECONFIG))
    return next(given, None)


def _runs_on_paper(host: Host, name: str, found: State) -> bool:
    """As services in a sandbox do, and write nothing."""
    return found.get("state") == ServiceState.RUNNING.name and host.services.status(name).pid is None
