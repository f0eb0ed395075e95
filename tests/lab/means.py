"""What the lab needs of the machine it runs on, and how it is got."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab import cache, steps

# The program that is looked for, and the Debian package that brings it.
DEBIAN_PACKAGES = {
    "debootstrap": "debootstrap",
    "etcd": "etcd-server",
    "ip": "iproute2",
    "minisign": "minisign",
    "msibuild": "msitools",
    "openssl": "openssl",
    "osslsigncode": "osslsigncode",
    "ssh": "openssh-client",
    "unshare": "util-linux",
    "wixl": "wixl",
}
# Those that need nothing but themselves: taken out of their packages, by anybody, and installed nowhere.
UNPACKED = {
    "packer": "packer",
    "promtool": "prometheus",
}

_DEBIAN = Path("/etc/debian_version")


class Missing(Exception):
    """The lab cannot run here. The text is one line: what is missing and how to get it."""


def ensure(*programs: str) -> None:
    """Sees that the named programs are there, installing their Debian packages where they are not."""
    if os.geteuid() != 0:
        raise Missing("the lab needs root, for namespaces and mounts: start it as root, or with sudo")
    absent = [DEBIAN_PACKAGES[name] for name in programs if shutil.which(name) is None]
    if not absent:
        return
    _demand_debian(absent)
    with cache.locked("apt"), _no_service_started():
        apt_get("update")
        apt_get("install", "--no-install-recommends", *absent)


def program(name: str) -> Path:
    """One of UNPACKED: this machine's own, else out of its Debian package, which takes no root."""
    if own := shutil.which(name):
        return Path(own)
    packages = sorted(UNPACKED.values())
    _demand_debian(packages)
    key = cache.digest(*packages, _DEBIAN, _unpack)
    return cache.built("debian-programs", key, lambda into: _unpack(packages, into)) / "usr" / "bin" / name


def _unpack(packages: Sequence[str], into: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="wmcb-lab-apt-") as name:
        own = Path(name)
        for folder in ("lists", "archives"):
            (own / folder / "partial").mkdir(parents=True)
        # What apt knows of packages is root's, and may be nothing yet, as in a container.
        options = [f"-oDir::State::lists={own}/lists", f"-oDir::Cache={own}", "-oAPT::Sandbox::User=root"]
        apt_get(*options, "update")
        apt_get(*options, "download", *packages, folder=own)
        for archive in sorted(own.glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", str(archive), str(into)], check=True)


def _demand_debian(packages: Sequence[str]) -> None:
    if shutil.which("apt-get") is None or not _DEBIAN.exists():
        raise Missing(
            f"this needs {', '.join(packages)}, which are fetched on Debian only: install them by hand"
        )


@contextmanager
def _no_service_started() -> Iterator[None]:
    """Keeps Debian from starting what it installs: an etcd of the machine's own is not wanted.

    Left alone where the machine has a policy for that already, as container images do.
    """
    policy = Path("/usr/sbin/policy-rc.d")
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101 # forbidden, in the terms of invoke-rc.d\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def apt_get(*arguments: str, root: Path | None = None, folder: Path | None = None) -> None:
    """Runs apt-get, on this machine or in a root, with no question asked and another's lock waited for.

    What it downloads for somebody lies in the folder then.
    """
    command = ["apt-get", "-qq", "-y", "-o", "DPkg::Lock::Timeout=600", *arguments]
    if root is not None:
        command = ["chroot", str(root), *command]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = steps.run(command, environment=environment, folder=folder)
    if done.returncode != 0:
        why = " | ".join(line for line in done.stdout.splitlines() if line.startswith("E:"))
        raise Missing(f"{' '.join(command)} failed: {why or done.stdout[-300:].strip()}")
