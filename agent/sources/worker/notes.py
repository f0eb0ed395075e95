"""What `plan` tells of an Ignition beside the kubelet: what of all the rest was left out."""

from __future__ import annotations

from collections.abc import Iterator

from agent.sources.ignition import Configuration
from agent.sources.kubelet import linux_units
from agent.spec import Effect, Note

_UNITS = {
    "crio.service": "Windows runs containers with containerd",
    "docker.service": "Windows runs containers with containerd",
    "docker.socket": "Windows runs containers with containerd",
    "machine-config-daemon-host.service": "the Machine Config Daemon does not run on Windows",
    "machine-config-daemon-pull.service": "the Machine Config Daemon does not run on Windows",
    "machine-config-daemon-firstboot.service": "the Machine Config Daemon does not run on Windows",
    **dict.fromkeys(linux_units.WRITTEN_BY.values(), "what it finds out on Linux is found out here"),
}
_KINDS = {
    "user": "Windows has accounts of its own",
    "group": "Windows has accounts of its own",
    "kernel argument": "about the Linux kernel",
    "networkd unit": "how Linux sets up its network",
    "disk": "the disks of a Windows machine are there before it joins",
    "RAID array": "the disks of a Windows machine are there before it joins",
    "filesystem": "the disks of a Windows machine are there before it joins",
    "LUKS volume": "the disks of a Windows machine are there before it joins",
}


def of_the_rest(configuration: Configuration, kubelet: str) -> Iterator[Note]:
    """Units other than the kubelet's, and what has no meaning on Windows at all."""
    for name in configuration.units:
        if name != kubelet:
            yield Note(Effect.IGNORED, f"unit {name}", _UNITS.get(name, "a unit for Linux"))
    for item in configuration.ignored:
        reason = _KINDS.get(item.kind, "it has no place on Windows")
        yield Note(Effect.IGNORED, f"{item.kind} {item.name}", reason)
