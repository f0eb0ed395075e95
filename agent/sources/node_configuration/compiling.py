"""What one node should be, by all documents that are for it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent import spec
from agent.sources.kubelet.folders import with_parents
from agent.sources.node_configuration import model
from agent.sources.report import Entry, Origin, Report, Severity

_BRINGING = "the command prepare --kubernetes-version brings it, or a join: do that first"


@dataclass(frozen=True, slots=True)
class Compiled:
    specification: spec.Specification | None
    """None where the report is fatal."""
    report: Report
    origins: Mapping[spec.Key, Origin] = field(default_factory=dict)
    """Where each of the resources was said; of what is on the way to others, where the first of these was."""
    artifacts: tuple[spec.Artifact, ...] = ()
    """All that has to be fetched, unless nothing of it is needed."""
    unwritten: tuple[Entry, ...] = ()
    """What is wrong where LOG_RUNNER is not on the machine, as these documents do not bring it."""

    @property
    def unknown(self) -> tuple[spec.Artifact, ...]:
        """Those whose files are not in the specification, since nobody knows them before they are fetched."""
        return tuple(artifact for artifact in self.artifacts if artifact.files is None)


def chosen(
    documents: Iterable[model.NodeConfiguration], name: str, labels: Mapping[str, str]
) -> tuple[model.NodeConfiguration, ...]:
    """Those that are for a node."""
    return tuple(document for document in documents if document.nodes.has(name, labels))


def maintenance(documents: Iterable[model.NodeConfiguration]) -> model.Maintenance:
    """The first that pauses."""
    return next((each.maintenance for each in documents if each.maintenance.paused), model.Maintenance())


def compile_node(documents: Iterable[model.NodeConfiguration], obtain: model.Obtain, title: str) -> Compiled:
    """What any of them wants is wanted. Two may want the same, but not the same otherwise.

    Order counts for nothing, so that nobody's word goes before another's by its place.
    """
    work = _Work(obtain)
    for document in documents:
        work.add(document)
    work.check()
    specification = None if work.entries else work.specification(title)
    report = Report(tuple(work.entries))
    return Compiled(
        specification, report, work.origins_of_all(), tuple(work.artifacts), tuple(work.unwritten())
    )


class _Work:
    def __init__(self, obtain: model.Obtain) -> None:
        self._obtain = obtain
        self._wants: dict[spec.Key, spec.Want] = {}
        self.artifacts: list[spec.Artifact] = []
        self.origins: dict[spec.Key, Origin] = {}
        self.entries: list[Entry] = []

    def add(self, document: model.NodeConfiguration) -> None:
        before = dict(self._wants)
        for item in document.items:
            for want in self._wanted(item):
                other = self._wants.setdefault(want.key, want)
                origin = self.origins.setdefault(want.key, item.origin)
                if origin is not item.origin and not (want.key in before and _same(want, other)):
                    there = origin.error("").where
                    named = "".join(
                        each if each.isprintable() else ascii(each)[1:-1] for each in str(want.key)
                    )
                    self._wrong(item.origin, f"{named} is wanted twice, first by {there}; keep one of them")

    def _wanted(self, item: model.Item) -> Iterator[spec.Want]:
        wanted = item.wanted
        artifact = wanted.artifact if isinstance(wanted, model.RemoteFile) else wanted
        if not isinstance(artifact, spec.Artifact):
            yield artifact
            return
        try:
            found = self._obtain.resolved(artifact)
        except model.Unobtainable as fault:
            self._wrong(item.origin, f"its content cannot be fetched: {fault}")
            return
        self.artifacts.append(found or artifact)
        if isinstance(wanted, model.RemoteFile):
            content = self._obtain.content(wanted.source.sha256)
            yield spec.File(wanted.path, content, wanted.protection, wanted.until)
            return
        yield found or artifact
        for path, sha256 in (found.files or {}).items() if found else ():
            yield spec.File(PureWindowsPath(path), self._obtain.content(sha256), artifact.protection)

    def check(self) -> None:
        folders = {spec.Key("", want.key.name) for want in self._folders().values()}
        for key, want in self._wants.items():
            origin = self.origins[key]
            if want.file and spec.Key("", key.name) in folders:
                self._wrong(origin, "it would be a file where there has to be a folder")
            if (
                not isinstance(want, spec.File)
                and want.file
                and spec.Key(spec.File.kind, str(want.file)) in self._wants
            ):
                self._wrong(origin, f"{want.file} is wanted as a whole file, too; keep one of them")
            for reference in _references(want):
                if reference not in self._wants and not self._may_hold(reference):
                    self._wrong(origin, f"it refers to {reference}, which is not wanted of this node")

    def origins_of_all(self) -> Mapping[spec.Key, Origin]:
        found = dict(self.origins)
        for key, want in self._wants.items():
            for above in (*_folders_to(want), *(each.key for each in want.on_the_way)):
                found.setdefault(above, self.origins[key])
        return found

    def unwritten(self) -> Iterator[Entry]:
        runner = spec.Key(spec.File.kind, str(model.LOG_RUNNER))
        if runner in self._wants or self._may_hold(runner):
            return
        for key, want in self._wants.items():
            if isinstance(want, spec.Service) and want.program == model.LOG_RUNNER:
                said = self.origins[key]
                origin = replace(said, place=(*said.place, "output"))
                yield origin.error(f"there is no {model.LOG_RUNNER} to write it; {_BRINGING}")

    def _may_hold(self, reference: spec.Key) -> bool:
        """Whether it may be a file that is in what is not known yet."""
        path = PureWindowsPath(reference.name)
        unknown = [artifact.place for artifact in self.artifacts if artifact.files is None]
        into = {place.into if isinstance(place, spec.Unpacking) else place for place in unknown}
        return reference.kind == spec.File.kind and not into.isdisjoint((path, *path.parents))

    def specification(self, title: str) -> spec.Specification | None:
        wants = [*self._folders().values(), *self._others()]
        notes = [spec.Note(spec.Effect.WARNING, str(want.key), want.remark) for want in wants if want.remark]
        try:
            return spec.Specification.of(wants, notes, title)
        except spec.Inconsistent as fault:
            self.entries.append(Entry(Severity.ERROR, f"no order can be found: {fault}", title))
            return None

    def _folders(self) -> dict[spec.Key, spec.Directory]:
        """With those on the way to everything."""
        own = {key: want for key, want in self._wants.items() if isinstance(want, spec.Directory)}
        for artifact in self.artifacts:
            if isinstance(artifact.place, spec.Unpacking):
                # It may be others' as well, as a folder of programs is; each file has its own protection.
                into = spec.Directory(artifact.place.into, artifact.protection, shared=True)
                own.setdefault(into.key, into)
        return with_parents(own, [want.file for want in self._wants.values() if want.file])

    def _others(self) -> Iterator[spec.Want]:
        on_the_way = {each.key: each for want in self._wants.values() for each in want.on_the_way}
        yield from (want for key, want in on_the_way.items() if key not in self._wants)
        lying = {
            key: want.content.sha256
            for key, want in self._wants.items()
            if isinstance(want, spec.File) and isinstance(want.content, spec.Lying)
        }
        times = Counter(lying.values())
        for key, want in self._wants.items():
            if isinstance(want, spec.File) and isinstance(want.content, spec.Lying) and times[lying[key]] > 1:
                yield replace(want, content=replace(want.content, is_to_go=False))
            elif not isinstance(want, spec.Directory):
                yield want

    def _wrong(self, origin: Origin, message: str) -> None:
        self.entries.append(origin.error(message))


def _folders_to(want: spec.Want) -> Iterator[spec.Key]:
    if isinstance(want, spec.Artifact) and isinstance(want.place, spec.Unpacking):
        yield spec.Key(spec.Directory.kind, str(want.place.into))
        path: PureWindowsPath | None = want.place.into
    else:
        path = want.path if isinstance(want, spec.Directory) else want.file
    yield from (spec.Key(spec.Directory.kind, str(above)) for above in (path.parents if path else ()))


def _references(want: spec.Want) -> tuple[spec.Key, ...]:
    if isinstance(want, spec.Service):
        return want.reads
    return want.after if isinstance(want, spec.Command) else ()


def _same(want: spec.Want, other: spec.Want) -> bool:
    """A content is known by its hash, wherever it comes from."""
    if isinstance(want, spec.File) and isinstance(other, spec.File) and want.content and other.content:
        plain = replace(want, content=None) == replace(other, content=None)
        return plain and want.content.sha256 == other.content.sha256
    return want == other
