"""The Debian root that Wine lives in.

Debian 12's Wine is too old for a current Windows Python and for programs of a current Go; trixie's is not. A
root of its own leaves the machine as it is, and gives every machine the same Wine.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from lab import cache, means

SUITE = "trixie"
PACKAGES = (
    "wine",
    "wine64",
    "locales",  # Wine takes the Windows locale and code pages from the Unix one
    "python3-samba",  # a second opinion about SDDL
)
LOCALES = ("en_US", "de_DE", "ja_JP", "tr_TR")
# Places for what is mounted or written while the lab runs; the root itself is read-only then.
MOUNT_POINTS = ("repo", "python", "lab")


def folder() -> Path:
    """The root, made with debootstrap unless it is there already."""
    key = cache.digest(SUITE, *PACKAGES, *LOCALES, *MOUNT_POINTS, _bootstrap)
    return cache.built("root", key, _build)


def _build(root: Path) -> None:
    means.ensure("debootstrap", "unshare")
    # In namespaces of its own, so that what a killed build had mounted and started is gone with it.
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command += [sys.executable, "-m", "lab.root", str(root)]
    done = subprocess.run(
        command, cwd=Path(__file__).resolve().parents[1], stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode != 0:
        raise means.Missing("the Debian root could not be made, see above")


def _bootstrap(root: Path) -> None:
    mirror = _mirror()
    command = ["debootstrap", "--variant=minbase", SUITE, str(root), *([mirror] if mirror else [])]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise means.Missing(f"{shlex.join(command[:3])} failed: {done.stdout[-400:].strip()}")
    for kind, place in (("proc", "proc"), ("sysfs", "sys")):
        subprocess.run(["mount", "-t", kind, kind, str(root / place)], check=True)
    subprocess.run(["mount", "--rbind", "/dev", str(root / "dev")], check=True)
    shutil.copyfile("/etc/resolv.conf", root / "etc" / "resolv.conf")
    means.apt_get("update", root=root)
    means.apt_get("install", "--no-install-recommends", *PACKAGES, root=root)
    means.apt_get("clean", root=root)
    for locale in LOCALES:
        subprocess.run(
            ["chroot", str(root), "localedef", "-i", locale, "-f", "UTF-8", f"{locale}.UTF-8"], check=True
        )
    for name in MOUNT_POINTS:
        (root / name).mkdir()


def _mirror() -> str | None:
    """The Debian mirror that this machine's apt uses; None leaves the choice to debootstrap."""
    wanted = "$(ORIGIN) $(COMPONENT) $(RELEASE) $(REPO_URI)"
    asked = subprocess.run(
        ["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    for line in asked.stdout.splitlines():
        origin, component, release, address = line.split(" ", 3)
        # Other Debian archives, security's say, have a release with a dash, and no trixie in the same place.
        if origin == "Debian" and component == "main" and "-" not in release:
            return address
    return None


if __name__ == "__main__":
    try:
        _bootstrap(Path(sys.argv[1]))
    except means.Missing as missing:
        sys.exit(f"lab: {missing}")
