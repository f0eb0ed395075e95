"""What the product's imports need that is not its own: from PyInstaller's analysis, or as it was kept."""

from __future__ import annotations

import _imp
import hashlib
import json
import re
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, NamedTuple, Protocol

from exebuild.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Entry = tuple[str, str, str]

# What PyInstaller finds because something could import it, and nothing that we call ever does.
EXCLUDED = (
    "_zstd", "compression.zstd",  # of 3.14; zipfile and tarfile do without
    "charset_normalizer",  # requests guesses no encodings (agent/fetch)
    # Python's own tools, tests and second implementations
    "_pydatetime", "_pydecimal", "_pyio", "_pyrepl", "bdb", "cmd", "code", "codeop", "doctest", "lib2to3",
    "pdb", "pydoc", "pydoc_data", "rlcompleter", "test", "tkinter", "unittest", "xmlrpc",
)  # fmt: skip

# Of the hundred codecs those that are named somewhere: by Python as it starts (the first only from 3.14 on),
# by its socket module, by us.
ENCODINGS = frozenset({
    "_win_cp_codecs", "aliases", "ascii", "idna", "latin_1", "mbcs", "oem", "punycode", "utf_16", "utf_16_be",
    "utf_16_le", "utf_8", "utf_8_sig",
})  # fmt: skip

_OF_WINDOWS = re.compile(r"(api-ms-win-.*|ext-ms-.*|ucrtbase)\.dll", re.IGNORECASE)
_OF_PYINSTALLER = re.compile(r"(pyimod|pyi_|_pyi_|PyInstaller)")


class Analysis(Protocol):
    """PyInstaller's, as far as it is used: name, where it lies, what it is."""

    @property
    def pure(self) -> Sequence[Entry]: ...
    @property
    def binaries(self) -> Sequence[Entry]: ...
    @property
    def datas(self) -> Sequence[Entry]: ...


class Findings(NamedTuple):
    modules: list[Source]
    extensions: dict[str, Path]
    """Modules written in C, by the name they are imported by."""
    libraries: dict[str, Path]
    """DLLs, by file name."""

    def files(self) -> dict[str, Path]:
        """All that is not Python, by the file name that it gets in the one folder for it."""
        return {**{_file(name): path for name, path in self.extensions.items()}, **self.libraries}

    def files_of_extensions(self) -> dict[str, str]:
        return {name: _file(name) for name in sorted(self.extensions)}


def _file(module: str) -> str:
    return f"{module}.pyd"


def collect(program: str, work: Path, analyse: Callable[[Path], Analysis]) -> Findings:
    """What `program` imports. PyInstaller is asked only when the answer could be another one."""
    installed = sorted(f"{found.name} {found.version}" for found in metadata.distributions())
    made_from = [
        program,
        sys.version,
        sys.base_prefix,
        *EXCLUDED,
        *installed,
        Path(__file__).read_text("utf-8"),
    ]
    key = hashlib.sha256("\0".join(made_from).encode()).hexdigest()
    kept = work / "findings.json"
    if kept.exists():
        stored = json.loads(kept.read_bytes())
        if stored["key"] == key:
            return _restored(stored)
    entry = work / "third_party.py"
    entry.write_text(program, "utf-8")
    found = of_analysis(analyse(entry))
    kept.write_text(json.dumps({"key": key, **_storable(found)}, indent=1), "utf-8")
    return found


def of_analysis(analysis: Analysis) -> Findings:
    found = sorted({*_modules(analysis.pure), *_base_modules(analysis.datas)})
    return Findings(found, dict(_extensions(analysis.binaries)), dict(_libraries(analysis.binaries)))


def _modules(pure: Iterable[Entry]) -> Iterator[Source]:
    for name, path, _ in pure:
        if path.endswith(".py") and _is_wanted(name):
            yield Source(name, Path(path), PureWindowsPath(path).name == "__init__.py")


def _base_modules(datas: Iterable[Entry]) -> Iterator[Source]:
    """PyInstaller puts what Python needs to start with into an archive of its own."""
    library = Path(sysconfig.get_path("stdlib"))
    for name, path, _ in datas:
        if name != "base_library.zip":
            continue
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                parts = entry.removesuffix(".pyc").split("/")
                is_package = parts[-1] == "__init__"
                module = ".".join(parts[:-1] if is_package else parts)
                if _is_wanted(module):
                    yield Source(module, library.joinpath(*parts).with_suffix(".py"), is_package)


def _is_wanted(name: str) -> bool:
    package, _, rest = name.partition(".")
    if package == "encodings" and rest:
        return rest in ENCODINGS
    # What python313.dll carries itself need not be carried twice.
    in_python = name in _imp._frozen_module_names()  # type: ignore[attr-defined]
    return not in_python and not _OF_PYINSTALLER.match(name)


def _extensions(binaries: Iterable[Entry]) -> Iterator[tuple[str, Path]]:
    for name, path, kind in binaries:
        if kind != "EXTENSION":
            continue
        parts = PureWindowsPath(name).parts
        yield ".".join([*parts[:-1], parts[-1].partition(".")[0]]), Path(path)


def _libraries(binaries: Iterable[Entry]) -> Iterator[tuple[str, Path]]:
    for name, path, kind in binaries:
        file = PureWindowsPath(name).name.lower()
        if kind == "BINARY" and not _OF_WINDOWS.fullmatch(file):
            yield file, Path(path)


def _storable(found: Findings) -> dict[str, object]:
    return {
        "modules": [[source.name, str(source.path), source.is_package] for source in found.modules],
        "extensions": {name: str(path) for name, path in sorted(found.extensions.items())},
        "libraries": {name: str(path) for name, path in sorted(found.libraries.items())},
    }


def _restored(stored: dict[str, object]) -> Findings:
    class Stored(NamedTuple):
        modules: list[tuple[str, str, bool]]
        extensions: dict[str, str]
        libraries: dict[str, str]

    kept = Stored(stored["modules"], stored["extensions"], stored["libraries"])  # type: ignore[arg-type]
    return Findings(
        [Source(name, Path(path), is_package) for name, path, is_package in kept.modules],
        {name: Path(path) for name, path in kept.extensions.items()},
        {name: Path(path) for name, path in kept.libraries.items()},
    )
