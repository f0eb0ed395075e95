"""Run on the node: what plain requests takes to fetch files, and hashlib to hash them then."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import requests

_PIECE = 1 << 20


def main() -> None:
    place, *files = sys.argv[1:]
    begun = time.perf_counter()
    for number, file in enumerate(files):
        with (
            requests.get(f"http://{place}{file}", stream=True, timeout=60) as answer,
            Path(f"C:\\bench\\{number}.bin").open("wb") as written,
        ):
            for piece in answer.iter_content(_PIECE):
                written.write(piece)
    for number, _ in enumerate(files):
        with Path(f"C:\\bench\\{number}.bin").open("rb") as read:
            hashlib.file_digest(read, "sha256").hexdigest()
    sys.stdout.write(f"{time.perf_counter() - begun}")


main()
