"""A program of Kubernetes as its service runs it: flags, configuration, and every file that it goes by.

The service may run it itself, under a log runner, or by NSSM and a script, as PrepareNode.ps1 makes it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PureWindowsPath

from agent import command_lines, documents
from agent.documents import Value
from agent.host.errors import HostError
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.services import InstalledService
from agent.secret_fields import registers_secrets
from agent.sources.kubelet.configuration import merge

KUBELET = "kubelet"
PROXY = "kube-proxy"
_PARAMETERS = r"SYSTEM\CurrentControlSet\Services\{}\Parameters"
_FLAGS_OF_KUBEADM = PureWindowsPath(r"C:\var\lib\kubelet\kubeadm-flags.env")
_LARGEST = 4 << 20
_NSSM = "nssm"
_SCRIPTS = (".ps1", ".cmd", ".bat")
_DRIVE = re.compile(r"\$env:SystemDrive|%SystemDrive%", re.IGNORECASE)
_WORD = re.compile(r"[^\s\"'`]+")
_ON_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_FLAG = re.compile(
    r"""
    --(?P<name>[A-Za-z][A-Za-z0-9_-]*)
    (?:
        (?:=|[ \t]+(?![-`]))                   # what comes after a switch is the next flag, or the next line
        (?P<value>
            "[^"]*" | '[^']*'
            | (?:[^\s"'),] | ,(?![\s"')]|--|$))+  # a comma at its end is of PowerShell's list
        )
    )?
    """,
    re.VERBOSE,
)


@registers_secrets
@dataclass(frozen=True, slots=True)
class Running:
    host: Host = field(repr=False)
    installed: InstalledService = field(repr=False)
    programs: tuple[PureWindowsPath, ...]
    """What the service runs, the scripts among them."""
    flags: Mapping[str, str]
    """The last one of each name; a flag without a value is "true"."""
    read: Callable[[PureWindowsPath], Mapping[str, Value]] = field(repr=False)
    """One file of its configuration. Raises HostError, documents.NotReadable."""

    @property
    def configuration_path(self) -> PureWindowsPath | None:
        return _path(self.flags, "config")

    @property
    def configuration_folder(self) -> PureWindowsPath | None:
        return _path(self.flags, "config-dir")

    @property
    def configuration_files(self) -> Sequence[PureWindowsPath]:
        """Each is merged into those before it. Raises HostError."""
        own, folder = self.configuration_path, self.configuration_folder
        return [*([own] if own else ()), *(_merged_ones(self.host, folder) if folder else ())]

    @property
    def kubeconfig(self) -> PureWindowsPath | None:
        return _path(self.flags, "kubeconfig")

    @property
    def configuration(self) -> Mapping[str, Value]:
        """Empty where there is none. Raises HostError, documents.NotReadable."""
        value: dict[str, Value] = {}
        for path in self.configuration_files:
            value = merge(value, self.read(path))
        return value

    def setting(self, name: str, flag: str) -> Value:
        """By its path in the configuration, or by the flag, which has the say; None for neither."""
        if flag in self.flags:
            return documents.plain(self.flags[flag])
        return _at(self.configuration, name)

    def place(self, name: str) -> PureWindowsPath | None:
        """The file that has the say of it."""
        files = reversed(self.configuration_files)
        return next((path for path in files if _at(self.read(path), name) is not None), None)

    def authority(self) -> PureWindowsPath | None:
        """Of the clients that it trusts."""
        told = self.setting("authentication.x509.clientCAFile", "client-ca-file")
        return local_path(told) if isinstance(told, str) and told else None


def local_path(told: str) -> PureWindowsPath:
    """One without a drive is on C:, where services are started."""
    path = PureWindowsPath(told)
    return path if path.drive else PureWindowsPath("C:\\") / path


def running(host: Host, service: str) -> Running | None:
    """`service` is called as its program; None where there is none. Raises HostError."""
    installed = host.services.read(service)
    if installed is None:
        return None
    program = f"{service}.exe"
    words = [*installed.definition.command, *(_words_of_nssm(host, service) if _is_nssm(installed) else ())]
    programs = list(_programs(words))
    flags = _flags(_after(program, words))
    for script in [path for path in programs if path.suffix.lower() in _SCRIPTS]:
        text = host.files.read(script, _LARGEST).decode("utf-8-sig", "replace")
        text = _DRIVE.sub(host.facts.system_directory().drive, text)
        flags |= _flags_in(text.partition(program)[2])
        programs += [PureWindowsPath(found) for found in _paths_in(text, program)]
        if _FLAGS_OF_KUBEADM.name in text:
            flags = _flags_of_kubeadm(host) | flags
    # Once: each control asks for it.
    read = cache(lambda path: _configuration(host, path))
    return Running(host, installed, tuple(dict.fromkeys(programs)), flags, read)


def _path(flags: Mapping[str, str], name: str) -> PureWindowsPath | None:
    return local_path(flags[name]) if flags.get(name) else None


def _configuration(host: Host, path: PureWindowsPath) -> Mapping[str, Value]:
    try:
        return documents.read_document(host.files.read(path, _LARGEST)).value
    except documents.NotReadable as fault:
        raise documents.NotReadable(f"{path}: {fault}") from fault


def _merged_ones(host: Host, folder: PureWindowsPath) -> Iterator[PureWindowsPath]:
    for name in sorted(host.files.list(folder)):
        path = folder / name
        there = host.files.observe(path)
        if there is not None and there.kind is FileKind.DIRECTORY:
            yield from _merged_ones(host, path)
        elif path.suffix == ".conf":
            yield path


def _at(configuration: Mapping[str, Value], name: str) -> Value:
    value: Value = dict(configuration)
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _is_nssm(installed: InstalledService) -> bool:
    """Whether the service runs NSSM now: the parameters of one that it ran earlier stay in the registry.

    NSSM registers its own path, perhaps without the quotes that a blank in it needs.
    """
    paths = (installed.image_path.strip().strip('"'), installed.definition.command[0])
    return any(PureWindowsPath(path).stem.lower().startswith(_NSSM) for path in paths)


def _words_of_nssm(host: Host, service: str) -> Sequence[str]:
    """What NSSM runs in the service's place; the service itself is nssm.exe."""
    told = {}
    for name in ("Application", "AppParameters"):
        value = host.registry.read(_PARAMETERS.format(service), name)
        told[name] = value.data if value is not None and isinstance(value.data, str) else ""
    if not told["Application"]:
        return ()
    # Argument zero is a program's own path, which has another rule for its quotes.
    return (told["Application"], *command_lines.split(f"nssm {told['AppParameters']}")[1:])


def _programs(words: Sequence[str]) -> Iterator[PureWindowsPath]:
    """Whole paths alone: others are found by Windows, in folders of its own."""
    for word in words:
        path = PureWindowsPath(word)
        if path.drive and path.suffix.lower() in (".exe", *_SCRIPTS):
            yield path


def _paths_in(text: str, program: str) -> Iterator[str]:
    """Yield of each word what stands from its drive to the last mention of the program."""
    for word in _WORD.findall(text):
        drive, end = _ON_A_DRIVE.search(word), word.rfind(program)
        if drive and end >= drive.end():
            yield word[drive.start() : end + len(program)]


def _after(program: str, words: Sequence[str]) -> Sequence[str]:
    places = [place for place, word in enumerate(words) if PureWindowsPath(word).name.lower() == program]
    return words[places[-1] + 1 :] if places else ()


def _flags(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        if not equals:
            following = words[place + 1] if place + 1 < len(words) else "--"
            value = "true" if following.startswith("-") else following
        found[name.replace("_", "-")] = value
    return found


def _flags_in(text: str) -> dict[str, str]:
    """Of a script, as far as one can see without running it."""
    return {
        match["name"].replace("_", "-"): (match["value"] or "true").strip("\"'`")
        for match in _FLAG.finditer(text)
    }


def _flags_of_kubeadm(host: Host) -> dict[str, str]:
    try:
        text = host.files.read(_FLAGS_OF_KUBEADM, _LARGEST).decode("utf-8", "replace")
    except HostError:
        return {}  # a script that reads it would not start without it
    return _flags_in(text)
