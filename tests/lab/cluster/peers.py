"""Which program is at the other end of a connection on this machine, out of /proc."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from pathlib import Path

UNKNOWN = "unknown"

# Wine's server holds every socket of the programs that it serves, beside them.
_HOLDS_FOR_OTHERS = "wineserver"


def program_at(peer: tuple[str, int], own: tuple[str, int]) -> str:
    """The name of the program whose socket is `peer`, connected to our `own`: kubelet.exe, say."""
    inode = _inode_of(_hexadecimal(peer), _hexadecimal(own))
    if inode is None:
        return UNKNOWN
    holders = [name for name in map(_program, _holders(inode)) if not name.startswith(_HOLDS_FOR_OTHERS)]
    return holders[0] if holders else UNKNOWN


def _hexadecimal(address: tuple[str, int]) -> str:
    """An address as /proc/net/tcp writes it: the four bytes as one number of this machine, which is an
    Intel.
    """
    host, port = address
    return f"{socket.inet_aton(host)[::-1].hex().upper()}:{port:04X}"


def _inode_of(local: str, remote: str) -> str | None:
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == local and fields[2] == remote:
            return fields[9]
    return None


def _holders(inode: str) -> list[int]:
    return [
        int(process.name) for process in Path("/proc").glob("[0-9]*") if _holds(process, f"socket:[{inode}]")
    ]


def _holds(process: Path, wanted: str) -> bool:
    with suppress(OSError):  # it has ended meanwhile
        for entry in (process / "fd").iterdir():
            with suppress(OSError):
                if str(entry.readlink()) == wanted:
                    return True
    return False


def _program(pid: int) -> str:
    """The last part of the path that it was started by, Unix' or Windows'."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
    except OSError:
        return UNKNOWN
    return re.split(r"[\\/]", command)[-1] or UNKNOWN
