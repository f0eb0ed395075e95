"""Unit files: which belong to a unit, in which order, and the settings in each.

The rules are those of systemd.syntax(7) and systemd.unit(5), with what the manager really does where the
manual is silent: a comment inside a continued line is left out, a blank line ends it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.sources.report import Entry, Report, Severity, bounded, quoted

UNIT_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
)
"""Highest precedence first."""

BLANKS = " \t\n\r"
_COMMENT = "#;"
_BYTE_ORDER_MARK = "\ufeff"
_LONGEST_LINE = 1024 * 1024
_LINE_END = re.compile("\n\r?\0?|\r\n?\0?|\0")
"""Any of these in a row is one line end, as long as none of them comes twice."""

_SECTIONS = ("Unit", "Service", "Install")


@dataclass(frozen=True, slots=True)
class UnitFile:
    name: str
    """What messages call it: kubelet.service, or kubelet.service.d/10-proxy.conf."""
    contents: bytes


@dataclass(frozen=True, slots=True)
class Setting:
    section: str
    name: str
    value: str
    document: str
    line: int
    """Where it begins; a continued one ends later."""


def gather(
    unit: str, contents: str | None, drop_ins: Mapping[str, str], files: Mapping[str, bytes]
) -> tuple[UnitFile, ...]:
    """A unit as given, with what the same document writes beneath systemd's folders; in the order of merging.

    A unit or drop-in that is given hides a file of the same name, since both are the one file in /etc.
    """
    found = list(_fragment(unit, contents, files))
    by_name = {
        name: UnitFile(f"{unit}.d/{name}", text.encode(errors="surrogatepass"))
        for name, text in drop_ins.items()
    }
    for folder in _drop_in_folders(unit):
        for path in files:
            above, _, name = path.rpartition("/")
            if above == folder and name.endswith(".conf") and name not in by_name:
                by_name[name] = UnitFile(path, files[path])
    # A drop-in without .conf is none, wherever it comes from.
    return (*found, *(by_name[name] for name in sorted(by_name) if name.endswith(".conf")))


def _fragment(unit: str, contents: str | None, files: Mapping[str, bytes]) -> Iterator[UnitFile]:
    if contents is not None:
        yield UnitFile(unit, contents.encode(errors="surrogatepass"))
        return
    for folder in UNIT_FOLDERS:
        if (data := files.get(f"{folder}/{unit}")) is not None:
            yield UnitFile(f"{folder}/{unit}", data)
            return


def _drop_in_folders(unit: str) -> Iterator[str]:
    """Of kube-let.service: kube-let.service.d, then kube-.service.d, then service.d."""
    stem, _, kind = unit.rpartition(".")
    parts = stem.split("-")
    stems = [stem, *("-".join(parts[:end]) + "-" for end in range(len(parts) - 1, 0, -1))]
    for own in [*(f"{name}.{kind}.d" for name in stems), f"{kind}.d"]:
        for folder in UNIT_FOLDERS:
            yield f"{folder}/{own}"


def read_unit(file: UnitFile) -> tuple[tuple[Setting, ...], Report]:
    """The settings in their order. What follows a fault that makes systemd refuse the file is left out."""
    reader = _Reader(file.name)
    reader.read(file.contents.decode("utf-8", "surrogateescape"))
    return tuple(reader.settings), bounded(reader.entries)


class _Refused(Exception):
    """systemd stops reading the file here."""


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._section: str | None = None
        self._elsewhere = False
        """Inside a section that is none of a service's: what stands there is ignored without a word."""
        self.settings: list[Setting] = []
        self.entries: list[Entry] = []

    def read(self, text: str) -> None:
        try:
            for number, line in _logical_lines(text):
                self._line(number, line)
        except _Refused as refusal:
            number, message = refusal.args
            self._report(Severity.ERROR, number, message)

    def _line(self, number: int, line: str) -> None:
        stripped = line.strip(BLANKS)
        if not stripped:
            return
        if not stripped.isascii() and any("\udc80" <= character <= "\udcff" for character in stripped):
            self._report(Severity.WARNING, number, "this line is not UTF-8; systemd ignores it")
        elif stripped.startswith("["):
            self._open_section(number, stripped)
        elif self._section is not None:
            self._assign(number, self._section, stripped)
        elif not self._elsewhere:
            self._report(Severity.WARNING, number, "a setting before the first section; systemd ignores it")

    def _open_section(self, number: int, header: str) -> None:
        if not header.endswith("]") or not header.isprintable():
            raise _Refused(number, f"{quoted(header)} is no section header")
        name = header[1:-1]
        self._section = name if name in _SECTIONS else None
        self._elsewhere = self._section is None
        if self._elsewhere and not name.startswith("X-"):
            self._report(
                Severity.WARNING, number, f"a service has no section {quoted(name)}; systemd ignores it"
            )

    def _assign(self, number: int, section: str, line: str) -> None:
        name, equals, value = line.partition("=")
        if not equals or not name:
            fault = "a line without '='" if not equals else "a value without a name"
            self._report(Severity.WARNING, number, f"{fault}; systemd ignores it")
            return
        self.settings.append(Setting(section, name.strip(BLANKS), value.strip(BLANKS), self._name, number))

    def _report(self, severity: Severity, number: int, message: str) -> None:
        self.entries.append(Entry(severity, message, self._name, line=number))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Continued lines joined, comments left out; each with the number of the line on which it begins."""
    parts: list[str] = []
    length = 0
    begun = 0
    marked = False
    for number, physical in enumerate(_LINE_END.split(text), start=1):
        line = physical
        if len(line) > _LONGEST_LINE:
            raise _Refused(number, "a line is longer than 1 MiB")
        if line.lstrip(BLANKS)[:1] in tuple(_COMMENT):
            continue
        if not marked and line.startswith(_BYTE_ORDER_MARK):
            marked = True
            line = line[1:]
        begun = begun or number
        length += len(line)
        if length > _LONGEST_LINE:
            raise _Refused(number, "a continued line is longer than 1 MiB")
        if _continues(line):
            parts.append(line[:-1] + " ")
            continue
        yield begun, "".join([*parts, line])
        parts, length, begun = [], 0, 0
    if parts:
        yield begun, "".join(parts)


def _continues(line: str) -> bool:
    """A backslash at the end, unless it is itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
