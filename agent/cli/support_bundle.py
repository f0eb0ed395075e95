"""`wmcb support-bundle`: all that helps to find out what is wrong, in one file, without secrets."""

import io
import json
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PureWindowsPath

from agent.cli import plan_documents
from agent.cli.arguments import VERBOSE, Request
from agent.cli.failure import DONE, BadUsage, Failure
from agent.cli.machine import is_sandbox, open_to_look
from agent.cli.resident_service import following, following_document, resident_state
from agent.cli.scrubbing import REMOVED, Json, Scrubber
from agent.cli.streams import document, say, tell
from agent.engine import repairing
from agent.engine import run as engine
from agent.engine.inventory import Inventory
from agent.engine.state_folder import StateFolder
from agent.engine.target import Record
from agent.hashing import new_sha256
from agent.host.errors import HostError, NotFound
from agent.host.files import FileKind
from agent.host.port import DiskSpace, Host
from agent.host.protection import PRIVATE_FILE
from agent.redaction import register, register_within
from agent.release import RELEASE, build
from agent.resources.kind import CannotBeSo
from agent.secret_patterns import is_secret_name
from agent.spec import Key
from service import pausing
from service.program_folder import hand_over_memory

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a ZIP can tell."""
Parts = Iterator[tuple[str, Json | str]]

SERVICES = ("wmcb", "kubelet", "containerd")
"""Told also where nothing of ours names them."""
_LARGEST_LOG = 1 << 20
_LARGEST_DOCUMENT = 32 << 20
_CREDENTIALS = (
    *(r"C:\etc\kubernetes\kubelet.conf", r"C:\etc\kubernetes\bootstrap-kubelet.conf"),
    *(r"C:\etc\kubernetes\kubeconfig", r"C:\var\lib\kubelet\kubeconfig"),
)
"""As kubeadm and as OpenShift's Ignition have it. None is put into a bundle."""
_NAMES_A_SECRET = re.compile(r"""["']?(?:token|password|client-key-data)["']?\s*:\s*["']?([^\s"',}]+)""")
_SECRET_VARIABLE = re.compile(r"pass|pwd|secret|token|key|credential|auth|sas", re.IGNORECASE)


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
    followed = following_document(following(host))
    resident, pause = resident_state(host), pausing.read(host)
    return plan_documents.status_document(engine.status(host), {}, resident, pause, followed)


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


class Bundled:
    """What is on a machine that helps to find out what is wrong with it, as the files of a bundle.

    Each part stands alone: what cannot be had on a damaged machine leaves the others, and is told.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._folder = StateFolder.of(host)
        self.missing: dict[str, str] = {}
        """By name of the part, why it could not be had."""
        self._documents: dict[str, Json] = {}
        self._scrubber = Scrubber()
        register(*self._known())

    def files(self, status: Callable[[], Json], repair: Callable[[], Json]) -> Mapping[str, bytes]:
        """By name. `status` is as a program is told it, `repair` what would be done to put all right."""
        parts: Mapping[str, Callable[[], Parts]] = {
            "state": self._state,
            "status": lambda: iter([("status.json", status())]),
            "repair": lambda: iter([("repair.json", repair())]),
            "logs": self._logs,
            "services": self._services,
            "machine": self._machine,
        }
        found: dict[str, bytes] = {}
        for name, part in parts.items():
            try:
                for file, content in part():
                    found[file] = self._written(content)
            except (HostError, CannotBeSo) as fault:
                self._miss(name, str(fault))
            except Exception as fault:  # noqa: BLE001 - whatever it is, the rest is wanted all the more
                self._miss(name, f"unexpected {type(fault).__name__} (please report it)")
        return found

    def _miss(self, name: str, why: str) -> None:
        self.missing[name] = self._scrubber.text(why)

    def _written(self, content: Json | str) -> bytes:
        if isinstance(content, str):
            return self._scrubber.text(content).encode()
        return json.dumps(self._scrubber.document(content), indent=1).encode()

    def _records(self) -> Mapping[Key, Record]:
        """Return what wmcb remembers; nothing where a user may have written it: the status says why.

        Otherwise that user could name a file that only administrators may read, as the log of a service.
        """
        with suppress(HostError, CannotBeSo):
            self._folder.check()
            return Inventory.load(self._folder).records
        return {}

    # What is known to be secret

    def _known(self) -> Iterable[str]:
        for path in _CREDENTIALS:
            with suppress(HostError):
                text = self._host.files.read(PureWindowsPath(path), _LARGEST_LOG).decode(errors="replace")
                yield from _NAMES_A_SECRET.findall(text)
                register_within(text)
        with suppress(HostError):
            yield from _secret_values(self._host.environment.list())
        for record in self._records().values():
            for state in (record.target.wanted, record.before or {}):
                environment = state.get("environment")
                yield from _secret_values(environment if isinstance(environment, dict) else {})
        for name in self._names():
            with suppress(HostError):
                installed = self._host.services.read(name)
                yield from _secret_values(installed.definition.environment if installed else {})

    # What there is

    def _state(self) -> Parts:
        folder = self._folder
        folder.check()
        for path in (folder.inventory, folder.inventory_copy, folder.following, folder.pause):
            yield from self._document(path)
        yield from self._document(hand_over_memory(self._host))
        yield from self._journal(folder.journal)
        names = [path.name for path in (folder.made, folder.fetched, folder.path / "kept")]
        yield "state/folders.json", {name: self._sizes(folder.path / name) for name in names}

    def _document(self, path: PureWindowsPath) -> Parts:
        content = self._content(path)
        if content is not None:
            yield f"state/{path.name}", _parsed(content)

    def _journal(self, path: PureWindowsPath) -> Parts:
        content = self._content(path)
        if content is not None:
            yield "state/journal.json", [_parsed(line) for line in content.splitlines()]

    def _content(self, path: PureWindowsPath) -> bytes | None:
        return self._had(path, lambda: self._host.files.read(path, _LARGEST_DOCUMENT))

    def _had(self, path: PureWindowsPath, read: Callable[[], bytes]) -> bytes | None:
        """None for what is not there, or is missed."""
        try:
            return read()
        except NotFound:
            return None
        except HostError as fault:
            self._miss(path.name, str(fault))
            return None

    def _sizes(self, folder: PureWindowsPath) -> Json:
        """Of what is kept there by its hash; what it holds is nobody's business."""
        try:
            names = self._host.files.list(folder)
        except HostError:
            return {}
        there = {name: self._host.files.observe(folder / name) for name in names}
        return {name: state.size for name, state in there.items() if state is not None}

    def _logs(self) -> Parts:
        logs = self._folder.path / "logs"
        with suppress(NotFound, CannotBeSo):
            self._folder.check()
            for name in self._host.files.list(logs):
                yield from self._log(logs / name)
        for path in self._logs_of_services():
            yield from self._log(path)

    def _logs_of_services(self) -> Iterable[PureWindowsPath]:
        found = [PureWindowsPath(r"C:\var\log\kubelet\kubelet.log")]
        manners = [record.target.manner for record in self._records().values()]
        found += [PureWindowsPath(str(manner["log"])) for manner in manners if "log" in manner]
        return dict.fromkeys(found)

    def _log(self, path: PureWindowsPath) -> Parts:
        tail = self._had(path, lambda: self._host.files.tail(path, _LARGEST_LOG))
        if tail is None:
            return
        text = tail.decode(errors="replace")
        # The first line of a tail is half a line, and what is left of a secret looks like none.
        yield f"logs/{path.name}", text.partition("\n")[2] if len(text) >= _LARGEST_LOG else text

    def _services(self) -> Parts:
        yield "services.json", {name: self._service(name) for name in self._names()}

    def _names(self) -> Sequence[str]:
        names = list(SERVICES)
        names += [key.name for key in self._records() if key.kind == "service"]
        return list(dict.fromkeys(names))

    def _service(self, name: str) -> Json:
        try:
            installed = self._host.services.read(name)
            if installed is None:
                return None
            status, made = self._host.services.status(name), installed.definition
        except HostError as fault:
            return {"error": str(fault)}
        return {
            "state": status.state.name,
            "pid": status.pid,
            "exit_codes": [status.exit_code, status.service_exit_code],
            "command": list(made.command),
            "image_path": installed.image_path,
            "start": made.start.value,
            "dependencies": list(made.dependencies),
            "account": made.account,
            "recovery": [[action.name, pause] for action, pause in made.recovery.actions],
            "environment": dict(made.environment),
            "preshutdown_milliseconds": made.preshutdown_milliseconds,
            "unsupported": list(installed.unsupported),
        }

    def _machine(self) -> Parts:
        host, facts = self._host, self._host.facts
        asked: Mapping[str, Callable[[], Json]] = {
            "windows": lambda: str(facts.windows_version()),
            "architecture": facts.architecture,
            "host_name": facts.host_name,
            "memory": facts.memory,
            "disk": lambda: {"total": _system(host).total, "free": _system(host).free},
            "containers_feature": facts.containers_feature,
            "addresses": lambda: [f"{each.address}/{each.prefix_length}" for each in facts.addresses()],
            "listening_ports": lambda: sorted(
                f"{each.address}:{each.port}" for each in facts.listening_ports()
            ),
            "reboot_pending": lambda: list(host.power.reboot_pending()),
            "time": host.clock.now,
            "environment": lambda: dict.fromkeys(sorted(host.environment.list()), REMOVED),
        }
        yield "machine.json", {name: _asked(ask) for name, ask in asked.items()}


def _secret_values(variables: Mapping[str, object]) -> Iterable[str]:
    return [
        str(value)
        for name, value in variables.items()
        if is_secret_name(name) or _SECRET_VARIABLE.search(name)
    ]


def _system(host: Host) -> DiskSpace:
    return host.facts.disk(host.facts.system_directory())


def _asked(ask: Callable[[], Json]) -> Json:
    try:
        return ask()
    except HostError as fault:
        return f"not known: {fault}"


def _parsed(content: bytes) -> Json:
    """A document, or what is known of a damaged one: what of it is secret nobody can tell."""
    try:
        found: Json = json.loads(content)
    except ValueError:
        digest = new_sha256(content).hexdigest()
        return {"damaged": "this is no JSON", "bytes": len(content), "sha256": digest}
    return found
