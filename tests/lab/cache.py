"""Things that take long to build, built once and kept outside the checkout.

Each is a folder named after what it is made from, made under a temporary name and renamed into place: a
folder that is there is whole, also after a build was interrupted, and other sources get another folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

KEPT_UNUSED_SECONDS = 14 * 24 * 3600


def folder() -> Path:
    """Where everything is kept: $WMCB_LAB_CACHE, else the user's cache folder."""
    chosen = os.environ.get("WMCB_LAB_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wmcb-lab"


def say(line: str) -> None:
    """Tells whoever waits what the lab is at."""
    sys.stderr.write(f"lab: {line}\n")
    sys.stderr.flush()


Ingredient = str | bytes | Path | Callable[..., object]


def digest(*made_from: Ingredient) -> str:
    """A name for what is made from these: texts, functions' sources, files, and folders with their files."""
    total = hashlib.sha256()
    for part in made_from:
        total.update(_fingerprint(part))
    return total.hexdigest()[:16]


def _fingerprint(part: Ingredient) -> bytes:
    if callable(part):
        part = inspect.getsource(part)
    if isinstance(part, str):
        part = part.encode()
    if isinstance(part, bytes):
        return hashlib.sha256(part).digest()
    if part.is_file():
        return hashlib.sha256(part.name.encode() + b"\0" + part.read_bytes()).digest()
    files = sorted(path for path in part.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    names = [path.relative_to(part).as_posix().encode() for path in files]
    return hashlib.sha256(
        b"".join(_fingerprint(n) + _fingerprint(f) for n, f in zip(names, files, strict=True))
    ).digest()


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Held by one lab of this machine at a time; let go by the kernel when its holder dies."""
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def built(name: str, key: str, build: Callable[[Path], None]) -> Path:
    """The folder `name-key`, built by `build` (given an empty folder to fill) unless it is there already."""
    place = folder() / f"{name}-{key}"
    if _in_use(place):
        return place
    with locked(name):
        if _in_use(place):
            return place
        _sweep(name)
        started = time.monotonic()
        say(f"building {place.name}")
        unfinished = Path(tempfile.mkdtemp(prefix=f".{name}.unfinished-", dir=folder()))
        unfinished.chmod(0o755)
        try:
            build(unfinished)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        unfinished.rename(place)
        say(f"built {place.name} in {time.monotonic() - started:.1f} s")
    return place


def _in_use(place: Path) -> bool:
    """Whether it is there. If so its time becomes now, by which one that is long unused is known."""
    if not place.exists():
        return False
    with suppress(OSError):  # inside the lab some of it is mounted read-only
        os.utime(place)
    return True


def _sweep(name: str) -> None:
    """Removes what interrupted builds left, and versions of a thing that nobody has used for long.

    The lock is held, so no build of it is still going on.
    """
    long_ago = time.time() - KEPT_UNUSED_SECONDS
    for left in folder().iterdir():
        unfinished = left.name.startswith(f".{name}.unfinished-")
        version = re.fullmatch(re.escape(name) + "-[0-9a-f]{16}", left.name)
        if unfinished or (version and left.stat().st_mtime < long_ago):
            shutil.rmtree(left, ignore_errors=True)
