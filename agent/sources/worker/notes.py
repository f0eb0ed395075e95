"""What `plan` tells of an Ignition beside the kubelet: what of all the rest was left out."""

from collections.abc import Iterator

from agent.sources.ignition import Configuration
from agent.sources.kubelet import linux_units
from agent.spec import Effect, Note

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
