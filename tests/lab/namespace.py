"""A machine of the lab's own, made of namespaces.

Inside there is a private network (loopback, and 10.77.0.1 on a pair of virtual cards both of whose ends are
inside), a private list of processes and of mounts, a host name, and the Debian root with Wine. Whatever runs
in there cannot reach anything outside, and when the command that was entered with ends, all of it is gone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab import means, programs, repository, root

ADDRESS = "10.77.0.1"
HOST_NAME = "win1"
# Of the same address: whoever a node fetches things from (lab/web.py).
WEB_NAME = "web.test"
# Set inside: the path of the root with everything mounted in it.
ROOT_VARIABLE = "WMCB_LAB_ROOT"


@dataclass(frozen=True)
class Mount:
    """A folder of this machine that can be seen in the root, at a folder directly below /."""

    source: Path
    target: str
    writable: bool = False


REPOSITORY = Mount(repository.ROOT, "/repo", writable=True)
# Where a Windows program finds it.
REPOSITORY_ON_WINDOWS = r"Z:\repo"


# What Windows programs have as Z:. Wine takes a path that begins with a slash for one of Unix where a drive
# stands for the Unix root, while on Windows it is one of the current drive: so Z: has what is mounted, and is
# not the root.
DRIVE_Z = "/lab/z"


def inside() -> bool:
    return ROOT_VARIABLE in os.environ


def enter(command: Sequence[str], mounts: Sequence[Mount] = (REPOSITORY,)) -> int:
    """Runs a command inside, in the current folder; its exit code."""
    means.ensure("ip", "unshare")
    plan = {
        "root": str(root.folder()),
        "programs": str(programs.folder()),
        "mounts": [[str(mount.source), mount.target, mount.writable] for mount in mounts],
    }
    namespaces = [
        "unshare",
        "--mount",
        "--pid",
        "--net",
        "--uts",
        "--ipc",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    within = [sys.executable, "-m", "lab.namespace", json.dumps(plan), *command]
    return subprocess.run(
        [*namespaces, *within],
        env={**os.environ, "PATH": _path(), "PYTHONPATH": _python_path()},
        check=False,
    ).returncode


def _path() -> str:
    """Of programs: this Python's own come first, so that `python` is the one that has what the lab needs."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _python_path() -> str:
    here = str(Path(__file__).resolve().parents[1])
    others = [
        entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != here
    ]
    return os.pathsep.join([here, *others])


def _furnish(place: Path, compiled: Path, mounts: Sequence[Mount]) -> None:
    """Mounts what Wine needs. The root itself is read-only, so that one root serves any number of labs."""
    _mount("--bind", place, place)
    _mount("-t", "proc", "proc", place / "proc")
    _mount(
        "-t", "sysfs", "sysfs", place / "sys"
    )  # of this network namespace: Wine looks for network cards in it
    _mount("--rbind", "/dev", place / "dev")
    for name in ("dev/shm", "tmp", "run", "lab"):
        _mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", place / name)
    _mount("--make-shared", place / "lab")  # what is mounted in there later is in Z: as well
    for name in ("home", "programs", "nodes", "z"):
        (place / "lab" / name).mkdir()
    for mount in [*mounts, Mount(compiled, "/lab/programs")]:
        target = place / mount.target.lstrip("/")
        target.mkdir(exist_ok=True)
        _mount("--bind", mount.source, target)
        if not mount.writable:
            _mount("-o", "remount,bind,ro", target)
    for name in {mount.target.split("/")[1] for mount in mounts} | {"lab", "tmp"}:
        (place / "lab" / "z" / name).mkdir()
        _mount("--rbind", place / name, place / "lab" / "z" / name)
    # By its name Windows finds its own address, as a machine does that is known to a name server.
    hosts = place / "lab" / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{ADDRESS} {HOST_NAME}\n{ADDRESS} {WEB_NAME}\n")
    _mount("--bind", hosts, place / "etc" / "hosts")
    _mount("-o", "remount,bind,ro", place)


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def _connect() -> None:
    for scope in ("all", "default"):
        with suppress(FileNotFoundError):  # a kernel without IPv6
            Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")
    for words in (
        "link set lo up",
        "link add eth0 type veth peer name eth0peer",
        f"addr add {ADDRESS}/24 dev eth0",
        "link set eth0 up",
        "link set eth0peer up",
    ):
        subprocess.run(["ip", *words.split()], check=True)


def _run_as_first_process(command: Sequence[str]) -> int:
    """Runs the command, and buries the orphans that the kernel hands to the first process of a namespace."""
    child = subprocess.Popen(command)
    # The first process of a namespace is deaf to every signal that it has no handler for.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: child.send_signal(received))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the command as well
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status)


def _main() -> int:
    plan = json.loads(sys.argv[1])
    place = Path(plan["root"])
    Path("/proc/sys/kernel/hostname").write_text(HOST_NAME)
    _furnish(place, Path(plan["programs"]), [Mount(Path(s), t, writable=w) for s, t, w in plan["mounts"]])
    _connect()
    os.environ[ROOT_VARIABLE] = str(place)
    code = _run_as_first_process(sys.argv[2:])
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(_main())
