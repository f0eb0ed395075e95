"""The preflight checks as a command uses them: what is to be ignored, and a refusal of what remains."""

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agent.certificates import load_pem
from agent.cli import kubelet_program, options
from agent.cli.arguments import Request
from agent.cli.asking import Asking, last_of
from agent.cli.command_line import option_here
from agent.cli.failure import BadUsage, Refused
from agent.cli.machine import is_imagined
from agent.cli.streams import did_you_mean
from agent.host.port import Host
from agent.preflight import checks as machine_checks
from agent.preflight.situation import Finding, Situation, Validity, Verdict
from agent.release import NOT_BEFORE, RELEASE
from agent.sources.kubeadm.validation import ignored_checks_fault
from agent.sources.kubelet.documents import NotReadable, read_document
from agent.sources.kubelet.folders import Placement
from agent.sources.kubelet.node import RUNTIME_ENDPOINT
from agent.spec import File, Key, Service, Specification, Want

IGNITION_CHECK = "ignition"
SKEW_CHECK = "version-skew"
CLUSTER_CHECK = "cluster"
ADMINISTRATOR_CHECK = "administrator"
RUNTIME_CHECK = "containerd-service"
IDS = (*machine_checks.IDS, kubelet_program.CHECK, IGNITION_CHECK, CLUSTER_CHECK, SKEW_CHECK)

_CONTAINERD_PIPE = RUNTIME_ENDPOINT.rpartition("/")[2]

_CHECKS = {
    "isprivilegeduser": "administrator",
    "cri": "containerd-pipe",
    "containerruntimeversion": "containerd-pipe",
    "mem": "memory",
    "systemverification": "windows-build",
    "kubeletversion": SKEW_CHECK,
}
"""Checks that kubeadm has under another name."""

_LARGEST = 4 << 20
_FLAG = "--bootstrap-kubeconfig="


def ignored_checks(request: Request, ids: Sequence[str] = IDS) -> Collection[str]:
    """Raises BadUsage for an id that there is none of."""
    given = request.value(options.IGNORE, "")
    names = frozenset(name.strip() for name in given.split(",")) if given else frozenset()
    if fault := ignored_checks_fault(tuple(names)):
        raise BadUsage.of(options.IGNORE.name, given, fault)
    if {name.lower() for name in names} == {"all"}:
        return frozenset(ids)
    for name in names:
        if name not in ids:
            advice = did_you_mean(name.lower(), ids, f"use all, or of these: {', '.join(ids)}")
            raise BadUsage.of(options.IGNORE.name, given, f"there is no check {name}; {advice}")
    return names


def checks_of_kubeadm(names: Sequence[str], asking: Asking) -> Collection[str]:
    """Return the ids here of checks by kubeadm's names, and warn of those that there are none of."""
    lower = [name.lower() for name in names]
    if "all" in lower:
        return frozenset(IDS)
    known = {_CHECKS.get(name, name) for name in lower}
    for name in sorted(known.difference(IDS)):
        # kubeadm says nothing either: most of its checks are of Linux, or are no obstacle here.
        asking.warn(f"{options.IGNORE.name}: no check here is called {name}")
    return known.intersection(IDS)


def runtime_service(request: Request, asking: Asking) -> str:
    """Empty for none: a service of another name is not guessed where the runtime is not containerd."""
    if asking.join is not None and not request.has(options.CONTAINER_RUNTIME):
        socket = asking.join.node_registration.cri_socket
        if socket and socket.rpartition("/")[2] != _CONTAINERD_PIPE and not socket.startswith("unix:"):
            return ""
    given = request.value(options.CONTAINER_RUNTIME, Placement(None).runtime_service)
    return "" if given == "none" else given


def machine_findings(
    request: Request,
    host: Host,
    asking: Asking,
    specification: Specification | None,
    *,
    patient: bool = True,
    checks: Collection[str] = machine_checks.IDS,
) -> Sequence[Finding]:
    """Those of the machine itself; errors that are to be ignored are warnings."""
    situation = Situation(
        host,
        specification,
        runtime_service(request, asking),
        validities(specification),
        asking.ignored,
        option_here(request, options.CONTAINER_RUNTIME),
        patient,
    )
    found = machine_checks.findings(situation, checks)
    return [each.forgiven() if each.check in asking.ignored else each for each in found]


def errors_beforehand(
    request: Request, host: Host, asking: Asking, first: Specification | None = None
) -> Sequence[Finding]:
    """What makes it no use to ask a cluster, which may take minutes to answer, or never do.

    `first` is made before: a service that it brings need not be there.
    """
    found = machine_findings(request, host, asking, None, checks=machine_checks.WHATEVER_IS_WANTED)
    brought = Key(Service.kind, runtime_service(request, asking))
    checks = [RUNTIME_CHECK] if first is not None and brought in first.by_key() else []
    return [each for each in found if each.is_error and each.check not in checks]


def hindrances(
    request: Request, host: Host, asking: Asking, specification: Specification
) -> Sequence[Finding]:
    """What a run would stop at, or warn of; for a look, so nothing is waited for."""
    if is_imagined(request):
        return ()
    found = machine_findings(request, host, asking, specification, patient=False)
    return [each for each in found if each.verdict in (Verdict.WARNING, Verdict.ERROR)]


def refuse_unfit(found: Sequence[Finding], asking: Asking) -> None:
    """Tells all that is amiss. Raises Refused if an error is among it."""
    for each in found:
        if each.verdict is Verdict.WARNING:
            asking.warn(f"{each.check}: {each.text}")
    errors = [
        Refused(f"{each.check}: {each.text}", where=each.check)
        for each in found
        if each.verdict is Verdict.ERROR
    ]
    if errors:
        raise last_of(errors)


def validities(specification: Specification | None) -> Sequence[Validity]:
    """Of this release, and of the cluster's authorities by which the kubelet first goes."""
    known = [Validity(f"this release, {RELEASE},", NOT_BEFORE)]
    spans = list(_spans(specification)) if specification else []
    if spans:
        first, last = min(first for first, _ in spans), max(last for _, last in spans)
        known.append(Validity("the cluster's certificate authority", first, last))
    return known


def _spans(specification: Specification) -> Iterator[tuple[float, float]]:
    """What cannot be read here is the kubelet's to judge."""
    wants = specification.by_key()
    for cluster in _clusters(wants):
        inline = str(cluster.get("certificate-authority-data", ""))
        path = str(cluster.get("certificate-authority", ""))
        try:
            text = base64.b64decode(inline) if inline else _content(wants, path)
            for certificate in load_pem(text):
                first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
                yield first.timestamp(), last.timestamp()
        except ValueError:
            continue


def _clusters(wants: Mapping[Key, Want]) -> Iterator[Mapping[str, Any]]:
    for want in wants.values():
        if not isinstance(want, Service):
            continue
        for path in (word.removeprefix(_FLAG) for word in want.arguments if word.startswith(_FLAG)):
            try:
                document: Any = read_document(path, _content(wants, path)).value
            except NotReadable:
                continue
            listed = document.get("clusters")
            for item in listed if isinstance(listed, list) else ():
                cluster = item.get("cluster") if isinstance(item, dict) else None
                if isinstance(cluster, dict):
                    yield cluster


def _content(wants: Mapping[Key, Want], path: str) -> bytes:
    """Empty for what the specification does not carry."""
    file = wants.get(Key(File.kind, path))
    if not isinstance(file, File) or file.content is None or file.content.size > _LARGEST:
        return b""
    return b"".join(file.content.blocks())
