"""`make run`: a Windows machine that is a folder becomes a node, told step by step."""

from __future__ import annotations

import shutil
import struct
import sys
from pathlib import Path, PureWindowsPath

from agent.cli import main
from agent.host.port import Host, Principal
from agent.host.protection import PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE, SIDS
from agent.host.sandbox import open_sandbox
from agent.host.sddl import FILE_READ, FILE_WRITE
from agent.host.services import ServiceDefinition

REPOSITORY = Path(__file__).parents[2]
IGNITION = "tests/data/ignition/worker-3.4.ign"
CONTAINERD = PureWindowsPath(r"C:\Program Files\containerd\containerd.exe")
KUBECONFIG = PureWindowsPath(r"C:\etc\kubernetes\kubeconfig")
KUBELET = PureWindowsPath(r"C:\k\kubelet.exe")


def demonstrate(directory: Path) -> int:
    """0 when each step did what it was to do."""
    shutil.rmtree(directory, ignore_errors=True)
    host = open_sandbox(directory)
    say(f"A Windows machine in {directory}, with containerd, and a kubelet.exe brought to it.\n")
    host.files.make_directory(CONTAINERD.parent, PROGRAM_DIRECTORY)
    host.files.write(CONTAINERD, program(), PROGRAM_FILE)
    host.services.create(ServiceDefinition("containerd", (str(CONTAINERD),)))
    kubelet = directory / "kubelet.exe"
    kubelet.write_bytes(program())
    wmcb = Commands(directory)
    node = ("--ignition", IGNITION, "--kubelet", str(kubelet), "--kubelet-version", "1.31")
    steps = [wmcb.ends_with(0, *node), wmcb.ends_with(0, *node)]
    if not all(steps):
        return 1
    show_who_may_do_what(host)
    say("Somebody changes the kubelet's configuration by hand.\n")
    host.files.write(PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf"), b"{}", PRIVATE_FILE)
    steps += [wmcb.ends_with(1, "status"), wmcb.ends_with(0, *node), wmcb.ends_with(0, "status")]
    if all(steps):
        say(f"The node is in {directory}. Look around in it; `reset` takes all of it away again:")
        say(f"    .venv/bin/wmcb --sandbox {directory} reset")
    return 0 if all(steps) else 1


class Commands:
    def __init__(self, directory: Path) -> None:
        self._sandbox = ("--sandbox", str(directory))

    def ends_with(self, code: int, *words: str) -> bool:
        """Whether the command ended as it should."""
        say(f"$ wmcb {' '.join((*self._sandbox, *words))}")
        ended = main.run((*self._sandbox, *words))
        say(f"(exit code {ended})\n")
        return ended == code


def program() -> bytes:
    """As much of a Windows program as anybody looks at who cannot run it."""
    place = 0x80
    head = bytearray(place)
    head[:2] = b"MZ"
    struct.pack_into("<I", head, 0x3C, place)
    return bytes(head) + b"PE\0\0" + struct.pack("<H", 0x8664) + bytes(64)


def show_who_may_do_what(host: Host) -> None:
    for path in (KUBECONFIG, KUBELET):
        say(f"{path}")
        for principal in Principal:
            say(f"    {principal.value:17} {what_is_granted(host, path, principal)}")
    say("")


def what_is_granted(host: Host, path: PureWindowsPath, principal: Principal) -> str:
    mask = host.files.descriptor(path).granted(SIDS[principal])
    rights = {"reads": FILE_READ, "writes": FILE_WRITE}
    return " and ".join(name for name, bits in rights.items() if mask & bits == bits) or "nothing"


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(demonstrate(Path(sys.argv[1])))
