"""Run on the node: what Python's http.client takes to fetch files, and hashlib to hash them then."""

from __future__ import annotations

import hashlib
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

_PIECE = 1 << 20


def main() -> None:
    place, *files = sys.argv[1:]
    begun = time.perf_counter()
    for number, file in enumerate(files):
        connection = HTTPConnection(place)
        connection.request("GET", file)
        answer = connection.getresponse()
        with Path(f"C:\\bench\\{number}.bin").open("wb") as written:
            while piece := answer.read(_PIECE):
                written.write(piece)
        connection.close()
    for number, _ in enumerate(files):
        digest = hashlib.sha256()
        with Path(f"C:\\bench\\{number}.bin").open("rb") as read:
            while piece := read.read(_PIECE):
                digest.update(piece)
        digest.hexdigest()
    sys.stdout.write(f"{time.perf_counter() - begun}")


main()
