"""300 MB of artifacts from loopback over TLS, beside what curl and sha256sum take. Figures, never a test.

Each is a process of its own. What making the node itself takes is taken off; the machine is a folder.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.large_ignition import timed
from sandbox.demo import program
from unit.fetch.authority import issue, serving

FILES = 3
MEGABYTES = 100
"""Of each."""
ROUNDS = 5
GOAL = 1.5

_PIECE = 1 << 20
_SPARE = [os.urandom(_PIECE) for _ in range(8)]


def content(number: int) -> list[bytes]:
    """Of which nothing repeats in what TLS, a disk or a hash could make use of."""
    return [_SPARE[(number + at) % len(_SPARE)] for at in range(MEGABYTES * 1_000_000 // _PIECE)]


def served(context: ssl.SSLContext) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            pieces = content(int(self.path[1:]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(pieces) * _PIECE))
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)

        def log_message(self, *_: object) -> None:
            """Nothing is said."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def by_curl(urls: Sequence[str], root: Path, folder: Path) -> float:
    began = time.perf_counter()
    places = [str(folder / f"{number}") for number in range(len(urls))]
    named = [word for url, place in zip(urls, places, strict=True) for word in (url, "-o", place)]
    subprocess.run(["curl", "--silent", "--fail", "--cacert", str(root), *named], check=True)
    subprocess.run(["sha256sum", *places], check=True, stdout=subprocess.DEVNULL)
    taken = time.perf_counter() - began
    for place in places:
        Path(place).unlink()
    return taken


def document(urls: Sequence[str]) -> str:
    lines = ["apiVersion: wmcb.internal/v1beta1", "kind: NodeConfiguration", "artifacts:"]
    for number, url in enumerate(urls):
        # What this process holds when it starts a command would count as that one's.
        hashing = hashlib.sha256()
        for piece in content(number):
            hashing.update(piece)
        digest = hashing.hexdigest()
        lines.append(
            f"- {{name: '{number}', source: '{url}', sha256: {digest}, path: 'C:\\tools\\{number}.exe'}}"
        )
    return "\n".join(lines)


def measured(folder: Path, urls: Sequence[str], root: Path) -> None:
    os.environ["SSL_CERT_FILE"] = str(root)
    kubelet, configuration = folder / "kubelet.exe", folder / "node.yaml"
    kubelet.write_bytes(program())
    configuration.write_text(document(urls))
    ignition = Path(__file__).parents[1] / "data" / "ignition" / "worker-3.4.ign"
    node = ["--ignition", str(ignition), "--kubelet", str(kubelet), "--kubelet-version", "1.36"]
    curls, alone, together, again = [], [], [], []
    for number in range(ROUNDS):
        machine = ["--sandbox", str(folder / f"c{number}"), *node, "--runtime-service", "none"]
        wanted = [*machine, "--node-config", str(configuration)]
        curls.append(by_curl(urls, root, folder))
        bare = ["--sandbox", str(folder / f"bare{number}"), *machine[2:]]
        alone.append(timed(bare))
        together.append(timed(wanted))
        again.append(timed(wanted))
    floor, base = min(curls), min(seconds for seconds, _ in alone)
    taken = min(seconds for seconds, _ in together) - base
    most = max(memory for _, memory in together)
    second = min(seconds for seconds, _ in again) - base
    size = f"{FILES} artifacts of {MEGABYTES} MB"
    sys.stdout.write(
        f"{size:30} least    to curl   memory\n"
        f"{'curl and sha256sum':26} {floor:8.3f} s {1:9.2f}\n"
        f"{'fetched, proven, placed':26} {taken:8.3f} s {taken / floor:9.2f} {most / 1e6:5.0f} MB\n"
        f"{'again, nothing to do':26} {second:8.3f} s {second / floor:9.2f}\n"
        f"goal: {GOAL:g}; memory without them {max(memory for _, memory in alone) / 1e6:.0f} MB\n"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = issue("bench", authority=True)
        root = folder / "root.pem"
        root.write_bytes(authority.pem)
        server = served(serving(folder, issue("server", authority)))
        urls = [f"https://127.0.0.1:{server.server_address[1]}/{number}" for number in range(FILES)]
        measured(folder, urls, root)


if __name__ == "__main__":
    main()
