"""Whether a file is a program that a Windows node can run, by its first bytes."""

from __future__ import annotations

import struct

_PLACE_OF_PE_OFFSET = 0x3C
_X86_64 = 0x8664
_OTHERS = {0x014C: "32-bit x86", 0x01C4: "32-bit ARM", 0xAA64: "ARM64"}
_EXECUTABLES_ELSEWHERE = (b"\x7fELF", b"#!", b"\xcf\xfa\xed\xfe")


def fault_of_program(head: bytes, *, of_this_system: bool) -> str | None:
    """None for a Windows program for x86-64, or where a sandbox may run it, one of this system."""
    if of_this_system and head.startswith(_EXECUTABLES_ELSEWHERE):
        return None
    if head.startswith(_EXECUTABLES_ELSEWHERE):
        return "it is a program for another operating system; a kubelet.exe for Windows is needed"
    if not head.startswith(b"MZ") or len(head) < _PLACE_OF_PE_OFFSET + 4:
        return "it is no Windows program"
    (place,) = struct.unpack_from("<I", head, _PLACE_OF_PE_OFFSET)
    if head[place : place + 4] != b"PE\0\0" or len(head) < place + 6:
        return "it is no Windows program, or a damaged one"
    (machine,) = struct.unpack_from("<H", head, place + 4)
    if machine != _X86_64:
        return f"it is a program for {_OTHERS.get(machine, 'another processor')}; one for x86-64 is needed"
    return None
