"""From a merged Ignition to the specification of a Windows node."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent import spec
from agent.sources import ignition
from agent.sources.ignition import Configuration, Fetch
from agent.sources.ignition.document import Findings
from agent.sources.kubelet import folders, windows_service
from agent.sources.kubelet.decisions import notes_of
from agent.sources.kubelet.folders import Placement, install_directory_fault
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.kubelet.translation import WindowsKubelet
from agent.sources.kubelet.translation import on_windows as kubelet_on_windows
from agent.sources.report import Entry, Origin, Place, Report, Severity, quoted
from agent.sources.systemd.service import UNIT_FOLDERS, gather, read_service
from agent.sources.windows_paths import NotOnWindows, on_windows, windows_path_fault
from agent.sources.worker.carried import Carried, NotToBeHad
from agent.sources.worker.needed import Judge, of_the_rest
from agent.spec import Credentials

UNIT = "kubelet.service"

_LARGE = 1 << 20
"""Bytes; what is smaller needs no word."""
_DEEPEST = 60
"""Folders of one path."""
_MOST_FOLDERS = 10_000
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class Compiled:
    specification: spec.Specification | None
    """None where the report is fatal."""
    report: Report
    """Of the documents and of what became of them."""


def compiled(
    outcome: ignition.Outcome, node: Node, kubelet: Kubelet, placement: Placement, fetch: Fetch | None = None
) -> Compiled:
    """Nothing is raised for a bad document. Without `fetch`, a file that must be fetched is an error."""
    if outcome.configuration is None:
        return Compiled(None, outcome.report)
    carried = Carried(outcome.configuration, fetch, outcome.largest_file)
    compilation = _Compilation(outcome.configuration, placement, carried)
    specification = compilation.specification(node, kubelet)
    report = outcome.report + compilation.report + outcome.located(compilation.findings)
    return Compiled(None if report.fatal else specification, report)


@dataclass(slots=True)
class _Compilation:
    configuration: Configuration
    placement: Placement
    carried: Carried
    report: Report = field(default_factory=Report)
    findings: dict[str, Findings] = field(default_factory=dict)
    notes: list[spec.Note] = field(default_factory=list)
    taken: dict[spec.Key, str] = field(default_factory=dict)
    """Every path that a file is written to, as Windows tells names apart, and what asks for it."""

    def specification(self, node: Node, kubelet: Kubelet) -> spec.Specification | None:
        if fault := install_directory_fault(self.placement.install_directory):
            path = quoted(str(self.placement.install_directory))
            entry = Entry(Severity.ERROR, f"{path} cannot be used: {fault}", "the install directory")
            self.report += Report((entry,))
        try:
            made = self._kubelet(node, kubelet)
            return None if made is None else self._of(made)
        except NotToBeHad as fault:
            self._error(fault.origin, fault.below, str(fault), is_unserved=fault.is_unserved)
            return None

    def _kubelet(self, node: Node, kubelet: Kubelet) -> WindowsKubelet | None:
        unit = self.configuration.units.get(UNIT)
        given = unit.contents if unit and unit.contents else None
        if given is None and not any(f"{folder}/{UNIT}" in self.carried for folder in UNIT_FOLDERS):
            name = next(iter(self.configuration.documents))
            message = f"there is no {UNIT} in it; the Ignition configuration of a worker is expected"
            self.report += Report((Entry(Severity.ERROR, message, name, ("systemd", "units")),))
            return None
        if unit and unit.masked:
            self._error(unit.origin, ("mask",), f"{UNIT} is masked: on such a worker no kubelet runs")
            return None
        drop_ins = {name: drop_in.contents for name, drop_in in (unit.dropins if unit else {}).items()}
        files = gather(UNIT, given, drop_ins, self.carried)
        service, report = read_service(UNIT, files, node.specifiers())
        made = kubelet_on_windows(service, self.carried, node, kubelet)
        self.report += report + made.report
        return None if self.report.fatal else made

    def _of(self, made: WindowsKubelet) -> spec.Specification:
        self.notes += notes_of(made.decisions)
        judge = Judge(made.references, self.carried.looked_into)
        programs = list(self._programs())
        files = [*self._files_anew(made.files), *self._carried_files(made.files, judge)]
        own_folders = list(self._folders(judge))
        self._links(judge)
        self.notes += of_the_rest(self.configuration, UNIT)
        directories = self._directories(made, own_folders, [*programs, *files])
        reads = tuple(self._reads(made, directories))
        wants: list[spec.Want] = [
            *directories.values(),
            *files,
            *programs,
            *self._environment_variables(made),
            *self._credentials(made),
            windows_service.service(
                windows_service.Kubelet(made.arguments, made.configuration, made.environment),
                self.placement,
                reads,
            ),
        ]
        return spec.Specification.of(self._unique(wants), self.notes, self._title())

    # Files

    def _programs(self) -> Iterator[spec.File]:
        for want in self.placement.programs():
            self.taken[want.key] = str(want.path)
            yield want

    def _files_anew(self, contents: Mapping[str, bytes]) -> Iterator[spec.File]:
        for name, content in contents.items():
            want = spec.File(PureWindowsPath(name), spec.Inline(content))
            fault = windows_path_fault(want.path) or self._already_taken(want.key)
            if fault:
                self._refuse(f"{quoted(name)}: {fault}")
                continue
            self.taken[want.key] = name
            yield want

    def _carried_files(self, anew: Mapping[str, bytes], judge: Judge) -> Iterator[spec.File]:
        for path, file in self.configuration.files.items():
            windows = self._path_if_needed("file", path, file.origin, judge)
            for place in () if windows is None else judge.places(path) or (windows,):
                if place in anew:
                    continue
                key = spec.Key(spec.File.kind, place)
                if fault := self._already_taken(key):
                    self._error(file.origin, ("path",), fault)
                    continue
                self.taken[key] = path
                if file.appended and file.contents is None:
                    reason = "it is to be appended to a file that only Linux has; here it is the whole file"
                    self.notes.append(spec.Note(spec.Effect.WARNING, f"file {path}", reason))
                content = self.carried.content(path)
                self._note_size(path, content)
                yield spec.File(PureWindowsPath(place), content)

    def _note_size(self, path: str, content: spec.Content) -> None:
        """Of what becomes large only when it is unpacked: the document's own size does not show it."""
        packed = self.carried.packed_size(path)
        if packed is not None and content.size >= _LARGE:
            before, after = (f"{size / (1 << 20):.1f} MiB" for size in (packed, content.size))
            reason = "it is compressed, and written unpacked"
            self.notes.append(spec.Note(spec.Effect.CHANGED, f"file {path}", reason, before, after))

    def _already_taken(self, key: spec.Key) -> str | None:
        there = self.taken.get(key)
        return f"Windows takes it for the same file as {quoted(there)}" if there else None

    def _folders(self, judge: Judge) -> Iterator[PureWindowsPath]:
        for path, directory in self.configuration.directories.items():
            windows = self._path_if_needed("folder", path, directory.origin, judge)
            if windows is not None:
                yield PureWindowsPath(windows)

    def _links(self, judge: Judge) -> None:
        for path, link in self.configuration.links.items():
            needed, reason = judge.verdict(path)
            if needed:
                reason = f"{reason}, but links are not made; carry the file itself"
            effect = spec.Effect.WARNING if needed else spec.Effect.IGNORED
            self.notes.append(spec.Note(effect, f"link {path}", reason, before=link.target))

    def _path_if_needed(self, kind: str, path: str, origin: Origin, judge: Judge) -> str | None:
        needed, reason = judge.verdict(path)
        if not needed:
            self.notes.append(spec.Note(spec.Effect.IGNORED, f"{kind} {path}", reason))
            return None
        if path.count("/") > _DEEPEST:
            self._error(origin, ("path",), f"it lies deeper than {_DEEPEST} folders")
            return None
        try:
            return on_windows(path)
        except NotOnWindows as fault:
            self._error(origin, ("path",), f"{quoted(path)} cannot be a path on Windows: {fault}")
            return None

    def _directories(
        self, made: WindowsKubelet, own: list[PureWindowsPath], files: list[spec.File]
    ) -> dict[spec.Key, spec.Directory]:
        known = folders.private(own, made.references)
        programs = folders.program(self.placement.install_directory)
        known[programs.key] = programs
        directories = folders.with_parents(known, [file.path for file in files])
        if len(directories) > _MOST_FOLDERS:
            message = f"its files lie in more than {_MOST_FOLDERS:,} folders"
            name = next(iter(self.configuration.documents))
            self.report += Report((Entry(Severity.ERROR, message, name, ("storage", "files")),))
        return directories

    def _unique(self, wants: list[spec.Want]) -> Iterator[spec.Want]:
        """All but files where there has to be a folder, which are reported."""
        folded = {spec.Key("", want.key.name) for want in wants if isinstance(want, spec.Directory)}
        for want in wants:
            if isinstance(want, spec.File) and spec.Key("", want.key.name) in folded:
                path = self.taken[want.key]
                message = "it would be a file where there has to be a folder"
                file = self.configuration.files.get(path)
                if file:
                    self._error(file.origin, ("path",), message)
                else:
                    self._refuse(f"{quoted(path)}: {message}")
                continue
            yield want

    # The rest

    def _reads(
        self, made: WindowsKubelet, directories: Mapping[spec.Key, spec.Directory]
    ) -> Iterator[spec.Key]:
        for path in dict.fromkeys([*made.files, *(reference.windows for reference in made.references)]):
            for key in (spec.Key(spec.File.kind, path), spec.Key(spec.Directory.kind, path)):
                if key in self.taken or key in directories:
                    yield key

    def _credentials(self, made: WindowsKubelet) -> Iterator[Credentials]:
        """What the kubelet writes among the programs, where no folder of the node's goes with all in it."""
        for reference in made.references:
            path = PureWindowsPath(reference.windows)
            if reference.by == "--kubeconfig" and path.parent == self.placement.install_directory:
                yield Credentials(path)

    def _environment_variables(self, made: WindowsKubelet) -> Iterator[spec.EnvironmentVariable]:
        """Containerd pulls images by the same proxy, and has no document that would tell it so."""
        for name, value in made.environment.items():
            if name.upper() not in _PROXIES:
                continue
            subject = f"machine's environment {name.upper()}"
            if "@" in value:
                reason = "it holds a password that every user could read there; give it to containerd itself"
                self.notes.append(spec.Note(spec.Effect.WARNING, subject, reason))
            else:
                self.notes.append(
                    spec.Note(spec.Effect.ADDED, subject, "containerd goes by it, too", after=value)
                )
                yield spec.EnvironmentVariable(name.upper(), value)

    def _title(self) -> str:
        name, version = next(iter(self.configuration.documents.items()))
        others = len(self.configuration.documents) - 1
        return f"{name}, Ignition {version}" + (f", with {others} more that it refers to" if others else "")

    def _refuse(self, message: str) -> None:
        """For what only the kubelet's own words ask for."""
        self.report += Report((Entry(Severity.ERROR, message, UNIT),))

    def _error(self, origin: Origin, below: Place, message: str, *, is_unserved: bool = False) -> None:
        found = self.findings.setdefault(origin.document, Findings())
        found.error((*origin.place, *below), message, is_unserved=is_unserved)
