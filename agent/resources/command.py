"""Somebody's own commands: whether they have been run, told by a marker beside wmcb's own memory."""

import json
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.amounts import in_seconds
from agent.host.errors import AlreadyExists, HostError, InUse, NotFound, TimedOut
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.resources.kind import CannotBeSo, Kept, Kind, NotWell, State, Value
from agent.resources.own_folder import OwnFile, own_folder
from agent.resources.trees import remove_leftovers
from agent.spec import Command, Shell

_FOLDER = "commands"
_SUFFIXES = {Shell.CMD: ".cmd", Shell.POWERSHELL: ".ps1"}
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 60
_AGAIN_AT_NEXT_BOOT = (1002, 1003)
"""Exit codes by which a command asks cloudbase-init for that."""
REQUESTS = (1001, *_AGAIN_AT_NEXT_BOOT)
"""Those that ask cloudbase-init for something."""


class CommandResource(Kind[Command]):
    firm = frozenset({"script", "shell", "exit_code"})

    def wanted(self, want: Command) -> State:
        wanted: dict[str, Value] = {"script": want.script.sha256, "shell": want.shell.value}
        return wanted if want.may_fail else {**wanted, "exit_code": 0}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all are cheap
        marker = _Files(host, name).path
        try:
            found: dict[str, Value] = json.loads(host.files.read(marker))
            state = {field: found[field] for field in ("script", "shell", "exit_code", "boot")}
        except NotFound:
            return None
        except (ValueError, KeyError, TypeError) as fault:
            raise CannotBeSo(
                f"{marker} is damaged; remove it, and command {name} will be run again"
            ) from fault
        again = state["exit_code"] in _AGAIN_AT_NEXT_BOOT and not is_of_this_boot(host, state["boot"])
        return None if again else state

    def shown(self, field: str, value: Value, manner: State) -> str:
        return f"{value}"[:12] if field == "script" else super().shown(field, value, manner)

    def apply(self, host: Host, want: Command, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it is run anew
        files = _Files(host, want.name)
        files.make_folders()
        script = files.script(want.shell)
        host.files.write(script, want.script.blocks(), PRIVATE_FILE)
        try:
            exit_code = _run(host, want, script, files.log)
        finally:
            with suppress(NotFound, InUse):
                host.files.remove(script)
        if exit_code and not want.may_fail:
            raise NotWell(_failed(host, want.name, exit_code))
        ended = {"exit_code": exit_code, "boot": host.clock.boot()}
        files.write(json.dumps({"name": want.name, **self.wanted(want), **ended}))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        files = _Files(host, name)
        if before is not None:
            files.make_folders()
            files.write(json.dumps({"name": name, **before}))
        else:
            files.remove()
        return effects_stay(name)

    def tidy(self, host: Host, names: Iterable[str]) -> None:
        """Scripts can hold secrets."""
        remove_leftovers(host.files, own_folder(host) / _FOLDER)
        for name in names:
            for shell in Shell:
                with suppress(NotFound, InUse):
                    host.files.remove(_Files(host, name).script(shell))


def effects_stay(name: str) -> str:
    """Return what is printed where the memory of a command goes, and what it changed does not."""
    return f"what command {name} has done stays"


def failure_of(host: Host, name: str) -> str | None:
    """How a command ended that was allowed to fail, and did; None for all others."""
    found = CommandResource().observe(host, name, {}) or {}
    exit_code = found.get("exit_code")
    return _failed(host, name, exit_code) if exit_code and exit_code not in REQUESTS else None


def _failed(host: Host, name: str, exit_code: Value) -> str:
    """Without what it said: that can hold a secret, and failures go to Windows' event log, too."""
    return f"command {name} ended with exit code {exit_code}; what it said is in {_Files(host, name).log}"


def is_of_this_boot(host: Host, boot: Value) -> bool:
    """`boot` is what the state of a command says of when it was run."""
    return boot == host.clock.boot()


class _Files(OwnFile):
    """Of one command: beside what is remembered its script and its log."""

    def __init__(self, host: Host, name: str) -> None:
        super().__init__(host, _FOLDER, name)
        readable = _NO_FILE_NAME.sub("-", name)[:_LONGEST_NAME]
        self._logs = own_folder(host) / "logs"
        self.log = self._logs / f"command-{readable}-{self.id[:8]}.log"

    def script(self, shell: Shell) -> PureWindowsPath:
        return self.folder / f"{self.id}{_SUFFIXES[shell]}"

    def make_folders(self) -> None:
        for folder in (self.folder, self._logs):
            with suppress(AlreadyExists):
                self._files.make_directory(folder, PRIVATE_DIRECTORY)


def _run(host: Host, want: Command, script: PureWindowsPath, log: PureWindowsPath) -> int:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(host.clock.now()))
    # What an earlier one has left running may go on adding to it.
    host.files.append(log, f"--- {stamp} {want.name}\r\n".encode(), PRIVATE_FILE, flushed=False)
    system = host.facts.system_directory() / "System32"
    words = _words(want.shell, system, script)
    try:
        # Where cloudbase-init, a service, runs them.
        return host.processes.run_logged(words, log, seconds=want.within_seconds, directory=system)
    except TimedOut:
        raise NotWell(
            f"command {want.name} did not end within {in_seconds(want.within_seconds)}, and was ended;"
            f" what it said is in {log}"
        ) from None
    except HostError as failure:
        raise NotWell(f"command {want.name}: {failure}") from failure


def _words(shell: Shell, system: PureWindowsPath, script: PureWindowsPath) -> Sequence[str]:
    """As cloudbase-init has them; but cmd.exe does not write each line into the log, secrets and all."""
    if shell is Shell.POWERSHELL:
        program = system / "WindowsPowerShell" / "v1.0" / "powershell.exe"
        return (str(program), "-ExecutionPolicy", "RemoteSigned", "-NonInteractive", "-File", str(script))
    return (str(system / "cmd.exe"), "/q", "/c", str(script))
