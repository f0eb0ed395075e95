"""Programs that a command was given, the kubelet.exe above all: whether Windows can run them, and which
release they say they are.
"""

import os
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import PureWindowsPath

from agent.cli import options, values
from agent.cli.arguments import Request
from agent.cli.asking import Asking
from agent.cli.command_line import called, option_here, words_of
from agent.cli.failure import BadInput, BadUsage
from agent.cli.given import GivenFile, given_file
from agent.cli.machine import is_sandbox
from agent.host import winerror
from agent.host.errors import HostError
from agent.host.port import Completed, Host
from agent.sources.kubelet.node import NEWEST, OLDEST, Kubelet

_NOT_RUNNABLE = (
    "Windows cannot run it: it is damaged, or was cut short; fetch it again, and compare its checksum"
)
CHECK = "kubelet"
"""Its id among those of the preflight checks."""
HEAD = 4096
_SECONDS_FOR_VERSION = 60.0

_FOR_A_WORD = {"GOGC": "off"}
"""Go's collector would tidy up, on every processor, what ends with the next word."""

_PLACE_OF_PE_OFFSET = 0x3C
_X86_64 = 0x8664
_OTHERS = {0x014C: "32-bit x86", 0x01C4: "32-bit ARM", 0xAA64: "ARM64"}
_EXECUTABLES_ELSEWHERE = (b"\x7fELF", b"#!", b"\xcf\xfa\xed\xfe")


@dataclass(frozen=True, slots=True)
class KubeletProgram:
    file: GivenFile
    release: Callable[[], Kubelet]
    """As it says itself. Raises BadUsage."""


def kubelet_program(request: Request, host: Host, asking: Asking) -> KubeletProgram:
    """Raises BadUsage for what is no kubelet.exe, unless that check is to be ignored."""
    file = kubelet_file(request, host, asking, kubelet_in_place(request) if asking.join is not None else "")
    said = said_release(request)
    if said:
        _judge(said, f"{options.KUBELET_VERSION.name} {request.value(options.KUBELET_VERSION, '')}", asking)
    return KubeletProgram(file, cache(lambda: said) if said else _asked(request, host, file, asking))


def kubelet_file(request: Request, host: Host, asking: Asking, place: str) -> GivenFile:
    """The one that is given, or lies in `place`. Raises BadUsage as above."""
    if place and not request.has(asking.kubelet):
        _require_there(place, request, host, asking)
    file = given_file(request, asking.kubelet, host, otherwise=place)
    if fault := fault_of_program(file.head(HEAD), of_this_system=is_sandbox(request)):
        asking.object_to(CHECK, file.objection(fault))
    return file


def _require_there(place: str, request: Request, host: Host, asking: Asking) -> None:
    """Nobody gave this path, so that an option which is at fault would be news."""
    try:
        is_there = host.files.observe(PureWindowsPath(place)) is not None
    except HostError:
        return  # which is told when it is read
    if not is_there:
        has_option = request.command is not None and asking.kubelet in request.command.options
        into = words_of(request, options.INSTALL_DIRECTORY)
        prepare = " ".join([called(request), "prepare", options.KUBERNETES_VERSION.name, "V", *into])
        otherwise = f"; {prepare} fetches it, {asking.kubelet.name} FILE names another" if has_option else ""
        raise BadInput(f"there is no {place}: put the kubelet.exe of this node there{otherwise}", where=place)


def said_release(request: Request) -> Kubelet | None:
    """None where nothing is said. Raises BadUsage."""
    if not request.has(options.KUBELET_VERSION):
        return None
    given = request.value(options.KUBELET_VERSION, "")
    said = Kubelet.of_version(given)
    if said is None:
        raise BadUsage.of(options.KUBELET_VERSION.name, given, f"expected something like 1.{NEWEST}")
    return said


def _asked(request: Request, host: Host, file: GivenFile, asking: Asking) -> Callable[[], Kubelet]:
    """Return what asks the program for its release, once."""
    can_run = sys.platform == "win32" and not is_sandbox(request)
    if not can_run:
        advice = (
            f"{option_here(request, options.KUBELET_VERSION)} {options.KUBELET_VERSION.placeholder} says it"
        )
        asking.warn(f"kubelet.exe cannot be asked for its version here; 1.{NEWEST} is assumed ({advice})")
        return Kubelet
    return cache(lambda: release_of(lambda: version_of(host, file), file, asking))


def release_of(result: Callable[[], Completed], file: GivenFile, asking: Asking) -> Kubelet:
    """What the program says. Raises BadUsage for one that is no kubelet."""
    try:
        answer = result()
    except HostError as fault:
        why = _NOT_RUNNABLE if fault.code == winerror.ERROR_BAD_EXE_FORMAT else str(fault)
        asking.object_to(CHECK, file.objection(why))
        return Kubelet()
    # Other programs answer with a number alone, or with another name before it, as containerd does.
    said = answer.output.decode(errors="replace").partition("Kubernetes v")[2]
    told = Kubelet.of_version(said)
    if answer.exit_code or told is None:
        asking.object_to(CHECK, file.objection("it does not answer --version as a kubelet does"))
        return Kubelet()
    _judge(told, f"{file.option} {file.shown}", asking)
    return told


def _judge(release: Kubelet, said_by: str, asking: Asking) -> None:
    if not OLDEST <= release.minor <= NEWEST:
        known = f"1.{OLDEST} to 1.{NEWEST}"
        asking.warn(f"{said_by}: release 1.{release.minor} is none of those known here, {known}")


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
