"""From the bytes of user data to what it asks of the machine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath
from urllib.parse import unquote

from agent.sources import ignition
from agent.sources.cloudconfig import cluster_api, document, scripts, template
from agent.sources.cloudconfig.document import Node
from agent.sources.cloudconfig.model import Command, Findings, Join, Refused, UserData, WrittenFile
from agent.sources.cloudconfig.parts import LARGEST, Kind, Part, parts, template_of
from agent.sources.cloudconfig.settings import Settings, settings
from agent.sources.cloudconfig.written_files import Entry, windows_path
from agent.sources.ignition.compiling import HEADERS
from agent.sources.ignition.model import PLAIN, Unsound
from agent.sources.report import Origin, Report, quoted
from agent.sources.windows_paths import NotOnWindows
from agent.spec import Protection

_MOST_INCLUDED = 20
_INCLUDE = re.compile(r"#include(-once)?[ \t]*", re.IGNORECASE)
_FILE = re.compile(r"file://(?:localhost)?/(?P<path>.*)", re.IGNORECASE)
_HTTP = re.compile(r"https?://\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    user_data: UserData | None
    """None where the report is fatal."""
    report: Report


def load(
    name: str,
    raw: bytes,
    metadata: Mapping[str, object] | None = None,
    fetch: ignition.Fetch | None = None,
    included: Mapping[PureWindowsPath, bytes] | None = None,
) -> Outcome:
    """What user data asks for. Nothing is raised for a bad one.

    `name` is what reports call it. `metadata` is what templates can name; `template.instance_data` makes it
    from a cloud's. Without `fetch`, user data that is elsewhere is an error. `included` are files that boot
    hooks have written, of those that an earlier call of this awaited.
    """
    findings = Findings()
    reading = _Reading(metadata or {}, _Includes(fetch, included or {}), findings)
    try:
        reading.take(parts(name, raw, findings))
        made = reading.made()
    except Refused as fault:
        findings.refused(fault)
        made = None
    report = findings.report()
    return Outcome(None if report.fatal else made, report)


class _Includes:
    """User data that is elsewhere: named by address, one a line."""

    def __init__(self, fetch: ignition.Fetch | None, files: Mapping[PureWindowsPath, bytes]) -> None:
        self._fetch = fetch
        self._files = files
        self.awaited: list[PureWindowsPath] = []
        self.awaited_by = Origin("")

    def of(self, part: Part) -> Iterator[tuple[str, bytes]]:
        """A name for each document, and its bytes. Raises Refused."""
        for number, line in enumerate(part.text.split("\n"), 1):
            found = _INCLUDE.match(line)
            address = (line[found.end() :] if found else line).strip()
            if not address or address.startswith("#"):
                continue
            origin = Origin(part.name, line=number)
            raw = self._document(address, origin)
            if raw is not None:
                # Its address may hold a token.
                yield f"what {part.name} includes in line {number}", raw

    def _document(self, address: str, origin: Origin) -> bytes | None:
        if found := _FILE.fullmatch(address):
            return self._file(found["path"], origin)
        if not _HTTP.fullmatch(address):
            raise Refused(origin, "an address with http, https or file is expected")
        if self._fetch is None:
            raise Refused(origin, "it would have to be fetched, and nothing is fetched here")
        try:
            request = ignition.Request(address, tuple(HEADERS.items()), PLAIN, ignition.Network())
            return b"".join(PLAIN.unpack(self._fetch(request), LARGEST))
        except ignition.FetchFailed as fault:
            is_unserved = not isinstance(fault, ignition.FetchRefused)
            raise Refused(origin, f"it cannot be fetched: {fault}", is_unserved=is_unserved) from None
        except Unsound as fault:
            raise Refused(origin, str(fault)) from None

    def _file(self, address: str, origin: Origin) -> bytes | None:
        path = unquote(address)
        try:
            wanted = windows_path(path if re.match("[A-Za-z]:", path) else f"/{path}")
        except NotOnWindows as fault:
            raise Refused(origin, f"this cannot be a path on Windows: {fault.unquoted}") from None
        if wanted in self._files:
            return self._files[wanted]
        self.awaited.append(wanted)
        self.awaited_by = origin
        return None


@dataclass(slots=True)
class _Reading:
    metadata: Mapping[str, object]
    includes: _Includes
    findings: Findings
    boot_hooks: list[Command] = field(default_factory=list)
    config: Node | None = None
    scripts: list[tuple[int, Command]] = field(default_factory=list)
    """Each with how many entries of runcmd there are before it."""
    documents: int = 0
    names: dict[str, int] = field(default_factory=dict)

    def take(self, listed: Sequence[Part]) -> None:
        for part in listed:
            self._take(part)

    def _take(self, part: Part) -> None:
        if part.kind is Kind.TEMPLATE:
            part = self._rendered(part)
        if part.kind is Kind.CONFIG:
            self._take_config(part)
        elif part.kind is Kind.SCRIPT:
            self._take_scripts(part)
        elif part.kind is Kind.SCRIPT_EACH_BOOT:
            self._take_scripts(part, each_boot=True)
        elif part.kind is Kind.BOOT_HOOK:
            self.boot_hooks += map(self._named, scripts.boot_hook(part))
        elif part.kind is Kind.INCLUDE:
            self._take_included(part)
        else:
            why = f"nothing here knows what to do with {quoted(part.content_type)}"
            self.findings.ignore(part.name, why)

    def _rendered(self, part: Part) -> Part:
        try:
            text = template.rendered(part.text, self.metadata)
        except template.TemplateFault as fault:
            raise Refused(Origin(part.name, (), fault.line, fault.column), str(fault)) from None
        made = template_of(part, text)
        if made.kind is Kind.TEMPLATE:
            raise Refused(Origin(part.name, line=2), "it is a template of a template")
        # Its lines are counted as whoever wrote it counts them, with the header's.
        return replace(made, text=f"\n{made.text}") if made.kind is Kind.CONFIG else made

    def _take_config(self, part: Part) -> None:
        read = document.read(part.name, part.text)
        for origin in read.repeated:
            key = document.key_name(str(origin.place[-1]))
            self.findings.warn(
                f"key {key}", f"it is there a second time, which takes the place of the first ({origin})"
            )
        self.config = document.merged(self.config or Node({}, read.root.origin), read.root, part.merge)

    def _take_scripts(self, part: Part, *, each_boot: bool = False) -> None:
        cluster_api.warn_of_hidden(part.text, part.name, self.findings)
        made = scripts.commands(part, each_boot=each_boot)
        self.scripts += ((self._number_of_entries(), self._named(command)) for command in made)

    def _named(self, command: Command) -> Command:
        """By a name that no other has: what has been run is remembered by it, wherever the user data lies."""
        self.names[command.name] = number = self.names.get(command.name, 0) + 1
        return replace(command, name=f"{command.name} ({number})") if number > 1 else command

    def _number_of_entries(self) -> int:
        runcmd = self.config.mapping.get("runcmd") if self.config else None
        return len(runcmd.value) if runcmd and isinstance(runcmd.value, list) else 0

    def _take_included(self, part: Part) -> None:
        for name, raw in self.includes.of(part):
            self.documents += 1
            if self.documents > _MOST_INCLUDED:
                raise Refused(Origin(part.name), f"more than {_MOST_INCLUDED} documents are included")
            self.take(parts(name, raw, self.findings))

    def made(self) -> UserData:
        if self.includes.awaited:
            if not self.boot_hooks:
                why = "only a boot hook can have written the file that it includes, and there is none"
                raise Refused(self.includes.awaited_by, why)
            notes = tuple(self.findings.notes)
            return UserData(tuple(self.boot_hooks), awaited=tuple(self.includes.awaited), notes=notes)
        config = self.config or Node({}, Origin("user data"))
        return _user_data(self.boot_hooks, settings(config, self.findings), self.scripts, self.findings)


def _user_data(
    boot_hooks: Sequence[Command], said: Settings, own: Sequence[tuple[int, Command]], findings: Findings
) -> UserData:
    split = cluster_api.split(said.commands, findings)
    files, join = _files(said.files, split, findings)
    _warn_of_no_join(said.files, join, findings)
    before = [command for entries, command in own if not join or entries <= split.entries_before]
    after = [command for entries, command in own if join and entries > split.entries_before]
    where = ("runcmd, before the join", "runcmd, after the join") if join else ("runcmd", "")
    return UserData(
        (
            *boot_hooks,
            *said.boot_commands,
            *files,
            *said.time,
            *before,
            *scripts.batch(where[0], split.before),
        ),
        join,
        (*cluster_api.sentinel(join), *scripts.batch(where[1], split.after), *after),
        said.host_name,
        notes=tuple(findings.notes),
    )


def _files(
    entries: Sequence[Entry], split: cluster_api.Split, findings: Findings
) -> tuple[list[WrittenFile], Join | None]:
    made, join = [], split.join
    for entry in entries:
        if join and split.retried and cluster_api.is_retry_script(entry.linux, entry.content):
            join = cluster_api.with_verbosity_of(join, entry.content)
            findings.ignore(
                f"file {entry.linux}",
                "a script for bash that calls kubeadm again and again; the join is done here",
            )
            continue
        file = entry.written()
        if join and entry.path == join.configuration:
            # It holds a bootstrap token, and /run of a Linux machine is empty again after a restart.
            cluster_api.refuse_control_plane(entry.content, entry.origin)
            file = replace(file, protection=Protection.PRIVATE, until=join.sentinel)
        made.append(file)
    return made, join


def _warn_of_no_join(entries: Sequence[Entry], join: Join | None, findings: Findings) -> None:
    if join is None and any(entry.linux == cluster_api.JOIN_CONFIGURATION for entry in entries):
        why = (
            "it configures a join, and no entry of runcmd begins with kubeadm join: the machine will not join"
        )
        findings.warn(f"file {cluster_api.JOIN_CONFIGURATION}", why)
