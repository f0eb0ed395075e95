"""How Wine is called in the lab's root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import steps
from lab.namespace import DRIVE_Z, ROOT_VARIABLE

# The programs themselves: Debian's scripts around them cost a shell at each start.
LOADER = "/usr/lib/wine/wine64"
SERVER = "/usr/lib/wine/wineserver64"


def root() -> Path:
    """The root as mounted inside the lab's namespaces."""
    return Path(os.environ[ROOT_VARIABLE])


def outside(path: str) -> Path:
    """A path of the root, as this process sees it."""
    return root() / path.lstrip("/")


def on_windows(path: Path) -> str:
    """How Windows programs see a path of the root: below Z:."""
    return "Z:\\" + str(path.relative_to(root())).replace("/", "\\")


def environment(prefix: str, locale: str = "en_US.UTF-8", debug: str = "-all") -> dict[str, str]:
    """What every Wine process starts with, the wineserver first of all: services inherit it from there."""
    return {
        "HOME": "/lab/home",
        "PATH": "/usr/bin:/bin",
        "LANG": locale,
        "WINEPREFIX": prefix,
        "WINEDEBUG": debug,
        # No question about Mono and Gecko; and none of Linux' menus is filled, which takes a fifth of a boot.
        "WINEDLLOVERRIDES": "mscoree,mshtml,winemenubuilder.exe=",
        "XDG_RUNTIME_DIR": "/run",
        "LD_PRELOAD": "/lab/programs/noroute6.so",
    }


def command(argv: Sequence[str], environment: Mapping[str, str], folder: str = "/") -> list[str]:
    """The command that runs a program of the root in a folder of Z:, with this environment and no other."""
    # env sets the environment, not the caller: the preloaded library is only there in the root.
    variables = [f"{name}={value}" for name, value in environment.items()]
    return ["chroot", str(root()), "env", "-i", "-C", DRIVE_Z + folder, *variables, *argv]


def run(
    argv: Sequence[str], environment: Mapping[str, str], folder: str = "/"
) -> subprocess.CompletedProcess[str]:
    """Runs a program of the root to its end, for the lab's own needs: an exit code but 0 is an error."""
    done = steps.run(command(argv, environment, folder))
    if done.returncode != 0:
        raise RuntimeError(f"{argv} ended with {done.returncode}: {done.stdout[-2000:]}")
    return done
