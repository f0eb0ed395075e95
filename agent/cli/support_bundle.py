"""`wmcb support-bundle`: all that helps to find out what is wrong, in one file, without secrets."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli import plan_documents, shown_following
from agent.cli.arguments import VERBOSE
from agent.cli.bundled import Bundled
from agent.cli.daemon import resident_state
from agent.cli.documents import document
from agent.cli.failure import DONE, BadUsage, Failure
from agent.cli.machine import is_sandbox, open_to_look
from agent.cli.streams import say, tell
from agent.engine import repairing
from agent.engine import run as engine
from agent.host.protection import PRIVATE_FILE
from agent.release import RELEASE, build
from service import pausing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.cli.arguments import Request
    from agent.host.port import Host

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a ZIP can tell."""


def write(request: Request) -> int:
    host = open_to_look(request)
    place = request.operand or _name(host)
    bundled = Bundled(host)
    files = bundled.files(lambda: json.loads(_status(host)), lambda: json.loads(_repair(host)))
    about = {"wmcb": RELEASE, "commit": build().commit, "missing": bundled.missing}
    _put(request, host, place, _zipped({"about.json": json.dumps(about, indent=1).encode(), **files}))
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
    import zipfile

    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in files.items():
            bundle.writestr(zipfile.ZipInfo(name, _FIRST_DATE), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _put(request: Request, host: Host, place: str, content: bytes) -> None:
    path = _on_host(request, host, place)
    if path is not None:
        if host.files.observe(path) is not None:
            raise _is_there(place)
        host.files.write(path, content, PRIVATE_FILE)
        return
    try:
        descriptor = os.open(
            Path(place), os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
        )
    except FileExistsError as fault:
        raise _is_there(place) from fault
    except OSError as fault:
        raise Failure(f"cannot write {place}: {fault.strerror}", where=place) from fault
    with open(descriptor, "wb") as file:  # noqa: PTH123 - by its descriptor
        file.write(content)


def _on_host(request: Request, host: Host, place: str) -> PureWindowsPath | None:
    """Where the host can write it, so that nobody else may read it; None for a file of this system's."""
    if is_sandbox(request):
        return PureWindowsPath(place) if PureWindowsPath(place).drive else None
    # Whoever is no administrator could not read it himself then.
    return PureWindowsPath(Path(place).absolute()) if host.access.is_administrator() else None


def _is_there(place: str) -> BadUsage:
    return BadUsage(f"{place} is there already; give another name", where=place)
