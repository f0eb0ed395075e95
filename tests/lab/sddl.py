"""A second opinion about SDDL: Samba's parser, which has nothing in common with Wine's or with ours."""

from __future__ import annotations

import json
import subprocess

from lab import wine
from lab.trace import Entry

# For domain-relative abbreviations, which the product has no use for.
_DOMAIN = "S-1-5-21-1-2-3"
_TYPES = {0: "ACCESS_ALLOWED", 1: "ACCESS_DENIED"}
_PROTECTED = 0x1000

_SCRIPT = f"""
import json, sys
from samba.dcerpc import security
read = security.descriptor.from_sddl(sys.argv[1], security.dom_sid("{_DOMAIN}"))
entries = [[int(a.type), int(a.flags), a.access_mask, str(a.trustee)] for a in read.dacl.aces]
json.dump([read.owner_sid and str(read.owner_sid), read.type, entries], sys.stdout)
"""


def read_by_samba(sddl: str) -> tuple[str | None, bool, tuple[Entry, ...]]:
    """Owner, whether protected, and the entries, to compare with `trace.Descriptor.contents`."""
    command = ["chroot", str(wine.root()), "python3", "-c", _SCRIPT, sddl]
    printed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    owner, control, entries = json.loads(printed)
    read = tuple(Entry(_TYPES[kind], flags, mask, sid) for kind, flags, mask, sid in entries)
    return owner, bool(control & _PROTECTED), read
