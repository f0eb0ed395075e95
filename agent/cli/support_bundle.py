"""`wmcb support-bundle`: all that helps to find out what is wrong, in one file, without secrets."""

import io
import json
import os
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath

from agent.cli import plan_documents, shown_following
from agent.cli.arguments import VERBOSE, Request
from agent.cli.bundled import Bundled
from agent.cli.documents import document
from agent.cli.failure import DONE, BadUsage, Failure
from agent.cli.machine import is_sandbox, open_to_look
from agent.cli.resident_service import resident_state
from agent.cli.streams import say, tell
from agent.engine import repairing
from agent.engine import run as engine
from agent.host.errors import HostError
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.release import RELEASE, build
from service import pausing

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a ZIP can tell."""


def write(request: Request) -> int:
    host = open_to_look(request)
    place = request.operand or _name(host)
    _check_place(request, host, place)
    bundled = Bundled(host)
    found = bundled.files(lambda: json.loads(_status(host)), lambda: json.loads(_repair(host)))
    about = {"wmcb": RELEASE, "commit": build().commit, "missing": bundled.missing}
    files = {"about.json": json.dumps(about, indent=1).encode(), **found}
    _put(request, host, place, _zipped(files))
    for name, why in bundled.missing.items():
        tell(f"wmcb: warning: without {name}: {why}")
    if request.wants_json:
        say(document(file=place, files=sorted(files), missing=bundled.missing))
    else:
        say(f"{place}: {len(files)} files, without secrets as far as they can be told")
        if request.has(VERBOSE):
            say("\n".join(f"  {name}" for name in sorted(files)))
    return DONE


def _status(host: Host) -> str:
    following = shown_following.document(shown_following.following(host))
    resident, pause = resident_state(host), pausing.read(host)
    return plan_documents.status_document(engine.status(host), {}, resident, pause, following)


def _repair(host: Host) -> str:
    return plan_documents.repair_document(repairing.outlook(host))


def _name(host: Host) -> str:
    return time.strftime(
        f"wmcb-support-{host.facts.host_name()}-%Y%m%dT%H%M%SZ.zip", time.gmtime(host.clock.now())
    )


def _zipped(files: Mapping[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in files.items():
            bundle.writestr(zipfile.ZipInfo(name, _FIRST_DATE), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _check_place(request: Request, host: Host, place: str) -> None:
    """Before anything is looked for, which takes its time. Raises BadUsage, Failure."""
    path = _on_host(request, host, place) or Path(place).absolute()
    with _writing(place):
        there, above = _kind(host, path), _kind(host, path.parent)
    if there is FileKind.DIRECTORY:
        raise BadUsage(f"{place} is a folder; name a file in it, as {_name(host)}", where=place)
    if there is not None:
        raise BadUsage(f"{place} is there already; give another name", where=place)
    if above is not FileKind.DIRECTORY:
        raise BadUsage(f"there is no folder {path.parent} to write to; make it, or name another", where=place)


def _kind(host: Host, path: Path | PureWindowsPath) -> FileKind | None:
    if isinstance(path, Path):
        is_there = path.exists()
        return FileKind.DIRECTORY if path.is_dir() else FileKind.FILE if is_there else None
    found = host.files.observe(path)
    return found.kind if found else None


def _put(request: Request, host: Host, place: str, content: bytes) -> None:
    path = _on_host(request, host, place)
    with _writing(place):
        if path is not None:
            host.files.write(path, content, PRIVATE_FILE)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with open(os.open(Path(place), flags, 0o600), "wb") as file:  # noqa: PTH123 - by its descriptor
            file.write(content)


@contextmanager
def _writing(place: str) -> Iterator[None]:
    try:
        yield
    except HostError as fault:
        raise _not_written(place, f"{fault.meaning} (Windows error {fault.code})", fault.advice) from fault
    except OSError as fault:
        raise _not_written(place, str(fault.strerror)) from fault


def _not_written(place: str, why: str, advice: str = "") -> Failure:
    return Failure(f"cannot write {place}: {why}; {advice or 'name a file in another folder'}", where=place)


def _on_host(request: Request, host: Host, place: str) -> PureWindowsPath | None:
    """Where the host can write it, so that nobody else may read it; None for a file of this system's."""
    if is_sandbox(request):
        return PureWindowsPath(place) if PureWindowsPath(place).drive else None
    # Whoever is no administrator could not read it himself then.
    return PureWindowsPath(Path(place).absolute()) if host.access.is_administrator() else None
