"""From sources to dist/wmcb.exe, in order."""

from __future__ import annotations

import hashlib
import importlib
import marshal
import os
import re
import ssl
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from exebuild import (
    findings,
    freezing,
    image,
    materials,
    modules,
    parts,
    payload,
    resources,
    signing,
    sources,
)
from exebuild.compiler import LAUNCHER, LOG_RUNNER, Compiler
from exebuild.modules import FrozenModule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from exebuild.findings import Analysis, Findings

PROGRAM = "wmcb.exe"
LOG_PROGRAM = "wmcb-log.exe"
RUNTIME = "runtime"
RESIDENT = (
    "agent.cli.main",
    "agent.cli.dispatch",
    "agent.cli.daemon",
    "service.program",
    "agent.host.windows.service_program",
)
"""What the service loads on any machine."""
KEEPING = (
    "agent.cli.machine",
    "agent.cli.run_log",
    "agent.host.event_sources",
    "agent.host.loopback",
    "agent.host.windows.access",
    "agent.host.windows.clock",
    "agent.host.windows.defender",
    "agent.host.windows.environment",
    "agent.host.windows.events",
    "agent.host.windows.facts",
    "agent.host.windows.file_watch",
    "agent.host.windows.features",
    "agent.host.windows.files",
    "agent.host.windows.firewall",
    "agent.host.windows.local_services",
    "agent.host.windows.power",
    "agent.host.windows.processes",
    "agent.host.windows.registry",
    "agent.resources.certificates",
    "agent.resources.credentials",
    "agent.resources.directory",
    "agent.resources.environment_variable",
    "agent.resources.event_source",
    "agent.resources.file",
    "agent.resources.service",
    "service.keeping",
    "service.watching",
)
"""What it loads in order to keep a node."""
FOLLOWING = (
    "agent.sources.node_configuration.compiling",
    "service.adopting",
    "service.cluster",
    "service.contents",
    "service.desired",
    "service.reporting",
    "service.standing",
)
"""What it loads in order to follow a ConfigMap."""
PACKING_LEVEL = 12  # the most thorough; it makes no difference to how long unpacking takes

MARK = "wmcb_mark"
"""No module: lies before those that are read out of the program's file, and says that it is theirs."""
_LAUNCHER, _LOG_RUNNER = "WMCB_LAUNCHER", "WMCB_LOG_RUNNER"
"""Programs in C that are compiled already, for where zig itself cannot run."""
_SIGNED = "WMCB_SIGNED_PROGRAM"
"""The program as the last build left it, signed since; packed in place of the same without a signature."""
_SIGNED_LOG_RUNNER = "WMCB_SIGNED_LOG_RUNNER"
"""wmcb-log.exe as the last release carried it; taken again where it is the same but for its signature."""
_COMMIT = "WMCB_COMMIT"
"""The commit, for where git cannot be asked."""


def assemble(repository: Path, work: Path, target: Path, analyse: Callable[[Path], Analysis]) -> None:
    """Leaves in `target` wmcb.exe, its checksum, materials and licences, and the folder that it lays out."""
    own = sources.own(repository)
    found = findings.collect(sources.imported(own), work, analyse)
    commit = os.environ.get(_COMMIT) or commit_of(repository)
    carried = parts.of(repository, release_of(repository), found)
    licenses = parts.licenses(carried)

    log_runner = _log_runner(work)
    launcher = _launcher(repository, work, commit)
    code = {
        **_kept(work, found),
        **freezing.freeze(own, optimize=freezing.KEEP_ALL),
        "wmcb_built": b"",  # its name counts, below
        "wmcb_licenses": _carried("wmcb_licenses", "TEXT", licenses),
        "wmcb_log_runner": _carried("wmcb_log_runner", "PROGRAM", log_runner),
    }
    packages = {source.name for source in (*own, *found.modules) if source.is_package}
    # What the resident service imports is read out of the program's file (carried/wmcb_start.py).
    imported = freezing.imported_by(repository, RESIDENT + KEEPING + FOLLOWING)
    read = [FrozenModule(name, code[name], name in packages) for name in imported if name in code]
    code[MARK] = hashlib.sha256(b"".join(module.code for module in read)).digest()
    others = sorted(set(code) - {MARK, *imported})
    names = [MARK, *(module.name for module in read), *others]
    place = image.place_of_section(launcher) + modules.place_of_code(names)
    code["wmcb_built"] = _facts(commit, found, place, code[MARK], read)
    table = modules.build([FrozenModule(name, code[name], name in packages) for name in names])

    program = _signed_program(image.add_section(launcher, modules.SECTION, table))
    runtime = {name: path.read_bytes() for name, path in found.files().items()}
    packed = payload.build(program, runtime, _packing(work))
    shipped = image.add_section(launcher, payload.SECTION, packed)
    _deliver(target, program, runtime, _signed(shipped))
    (target / LOG_PROGRAM).write_bytes(log_runner)  # the next release takes it again, as it is signed
    programs = {PROGRAM: program, LOG_PROGRAM: log_runner}
    (target / materials.NAME).write_bytes(materials.bill(carried, commit, programs, runtime))
    (target / parts.LICENSES_FILE).write_bytes(licenses.encode())


def commit_of(repository: Path) -> str:
    """The commit that is checked out; marked when the checkout has been changed since."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(repository), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "HEAD") + ("-modified" if changed else "")


def release_of(repository: Path) -> str:
    text = (repository / "agent" / "release.py").read_text("utf-8")
    (release,) = re.findall(r'^RELEASE = "(.*)"$', text, re.MULTILINE)
    return str(release)


def make_launcher(repository: Path, commit: str, python_headers: Path, compiler: Compiler) -> bytes:
    """The launcher for this commit."""
    read_by_windows = resources.build(release_of(repository), commit)
    return compiler.program(LAUNCHER, read_by_windows, [python_headers])


def make_log_runner(compiler: Compiler) -> bytes:
    """wmcb-log.exe: the same for as long as its sources are; signed where there is a key."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in LOG_RUNNER.files())).hexdigest()
    program = compiler.program(LOG_RUNNER, resources.build_for_log_runner(digest[:16]))
    before = os.environ.get(_SIGNED_LOG_RUNNER)
    if before and signing.is_signed_copy(Path(before).read_bytes(), program):
        return Path(before).read_bytes()
    return _signed(program)


def _launcher(repository: Path, work: Path, commit: str) -> bytes:
    made = os.environ.get(_LAUNCHER)
    if made:
        return Path(made).read_bytes()
    headers = Path(sysconfig.get_path("include"))
    return make_launcher(repository, commit, headers, Compiler(work / "launcher"))


def _log_runner(work: Path) -> bytes:
    made = os.environ.get(_LOG_RUNNER)
    return Path(made).read_bytes() if made else make_log_runner(Compiler(work / "log-runner"))


def _signed(program: bytes) -> bytes:
    return signing.signed(program) if signing.wanted() else program


def _signed_program(program: bytes) -> bytes:
    place = os.environ.get(_SIGNED)
    if not place:
        return _signed(program)
    signed = Path(place).read_bytes()
    if not signing.is_signed_copy(signed, program):
        raise signing.SigningError(f"{place} is not the program of this build with a signature")
    return signed


def _carried(module: str, name: str, content: bytes | str) -> bytes:
    """As a module: it costs nothing until it is imported. A file would be laid out at each start."""
    text = f"{name} = {content!r}\n".encode()
    return freezing.compile_module(module, text, is_package=False, optimize=freezing.KEEP_ALL)


def _kept(work: Path, found: Findings) -> dict[str, bytes]:
    """The code of all modules that are not ours: they take the longest to compile, and rarely change."""
    digest = hashlib.sha256(sys.version.encode() + Path(freezing.__file__).read_bytes())
    for source in found.modules:
        digest.update(source.name.encode() + b"\0" + source.path.read_bytes())
    place = work / f"third-party-{digest.hexdigest()[:16]}.code"
    if not place.exists():
        _put(place, marshal.dumps(freezing.freeze(found.modules, optimize=freezing.WITHOUT_DOCSTRINGS)))
    table: dict[str, bytes] = marshal.loads(place.read_bytes())  # noqa: S302 - written above
    return table


def _facts(commit: str, found: Findings, place: int, mark: bytes, read: Sequence[FrozenModule]) -> bytes:
    facts = {
        "COMMIT": commit,
        "OPENSSL": ssl.OPENSSL_VERSION,
        "EXTENSIONS": found.files_of_extensions(),
        "PLACE": place,
        "MARK": mark,
        "READ": tuple((module.name, len(module.code), module.is_package) for module in read),
    }
    text = "".join(f"{name} = {value!r}\n" for name, value in facts.items())
    return freezing.compile_module("wmcb_built", text.encode(), is_package=False, optimize=freezing.KEEP_ALL)


def _packing(work: Path) -> Callable[[bytes], bytes]:
    lz4 = importlib.import_module("lz4")
    block = importlib.import_module("lz4.block")
    version = f"{lz4.library_version_number()}-{PACKING_LEVEL}"
    folder = work / "packed"
    folder.mkdir(exist_ok=True)

    def pack(content: bytes) -> bytes:
        place = folder / f"{hashlib.sha256(content).hexdigest()}-{version}"
        if not place.exists():
            _put(
                place,
                block.compress(content, mode="high_compression", compression=PACKING_LEVEL, store_size=False),
            )
        return place.read_bytes()

    return pack


def _put(place: Path, content: bytes) -> None:
    """Whole or not at all: the next build takes it for good."""
    unfinished = place.with_name(place.name + ".unfinished")
    unfinished.write_bytes(content)
    unfinished.replace(place)


def _deliver(target: Path, program: bytes, runtime: Mapping[str, bytes], shipped: bytes) -> None:
    laid_out = target / "wmcb"
    (laid_out / RUNTIME).mkdir(parents=True, exist_ok=True)
    for path in (laid_out / RUNTIME).iterdir():
        if path.name not in runtime:
            path.unlink()
    for name, content in runtime.items():
        (laid_out / RUNTIME / name).write_bytes(content)
    (laid_out / PROGRAM).write_bytes(program)
    deliver_shipped(target, shipped)


def deliver_shipped(target: Path, shipped: bytes) -> None:
    """The one file, and its checksum beside it."""
    (target / PROGRAM).write_bytes(shipped)
    checksum = f"{hashlib.sha256(shipped).hexdigest()} *{PROGRAM}\n"
    (target / f"{PROGRAM}.sha256").write_bytes(checksum.encode())
