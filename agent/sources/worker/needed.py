"""Which of a Linux worker's files and folders a Windows node needs, and why not all the rest."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from agent.sources.ignition import Configuration
from agent.sources.kubelet import linux_units
from agent.sources.windows_paths import Reference
from agent.spec import Effect, Note


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
_LEFT_OUT = {
    # In the kubelet's own folders
    _POD: "/etc/kubernetes/manifests/",
    "for pods that run on Linux": "/etc/kubernetes/static-pod-resources/",
    _PLUG_IN: "/etc/kubernetes/kubelet-plugins/",
    "for network plug-ins on Linux": "/etc/kubernetes/cni/ /etc/cni/",
    # systemd and what it starts
    "for systemd": "/etc/systemd/ /etc/tmpfiles.d/",
    "for the Machine Config Daemon, which does not run on Windows": (
        "/etc/mco/ /etc/machine-config-daemon/ /etc/ignition-machine-config-encapsulated.json"
    ),
    "for CRI-O and its kin; containerd has a configuration of its own": "/etc/containers/ /etc/crio/",
    # The system itself
    "about the Linux kernel": "/etc/sysctl.d/ /etc/modprobe.d/ /etc/modules-load.d/ /etc/udev/",
    "how Linux sets up its network": "/etc/NetworkManager/ /etc/sysconfig/",
    "Windows keeps its name servers in the registry": "/etc/resolv.conf",
    "Windows has a hosts file of its own, elsewhere": "/etc/hosts",
    "a name for a Linux machine; this one has its own": "/etc/hostname",
    "how Linux keeps its time": "/etc/chrony.conf /etc/chrony.d/",
    "about users and logging on to Linux": "/etc/ssh/ /etc/sudoers.d/ /etc/pam.d/ /etc/audit/",
    "for the authorities that Linux trusts; Windows keeps its own": "/etc/pki/",
    "a program or script for Linux": "/usr/local/bin/ /usr/local/sbin/ /usr/libexec/ /opt/",
}
ROWS = (
    *(Row(path, False, reason) for reason, paths in _LEFT_OUT.items() for path in paths.split()),
    Row("/etc/kubernetes/", True, "in the kubelet's own folder"),
    Row("/var/lib/kubelet/", True, "in the kubelet's own folder"),
)
"""The first that a path is, or lies in, decides."""
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


_CONTAINERD = "Windows runs containers with containerd"
_MCD = "the Machine Config Daemon does not run on Windows"
_UNITS = {
    **dict.fromkeys(("crio.service", "docker.service", "docker.socket"), _CONTAINERD),
    **{f"machine-config-daemon-{which}.service": _MCD for which in ("host", "pull", "firstboot")},
    **dict.fromkeys(linux_units.WRITTEN_BY.values(), "what it finds out on Linux is found out here"),
}
_DISKS = ("disk", "RAID array", "filesystem", "LUKS volume")
_KINDS = {
    **dict.fromkeys(("user", "group"), "Windows has accounts of its own"),
    "kernel argument": "about the Linux kernel",
    "networkd unit": "how Linux sets up its network",
    **dict.fromkeys(_DISKS, "the disks of a Windows machine are there before it joins"),
}


def of_the_rest(configuration: Configuration, kubelet: str) -> Iterator[Note]:
    """Units other than the kubelet's, and what has no meaning on Windows at all."""
    for name in configuration.units:
        if name != kubelet:
            yield Note(Effect.IGNORED, f"unit {name}", _UNITS.get(name, "a unit for Linux"))
    for item in configuration.ignored:
        reason = _KINDS.get(item.kind, "it has no place on Windows")
        yield Note(Effect.IGNORED, f"{item.kind} {item.name}", reason)
