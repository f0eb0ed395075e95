"""Files in which a client's private key lies while TLS loads it: Python's ssl takes keys from paths alone."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

_FOLDER = "wmcb_key-"
_PAIR = "wmcb_key.pem"
_PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)


class KeyFiles(Protocol):
    """How a certificate and its key become paths. Both methods raise OSError, which names the path."""

    def private_path(self, path: str) -> Path | None:
        """Return where the file that a kubeconfig names lies, links resolved, to be opened by this process.

        None where anybody but administrators could put another file there.
        """

    def lent(self, content: bytes) -> AbstractContextManager[Path]:
        """Write a file that no other user can read, and remove it on leaving."""


class TemporaryKeyFiles:
    """In the temporary folder of the account that runs this, for a process that is not elevated.

    Only the folder that was made here is removed, and nothing that an earlier process left: where other
    users may make folders, these may be links.
    """

    def private_path(self, path: str) -> Path | None:  # noqa: ARG002 - there is no host here to judge it
        return None

    @contextmanager
    def lent(self, content: bytes) -> Iterator[Path]:
        """The folder is the user's own before anything is in it (mode 0700, and from Python 3.13 on a DACL to
        the same end on Windows).
        """
        folder = _temporary_folder() / f"{_FOLDER}{os.urandom(8).hex()}"
        pair = folder / _PAIR
        try:
            folder.mkdir(mode=0o700)
            pair.touch(mode=0o600)
            pair.write_bytes(content)
            yield pair
        finally:
            _remove(folder)


TEMPORARY = TemporaryKeyFiles()


def _temporary_folder() -> Path:
    """What tempfile would do, which draws in four libraries for compression that nothing here needs."""
    if sys.platform == "win32":
        names, usual = ("TMPDIR", "TEMP", "TMP"), Path(os.environ["SYSTEMROOT"], "Temp")
    else:
        # TEMP names one of the imagined machine's to what a sandbox runs.
        names, usual = ("TMPDIR",), Path("/tmp")  # noqa: S108
    return Path(next(filter(None, map(os.environ.get, names)), usual))


def _remove(folder: Path) -> None:
    """A virus scanner may hold the file: it looks into each new one. What stays fails no request."""
    for pause in _PAUSES:
        if _is_removed(folder):
            return
        time.sleep(pause)


def _is_removed(folder: Path) -> bool:
    try:
        (folder / _PAIR).unlink(missing_ok=True)
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
