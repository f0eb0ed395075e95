"""iphlpapi.dll with routes and forwarding that can be changed (standins/routes.c); all else is Wine's."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pefile  # type: ignore[import-untyped]

from lab import root, toolchains
from lab.repository import STANDINS

LIBRARY = "iphlpapi.dll"
WINES_OWN = "wineiphlp.dll"

_SOURCE = STANDINS / "routes.c"
_OURS = (
    "CancelMibChangeNotify2",
    "CreateIpForwardEntry2",
    "DeleteIpForwardEntry2",
    "GetIpForwardTable2",
    "GetIpInterfaceEntry",
    "NotifyIpInterfaceChange",
    "NotifyRouteChange2",
    "SetIpInterfaceEntry",
)
_MARK = b"Wine builtin DLL"


def build(into: Path) -> None:
    """It, with all that it does not do itself left to Wine's library beside it."""
    (wines,) = (root.folder() / "usr" / "lib").rglob(f"x86_64-windows/{LIBRARY}")
    # With the mark Wine would look for its own library of that name, which it does not have.
    (into / WINES_OWN).write_bytes(wines.read_bytes().replace(_MARK, bytes(len(_MARK)), 1))
    exported = [
        symbol.name.decode() for symbol in pefile.PE(str(wines)).DIRECTORY_ENTRY_EXPORT.symbols if symbol.name
    ]
    forwarded = [f"-export:{name}={WINES_OWN[:-4]}.{name}" for name in exported if name not in _OURS]
    lines = [*forwarded, *(f"-export:{name}" for name in _OURS)]
    text = "".join(f'__asm__(".section .drectve\\n.ascii \\" {line}\\"\\n.text");\n' for line in lines)
    with tempfile.TemporaryDirectory(prefix="wmcb-lab-") as place:
        forwards = Path(place) / "forwards.c"
        forwards.write_text(text)
        options = ("-shared", "-ladvapi32", "-lws2_32")
        toolchains.compile_c([_SOURCE, forwards], into / LIBRARY, *options)
