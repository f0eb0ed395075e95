"""Which of a Linux worker's files and folders a Windows node needs, and why not the others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from agent.sources.kubelet.paths import Reference


@dataclass(frozen=True, slots=True)
class Row:
    path: str
    """A file; or, with a slash at its end, a folder with all in it."""
    needed: bool
    reason: str


class Verdict(NamedTuple):
    needed: bool
    reason: str


_POD = "a pod for Linux, which a kubelet on Windows would try to run"
_PLUG_IN = "a volume plug-in for Linux"
_KUBELETS_OWN = "in the kubelet's own folder"
_PROGRAM = "a program or script for Linux"
_CRIO = "for CRI-O and its kin; containerd has a configuration of its own"
_KERNEL = "about the Linux kernel"
_NETWORK = "how Linux sets up its network"
_TIME = "how Linux keeps its time"
_MCD = "for the Machine Config Daemon, which does not run on Windows"
_LOGGED_ON = "about users and logging on to Linux"

ROWS = (
    # The kubelet's own folders, and what in them is of no use here
    Row("/etc/kubernetes/manifests/", False, _POD),
    Row("/etc/kubernetes/static-pod-resources/", False, "for pods that run on Linux"),
    Row("/etc/kubernetes/kubelet-plugins/", False, _PLUG_IN),
    Row("/etc/kubernetes/cni/", False, "for network plug-ins on Linux"),
    Row("/etc/kubernetes/", True, _KUBELETS_OWN),
    Row("/var/lib/kubelet/", True, _KUBELETS_OWN),
    # systemd and what it starts
    Row("/etc/systemd/", False, "for systemd"),
    Row("/etc/tmpfiles.d/", False, "for systemd"),
    Row("/etc/mco/", False, _MCD),
    Row("/etc/machine-config-daemon/", False, _MCD),
    Row("/etc/ignition-machine-config-encapsulated.json", False, _MCD),
    # The container runtime
    Row("/etc/containers/", False, _CRIO),
    Row("/etc/crio/", False, _CRIO),
    Row("/etc/cni/", False, "for network plug-ins on Linux"),
    # The system itself
    Row("/etc/sysctl.d/", False, _KERNEL),
    Row("/etc/modprobe.d/", False, _KERNEL),
    Row("/etc/modules-load.d/", False, _KERNEL),
    Row("/etc/udev/", False, _KERNEL),
    Row("/etc/NetworkManager/", False, _NETWORK),
    Row("/etc/sysconfig/", False, _NETWORK),
    Row("/etc/resolv.conf", False, "Windows keeps its name servers in the registry"),
    Row("/etc/hosts", False, "Windows has a hosts file of its own, elsewhere"),
    Row("/etc/hostname", False, "a name for a Linux machine; this one has its own"),
    Row("/etc/chrony.conf", False, _TIME),
    Row("/etc/chrony.d/", False, _TIME),
    Row("/etc/ssh/", False, _LOGGED_ON),
    Row("/etc/sudoers.d/", False, _LOGGED_ON),
    Row("/etc/pam.d/", False, _LOGGED_ON),
    Row("/etc/audit/", False, _LOGGED_ON),
    Row("/etc/pki/", False, "for the authorities that Linux trusts; Windows keeps its own"),
    Row("/usr/local/bin/", False, _PROGRAM),
    Row("/usr/local/sbin/", False, _PROGRAM),
    Row("/usr/libexec/", False, _PROGRAM),
    Row("/opt/", False, _PROGRAM),
)
_NOTHING_READS_IT = "nothing on a Windows node reads it"
_TAKEN_IN = "what it says is in the kubelet's arguments, configuration and environment"

FOR_PODS = ("--pod-manifest-path", "staticPodPath")
FOR_PLUG_INS = ("--volume-plugin-dir", "volumePluginDir")


class Judge:
    """Knows what the kubelet is told of."""

    def __init__(self, references: Collection[Reference], looked_into: Collection[str]) -> None:
        """`looked_into` are the files that the kubelet's own were made from."""
        self._by_path = {reference.linux: reference.by for reference in references}
        self._references = references
        self._folders = [reference for reference in references if reference.folder]
        self._looked_into = looked_into

    def verdict(self, path: str) -> Verdict:
        """Of a file, a folder or a link."""
        if path in self._by_path:
            return Verdict(True, f"the kubelet is told of it by {self._by_path[path]}")
        if reason := self._not_for_windows(path):
            return Verdict(False, reason)
        if path in self._looked_into:
            return Verdict(False, _TAKEN_IN)
        for row in ROWS:
            if path == row.path or (row.path.endswith("/") and f"{path}/".startswith(row.path)):
                return Verdict(row.needed, row.reason)
        return Verdict(False, _NOTHING_READS_IT)

    def places(self, path: str) -> tuple[str, ...]:
        """Return where flags and fields of the kubelet name a file: a layout may have it in two places."""
        return tuple(dict.fromkeys(each.windows for each in self._references if each.linux == path))

    def _not_for_windows(self, path: str) -> str | None:
        for reference in self._folders:
            if path.startswith(f"{reference.linux.rstrip('/')}/"):
                if reference.by in FOR_PODS:
                    return _POD
                if reference.by in FOR_PLUG_INS:
                    return _PLUG_IN
        return None
