"""kubeadm's commands, done by wmcb's own."""

import json
import re
from collections.abc import Sequence

from agent.cli import bootstrap, options, preflight, reset
from agent.cli import kubeadm_commands as documents
from agent.cli.arguments import Option, Request
from agent.cli.asking import Asking, tell_report
from agent.cli.checking import checks_of_kubeadm
from agent.cli.failure import DONE
from agent.cli.given import given_file
from agent.cli.join_configuration import as_worker
from agent.cli.kubeadm_commands import CERTIFICATES, ETCD, FORMAT, KUBECONFIG, RENEWAL
from agent.cli.machine import open_or_imagine, runs_programs
from agent.cli.streams import notice, say
from agent.host.errors import HostError
from agent.sources.kubeadm.configurations import endpoint_fault, endpoint_warning, validated
from agent.sources.kubeadm.validation import OF_RESET, OF_UPGRADE, PREFLIGHT
from agent.sources.kubelet.folders import Placement
from agent.sources.kubelet.node import NEWEST

_RELEASE = re.compile(r"v1\.[0-9]+\.[0-9]+\S*")
_SECONDS = 60.0


def join(request: Request) -> int:
    return bootstrap.run(as_worker(request, notice))


def preflight_phase(request: Request) -> int:
    return preflight.show(as_worker(request, notice))


def reset_node(request: Request) -> int:
    documents.refuse_beside_config(request)
    asking = Asking()
    configuration = documents.reset_configuration(request, open_or_imagine(request), asking)
    # Before a reset nothing is checked here that could be ignored.
    documents.ignored_names(request, configuration.ignore_preflight_errors, "ignorePreflightErrors")
    documents.phases_to_skip(request, configuration.skip_phases, "skipPhases", OF_RESET)
    _tell_without_effect(request, (CERTIFICATES, KUBECONFIG))
    _check_endpoint(request, asking)
    # kubeadm removes a node's containers without being asked. Its kubeconfig is for etcd alone.
    values = {name: value for name, value in request.values.items() if name != KUBECONFIG.name}
    values[options.END_PODS.name] = ""
    # Nor does kubeadm remove itself, the kubelet, or containerd: the next thing may be a join.
    values[options.KEEP_PREPARED.name] = ""
    if documents.is_dry_run(request, by_file=configuration.dry_run):
        values[options.DRY_RUN.name] = ""
    if configuration.cleans_temporary_folder:
        values[options.CLEAN_TMP.name] = ""
    return reset.run(request.with_values(values))


def upgrade_node(request: Request) -> int:
    documents.refuse_beside_config(request)
    asking = Asking()
    configuration = documents.upgrade_configuration(request, open_or_imagine(request), asking)
    of_file = configuration.skip_phases
    skipped = documents.phases_to_skip(request, of_file, "node.skipPhases", OF_UPGRADE)
    ignored = configuration.ignore_preflight_errors
    names = documents.ignored_names(request, ignored, "node.ignorePreflightErrors")
    checks = checks_of_kubeadm(["all"] if PREFLIGHT in skipped else names, asking)
    _tell_without_effect(request, (KUBECONFIG, RENEWAL, ETCD))
    values = {name: value for name, value in request.values.items() if name != options.IGNORE.name}
    if checks:
        values[options.IGNORE.name] = ",".join(sorted(checks))
    if documents.is_dry_run(request, by_file=configuration.dry_run):
        values[options.DRY_RUN.name] = ""
    return bootstrap.upgrade(request.with_values(values))


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
    document = given_file(request, options.CONFIG, open_or_imagine(request))
    tell_report(validated(document.shown, document.read()), Asking())
    say("ok")
    return DONE


def _release(request: Request) -> str:
    """Of the kubelet where it is to stay; without one, the newest that is known here."""
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


def _check_endpoint(request: Request, asking: Asking) -> None:
    """Raises BadUsage for --cri-socket that is no URL; a configuration's has been checked before."""
    option, given = options.CRI_SOCKET, request.value(options.CRI_SOCKET, "")
    if given and (fault := endpoint_fault(given)):
        raise option.misused(f": {fault}")
    if warning := endpoint_warning(given):
        asking.warn(f"{option.name}: {warning}")


def _tell_without_effect(request: Request, ignored: Sequence[Option]) -> None:
    for option in ignored:
        if request.has(option):
            notice(f"warning: {option.name} has no effect here: it is not looked at")
