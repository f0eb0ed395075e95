"""The benchmark's controls of a worker, in its order, and what of Windows each of them is about."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PureWindowsPath

from agent import documents
from agent.audit import files, settings
from agent.audit.finding import Finding, Judged, Result
from agent.audit.running import PROXY, Running, local_path, running
from agent.host import winerror
from agent.host.errors import HostError, NotFound
from agent.host.files import FileKind

Judge = Callable[[Running], Judged]

BENCHMARK = "CIS Kubernetes Benchmark 1.10, worker nodes"

_LOCAL = "127.0.0.1"


def _kubeconfig_files(kubelet: Running) -> Iterator[PureWindowsPath]:
    """With the keys that it names: they are beside the certificates that the kubelet renews."""
    if (path := kubelet.kubeconfig) is not None:
        yield path
    folder = local_path(kubelet.flags.get("cert-dir", r"C:\var\lib\kubelet\pki"))
    try:
        entries = [*kubelet.host.files.entries(folder)]
    except NotFound:
        return
    for each in entries:
        # The one in use is a link to a dated one, which is there as well.
        if each.kind is FileKind.FILE and each.name.lower().endswith((".pem", ".key")):
            yield folder / each.name


def _authority_files(kubelet: Running) -> Sequence[PureWindowsPath]:
    path = kubelet.authority()
    return [path] if path else []


def _configuration_files(kubelet: Running) -> Sequence[PureWindowsPath]:
    """With the folder where others may be put beside them."""
    folder = kubelet.configuration_folder
    return [*kubelet.configuration_files, *([folder] if folder else ())]


def _proxy_files(kubelet: Running) -> Sequence[PureWindowsPath]:
    proxy = running(kubelet.host, PROXY)
    if proxy is None:
        return []
    told = proxy.setting("clientConnection.kubeconfig", "kubeconfig")
    return [local_path(told)] if isinstance(told, str) and told else []


def _metrics_of_proxy(kubelet: Running) -> Judged:
    proxy = running(kubelet.host, PROXY)
    if proxy is None:
        return Result.PASS, "no service here is a kube-proxy; one in a pod is its DaemonSet's affair", "", ()
    told = str(proxy.setting("metricsBindAddress", "metrics-bind-address") or f"{_LOCAL}:10249")
    if told.startswith((_LOCAL, "localhost", "[::1]")):
        return Result.PASS, f"it answers at {told}", "", ()
    return Result.FAIL, f"it answers at {told}", "set metricsBindAddress: 127.0.0.1:10249, and restart it", ()


def _private(found: Callable[[Running], Iterable[PureWindowsPath]]) -> Judge:
    return lambda kubelet: files.private(kubelet.host, found(kubelet))


def _owned(found: Callable[[Running], Iterable[PureWindowsPath]]) -> Judge:
    return lambda kubelet: files.ownership(kubelet.host, found(kubelet))


def _setting(control: str) -> Judge:
    return lambda kubelet: settings.judged(kubelet, settings.SETTINGS[control])


def _nothing(what: str) -> Judge:
    return lambda _: (Result.NONE, f"Windows has no {what}", "", ())


CONTROLS: Sequence[tuple[str, str, Judge]] = (
    ("4.1.1", "only administrators can change what the kubelet's service runs", files.programs),
    ("4.1.2", "what the kubelet's service runs belongs to no single account", files.ownership_of_programs),
    ("4.1.3", "kube-proxy's kubeconfig is private", _private(_proxy_files)),
    ("4.1.4", "kube-proxy's kubeconfig belongs to no single account", _owned(_proxy_files)),
    ("4.1.5", "the kubelet's kubeconfig and keys are private", _private(_kubeconfig_files)),
    ("4.1.6", "the kubelet's kubeconfig and keys belong to no single account", _owned(_kubeconfig_files)),
    ("4.1.7", "the authority of its clients is private", _private(_authority_files)),
    ("4.1.8", "the authority of its clients belongs to no single account", _owned(_authority_files)),
    ("4.1.9", "the kubelet's configuration is private", _private(_configuration_files)),
    ("4.1.10", "the kubelet's configuration belongs to no single account", _owned(_configuration_files)),
    ("4.2.1", "anonymous requests are refused", _setting("4.2.1")),
    ("4.2.2", "not everything is allowed", _setting("4.2.2")),
    ("4.2.3", "clients show certificates of a known authority", settings.client_authority),
    ("4.2.4", "there is no read-only port", _setting("4.2.4")),
    ("4.2.5", "idle streams are ended", _setting("4.2.5")),
    ("4.2.6", "iptables' chains are kept", _nothing("iptables")),
    ("4.2.7", "the node has the machine's name", settings.host_name),
    ("4.2.8", "events are recorded", _setting("4.2.8")),
    ("4.2.9", "it serves with a certificate of its cluster", settings.serving_certificate),
    ("4.2.10", "its client certificate is renewed", _setting("4.2.10")),
    ("4.2.11", "its serving certificate can be renewed", settings.rotation_of_serving),
    ("4.2.12", "only strong ciphers are used", settings.ciphers),
    ("4.2.13", "pods' processes are limited", _nothing("limit of process ids")),
    ("4.3.1", "kube-proxy's metrics are this machine's alone", _metrics_of_proxy),
)


def audited(kubelet: Running) -> Sequence[Finding]:
    """One finding for each control."""
    found = [_finding(kubelet, *control) for control in CONTROLS]
    wrong = [each for each in found if each.id in settings.SETTINGS and each.result is Result.FAIL]
    return [_with_configuration(kubelet, each, wrong) for each in found] if _is_readable(kubelet) else found


def _is_readable(kubelet: Running) -> bool:
    try:
        return bool(kubelet.configuration)
    except (HostError, documents.NotReadable):
        return False


def _finding(kubelet: Running, control: str, title: str, judge: Judge) -> Finding:
    try:
        return Finding(control, title, *judge(kubelet))
    except documents.NotReadable as fault:
        remedy = "correct the kubelet's configuration"
        return Finding(control, title, Result.FAIL, str(fault), remedy, is_unread=True)
    except HostError as fault:
        remedy = (
            "run it as an administrator"
            if fault.code == winerror.ERROR_ACCESS_DENIED
            else "see to that first"
        )
        unread = not _is_readable(kubelet)
        return Finding(control, title, Result.FAIL, str(fault), remedy, is_unread=unread)


def _with_configuration(kubelet: Running, found: Finding, wrong: Sequence[Finding]) -> Finding:
    """All that is wrong in one file is repaired in one go: each control that has a part in it wants all."""
    if found not in wrong:
        return found
    wants = settings.repaired(kubelet, [settings.SETTINGS[each.id] for each in wrong])
    by_flag = settings.SETTINGS[found.id].flag in kubelet.flags
    return found if by_flag else replace(found, wants=wants)
