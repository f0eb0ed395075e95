"""A Windows node: a machine with a disk, a registry, services and processes, that can be rebooted.

All that it tells is seen from outside the product: by Linux, by Wine's tools, by the lab's small programs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path, PureWindowsPath
from typing import Unpack

from lab import (
    machine,
    prefix,
    processes,
    programs,
    registry,
    running,
    services,
    trace,
    windows_python,
    wine,
)
from lab.namespace import HOST_NAME
from lab.processes import Process
from lab.registry import Key
from lab.running import Circumstances, Result, Running
from lab.services import Service
from lab.snapshot import Snapshot, files_below
from lab.waiting import PATIENCE_SECONDS, until

_numbers = count(1)
_BROKEN_PIPE = 109


def _content(path: Path) -> bytes:
    with suppress(FileNotFoundError):  # whoever runs there may have removed it just now
        return path.read_bytes()
    return b""


class Planted:
    """A library put where nobody should load it from."""

    def __init__(self, place: Path) -> None:
        self.place = place

    @property
    def loaded_by(self) -> list[str]:
        """The command lines of the programs that loaded it."""
        # In the letters that the program asked for it in.
        wanted = self.place.name.lower() + ".loaded"
        marks = [path for path in self.place.parent.iterdir() if path.name.lower() == wanted]
        return [line for mark in marks for line in mark.read_text(errors="replace").splitlines()]


class Node:
    """Started when made; `close` ends it and takes it away. Usually got from the fixture `node`."""

    def __init__(self, locale: str = "en_US") -> None:
        self.name = f"node{next(_numbers)}"
        self._home = f"/lab/nodes/{self.name}"
        self._runs = count(1)
        self._place = wine.outside(self._home)
        self.prefix = f"{self._home}/prefix"
        self.locale = locale
        prefix.layer(machine.prepared_prefix(), self._place)
        self._server: subprocess.Popen[bytes] | None = None
        self.boot()

    # Power

    def boot(self, *, traced: bool = False) -> None:
        """Switches it on; returns when its auto-start services have been started.

        With `traced` the wineserver writes down all that it is asked, which makes everything slower.
        """
        # -p: it stays, and so do the services, also when no program is running.
        server = [wine.SERVER, "--foreground", "--persistent", *(["--debug"] if traced else [])]
        with self._server_log.open("wb") as log:
            self._server = subprocess.Popen(
                wine.command(server, self._environment()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        until(self._server_listens, "the wineserver listens", explain=self._server_log.read_text)
        # Wine takes Linux' host name at each start for its own, also where Windows was given another one.
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', self._dns_name()]
        with (self._place / "boot.log").open("wb") as log:
            subprocess.run(
                wine.command([*named, wine.LOADER, "wineboot.exe"], self._environment()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=True,
            )

    def _dns_name(self) -> str:
        """What it was told to be called from its next start on. Read while nothing runs on it."""
        text = (self._place / "prefix" / "system.reg").read_text()
        _, _, key = text.partition("\n[System\\\\ControlSet001\\\\Services\\\\Tcpip\\\\Parameters]")
        told = re.search(r'^"Hostname"="(.*)"$', key.partition("\n\n")[0], re.MULTILINE)
        return told[1] if told else HOST_NAME

    def power_off(self) -> None:
        """Ends all that runs on it, without asking any of it; the registry is kept."""
        if self._server is None:
            return
        # As `wineserver --kill` does, which after ten seconds kills it, and with it what it has yet to save.
        self._server.send_signal(signal.SIGINT)
        self._server.wait()
        self._server = None
        until(self._nothing_is_left, f"all processes of {self.name} ended")

    def reboot(self, *, locale: str | None = None, traced: bool = False) -> None:
        """Off and on again: auto-start services start, what was to be moved until reboot has been moved."""
        self.power_off()
        self.locale = locale or self.locale
        self.boot(traced=traced)

    def close(self) -> None:
        self.power_off()
        # A process that has ended may hold on to its files for a moment yet.
        until(self._unmounted, f"the disk of {self.name} is used no more")
        shutil.rmtree(self._place)

    def _unmounted(self) -> bool:
        asked = ["umount", "--quiet", str(self._place / "prefix")]
        return subprocess.run(asked, stderr=subprocess.DEVNULL, check=False).returncode == 0

    @property
    def _server_log(self) -> Path:
        return self._place / "server.log"

    def _server_listens(self) -> bool:
        # Debian's Wine keeps the name of its socket's folder in the prefix.
        named = self._place / "prefix" / "wineserver"
        name = named.read_text() if named.exists() else ""  # and empty while it is being written
        return bool(name) and any(wine.outside("/tmp").glob(f"{name}/*/socket"))  # noqa: S108

    def _environment(self, debug: str = "-all", locale: str | None = None) -> dict[str, str]:
        return wine.environment(self.prefix, f"{locale or self.locale}.UTF-8", debug)

    def _nothing_is_left(self) -> bool:
        """One that was just being started when its server ended would wait for that for ever."""
        left = self.processes()
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        return not left

    # Programs

    def run(self, *arguments: str, **circumstances: Unpack[Circumstances]) -> Result:
        """Runs a program, its arguments quoted as CommandLineToArgvW reads them, to its end."""
        return self.start(*arguments, **circumstances).wait()

    def run_line(self, line: str, **circumstances: Unpack[Circumstances]) -> Result:
        """Runs a command line exactly as it stands."""
        return self.start_line(line, **circumstances).wait()

    def start(self, *arguments: str, **circumstances: Unpack[Circumstances]) -> Running:
        """Starts a program and does not wait for it."""
        return self.start_line(subprocess.list2cmdline(arguments), **circumstances)

    def start_line(self, line: str, **circumstances: Unpack[Circumstances]) -> Running:
        place = self._place / "runs" / str(next(self._runs))
        place.mkdir(parents=True)
        debug = "-all,+relay" if circumstances.get("traced") else "-all"
        environment = self._environment(debug, circumstances.get("locale"))
        return running.start(line, place, environment, circumstances)

    def run_until(
        self, condition: Callable[[], object], *arguments: str, **circumstances: Unpack[Circumstances]
    ) -> Result:
        """Starts a program and kills it as soon as the condition holds, it and all processes of its name.

        An AssertionError where it ended before that.
        """
        result, was_killed = self.run_unless(condition, *arguments, **circumstances)
        if not was_killed:
            raise AssertionError(f"{arguments} ended too soon: {result}")
        return result

    def run_unless(
        self, condition: Callable[[], object], *arguments: str, **circumstances: Unpack[Circumstances]
    ) -> tuple[Result, bool]:
        """The same of one that may end before that; and whether it was killed."""
        running = self.start(*arguments, **circumstances)
        name = PureWindowsPath(arguments[0]).name
        while not condition():
            if running.ended:
                return running.wait(), False
            time.sleep(0.001)  # what it does next must not be done
        for process in self.processes(name):
            with suppress(ProcessLookupError):  # of two, one may end because the other one has
                os.kill(process.pid, signal.SIGKILL)
        until(lambda: not self.processes(name), f"{name} is gone")
        return running.wait(), True

    def python(self, *arguments: str, **circumstances: Unpack[Circumstances]) -> Result:
        """Runs the lab's Windows Python."""
        return self.run(windows_python.PROGRAM, *arguments, **circumstances)

    def _tool(self, *arguments: str) -> str:
        return wine.run([wine.LOADER, *arguments], self._environment()).stdout

    # Processes

    def processes(self, name: str | None = None) -> list[Process]:
        """Those of this node, or those of one program (kubelet.exe)."""
        return [p for p in processes.of_prefix(self.prefix) if name is None or p.name == name.lower()]

    def kill(self, process: Process) -> None:
        """Ends a process as hard as can be, and waits until it is gone."""
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: process.pid not in {p.pid for p in self.processes()}, f"{process.name} is gone")

    # Disk

    @property
    def c(self) -> Path:
        """C: as Linux sees it, where names have their one spelling: see `path`."""
        return self._place / "prefix" / "drive_c"

    def path(self, windows: str) -> Path:
        r"""Where C:\... is for Linux, each name found in any letters; what is not there is left as given."""
        asked = PureWindowsPath(windows)
        if asked.drive.upper() != "C:":
            raise ValueError(f"not a path on C: {windows}")
        found = self.c
        for part in asked.parts[1:]:
            names = [entry.name for entry in found.iterdir()] if found.is_dir() else []
            found /= part if part in names else next((n for n in names if n.lower() == part.lower()), part)
        return found

    def copy_in(self, source: Path, windows: str) -> Path:
        """Copies a file of this machine to the node, with the folders on the way."""
        target = self.path(windows)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        return target

    def mode(self, windows: str) -> int:
        """The mode bits that Wine made of the security descriptor of a file or folder."""
        return stat.S_IMODE(self.path(windows).stat().st_mode)

    def prefer_files(self, names: Iterable[str]) -> None:
        """Has libraries of these names loaded from where they lie, as Windows does.

        Wine else takes its own library of a name wherever another one lies.
        """
        lines = [f'"{name.removesuffix(".dll")}"="native,builtin"' for name in names]
        overrides = r"[HKEY_CURRENT_USER\Software\Wine\DllOverrides]"
        file = self.path(r"C:\windows\temp\overrides.reg")
        file.write_text("\n".join(["Windows Registry Editor Version 5.00", "", overrides, *lines, ""]))
        self._tool("regedit.exe", "/S", r"C:\windows\temp\overrides.reg")
        file.unlink()

    def plant(self, *paths: str) -> list[Planted]:
        """Puts a library at each of these paths that tells by whom it was loaded."""
        self.prefer_files({PureWindowsPath(path).name for path in paths})
        library = wine.outside(programs.PLACE) / "planted.dll"
        return [Planted(self.copy_in(library, path)) for path in paths]

    def holding(self, text: str) -> list[str]:
        """What has a text in it, in UTF-8 or as Windows has texts: files that are not as they were when the
        machine was new, by their paths, and the registry's hives.
        """
        forms = (text.encode(), text.encode("utf-16-le"))
        drive = self._place / "changes" / "drive_c"
        files = (path for path in drive.rglob("*") if path.is_file() and not path.is_symlink())
        found = [path for path in files if any(form in _content(path) for form in forms)]
        hives = [hive for hive in ("HKLM", "HKU") if text in (self._export(hive) or "")]
        return sorted("C:\\" + str(path.relative_to(drive)).replace("/", "\\") for path in found) + hives

    # Registry

    def registry(self, path: str) -> Key | None:
        r"""The key at HKLM\... or HKCU\..., None where there is none."""
        exported = self._export(path)
        return None if exported is None else registry.parse(exported, path)

    def _export(self, path: str) -> str | None:
        written = self.path(r"C:\windows\temp\exported.reg")
        # Told by the file and not by the exit code: reg.exe ends with 1 for each and every failure.
        asked = [wine.LOADER, "reg.exe", "export", path, r"C:\windows\temp\exported.reg", "/y"]
        subprocess.run(
            wine.command(asked, self._environment()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if not written.exists():
            return None
        text = written.read_text("utf-16")
        written.unlink()
        return text

    # All of it

    def snapshot(self) -> Snapshot:
        """All that is on C: and in the registry now, to compare with another. It takes some seconds."""
        keys: dict[str, dict[str, registry.Value]] = {}
        for hive in ("HKLM", "HKU"):
            exported = self._export(hive)
            assert exported is not None
            keys |= registry.parse_all(exported)
        return Snapshot(files_below(self.c), keys)

    # Services

    def service(self, name: str) -> Service | None:
        """Its status now, None where there is no such service; its settings stand in the registry."""
        error, service = self._scm("query", name)
        if error not in (0, services.NO_SUCH_SERVICE):
            raise AssertionError(f"the state of the service {name} cannot be read: error {error}")
        return service

    def service_settings(self, name: str) -> Key | None:
        """What the Service Control Manager has stored of it."""
        return self.registry(rf"HKLM\System\CurrentControlSet\Services\{name}")

    def create_service(self, name: str, command_line: str, *, automatic: bool = False) -> None:
        self._must("create", name, "2" if automatic else "3", command_line)

    def start_service(self, name: str, *arguments: str) -> None:
        """Has it started, without waiting until it runs."""
        self._must("start", name, *arguments)

    def stop_service(self, name: str) -> None:
        """Sends it a stop, without waiting until it has stopped. A kubelet may end before it answers."""
        error = self.control_service(name, int(services.Control.STOP))
        if error not in (0, _BROKEN_PIPE):
            raise AssertionError(f"service {name} cannot be stopped: error {error}")

    def control_service(self, name: str, code: int) -> int:
        """Sends it a control code; the Win32 error, which is 0 where it was taken."""
        return self._scm("control", name, str(code))[0]

    def delete_service(self, name: str) -> None:
        self._must("delete", name)

    def wait_for_service(
        self, name: str, state: services.State, seconds: float = PATIENCE_SECONDS
    ) -> Service:
        """Waits until a service is in a state; its status then."""
        reached: list[Service] = []

        def there() -> bool:
            service = self.service(name)
            if service is not None and service.state == state:
                reached.append(service)
            return bool(reached)

        until(there, f"the service {name} is {state.name}", seconds, lambda: self.service(name))
        return reached[0]

    def _must(self, *arguments: str) -> None:
        error, _ = self._scm(*arguments)
        if error:
            raise AssertionError(f"scm.exe {' '.join(arguments)} failed with error {error}")

    def _scm(self, *arguments: str) -> tuple[int, Service | None]:
        return services.parse(self._tool(rf"{programs.ON_WINDOWS}\scm.exe", *arguments))

    # Access

    def access(self, sddl: str) -> dict[str, int]:
        """What AccessCheck grants by this descriptor to `administrator`, `system` and `user`."""
        printed = self._tool(rf"{programs.ON_WINDOWS}\access.exe", sddl)
        return {who: int(mask, 16) for who, mask in (line.split() for line in printed.splitlines())}

    def descriptors(self) -> Sequence[trace.Descriptor]:
        """Every security descriptor that reached the wineserver since a traced boot."""
        with self._server_log.open(errors="replace") as lines:
            return list(trace.descriptors(lines))
