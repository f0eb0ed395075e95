"""Programs that a command was given: whether Windows can run them, and what they say their version is."""

import os
import struct

from agent.cli import values
from agent.cli.arguments import Request
from agent.cli.given import GivenFile
from agent.host.port import Completed, Host

HEAD = 4096
_SECONDS_FOR_VERSION = 60.0

_FOR_A_WORD = {"GOGC": "off"}
"""Go's collector would tidy up, on every processor, what ends with the next word."""

_PLACE_OF_PE_OFFSET = 0x3C
_X86_64 = 0x8664
_OTHERS = {0x014C: "32-bit x86", 0x01C4: "32-bit ARM", 0xAA64: "ARM64"}
_EXECUTABLES_ELSEWHERE = (b"\x7fELF", b"#!", b"\xcf\xfa\xed\xfe")


def kubelet_in_place(request: Request) -> str:
    """Who joins as with kubeadm has put kubelet.exe where it is to stay, and names it no more."""
    return str(values.install_directory(request) / "kubelet.exe")


def fault_of_program(head: bytes, *, of_this_system: bool) -> str | None:
    """None for a Windows program for x86-64, or where a sandbox may run it, one of this system.

    `head` are the program's first HEAD bytes.
    """
    if of_this_system and head.startswith(_EXECUTABLES_ELSEWHERE):
        return None
    if head.startswith(_EXECUTABLES_ELSEWHERE):
        return "it is a program for another operating system; one for Windows is needed"
    if not head.startswith(b"MZ") or len(head) < _PLACE_OF_PE_OFFSET + 4:
        return "it is no Windows program"
    (place,) = struct.unpack_from("<I", head, _PLACE_OF_PE_OFFSET)
    if head[place : place + 4] != b"PE\0\0" or len(head) < place + 6:
        return "it is no Windows program, or a damaged one"
    (machine,) = struct.unpack_from("<H", head, place + 4)
    if machine != _X86_64:
        return f"it is a program for {_OTHERS.get(machine, 'another processor')}; one for x86-64 is needed"
    return None


def version_of(host: Host, program: GivenFile) -> Completed:
    """Return what the program says when it is run with --version. Raises HostError."""
    command = (program.absolute, "--version")
    environment = {**os.environ, **_FOR_A_WORD}
    return host.processes.run(command, seconds=_SECONDS_FOR_VERSION, environment=environment)
