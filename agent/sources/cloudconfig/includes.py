"""User data that is elsewhere: named by address, one a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PureWindowsPath
from urllib.parse import unquote

from agent.sources import ignition
from agent.sources.cloudconfig.faults import Origin, Refused
from agent.sources.cloudconfig.parts import Part
from agent.sources.cloudconfig.unpacking import LARGEST
from agent.sources.cloudconfig.written_files import windows_path
from agent.sources.ignition.contents import PLAIN, Unsound
from agent.sources.ignition.obtaining import HEADERS
from agent.sources.windows_paths import NotOnWindows

_WORD = re.compile(r"#include(-once)?[ \t]*", re.IGNORECASE)
_FILE = re.compile(r"file://(?:localhost)?/(?P<path>.*)", re.IGNORECASE)
_HTTP = re.compile(r"https?://\S+", re.IGNORECASE)


class Includes:
    def __init__(self, fetch: ignition.Fetch | None, files: Mapping[PureWindowsPath, bytes]) -> None:
        self._fetch = fetch
        self._files = files
        self.awaited: list[PureWindowsPath] = []
        self.awaited_by = Origin("")

    def of(self, part: Part) -> Iterator[tuple[str, bytes]]:
        """A name for each document, and its bytes. Raises Refused."""
        for number, line in enumerate(part.text.split("\n"), 1):
            found = _WORD.match(line)
            address = (line[found.end() :] if found else line).strip()
            if not address or address.startswith("#"):
                continue
            origin = Origin(part.name, line=number)
            raw = self._document(address, origin)
            if raw is not None:
                # Its address may hold a token.
                yield f"what {part.name} includes in line {number}", raw

    def _document(self, address: str, origin: Origin) -> bytes | None:
        if found := _FILE.fullmatch(address):
            return self._file(found["path"], origin)
        if not _HTTP.fullmatch(address):
            raise Refused(origin, "an address with http, https or file is expected")
        if self._fetch is None:
            raise Refused(origin, "it would have to be fetched, and nothing is fetched here")
        try:
            request = ignition.Request(address, tuple(HEADERS.items()), PLAIN, ignition.Network())
            return b"".join(PLAIN.unpack(self._fetch(request), LARGEST))
        except ignition.FetchFailed as fault:
            is_unserved = not isinstance(fault, ignition.FetchRefused)
            raise Refused(origin, f"it cannot be fetched: {fault}", is_unserved=is_unserved) from None
        except Unsound as fault:
            raise Refused(origin, str(fault)) from None

    def _file(self, address: str, origin: Origin) -> bytes | None:
        path = unquote(address)
        try:
            wanted = windows_path(path if re.match("[A-Za-z]:", path) else f"/{path}")
        except NotOnWindows as fault:
            raise Refused(origin, f"this cannot be a path on Windows: {fault.unquoted}") from None
        if wanted in self._files:
            return self._files[wanted]
        self.awaited.append(wanted)
        self.awaited_by = origin
        return None
