"""An Ignition of 500 files and 50 MB: how long, and how much memory. Figures for reading, never a test.

Each command is a process of its own, as a user starts it; the floor is the same process doing nothing.
"""

from __future__ import annotations

import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sandbox.demo import program

FILES = 500
MEGABYTES = 50
ROUNDS = 5

_UNIT = """\
[Service]
ExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --kubeconfig=/var/lib/kubelet/kubeconfig
"""
_COMMAND = "from agent.cli.main import console; console()"


def document() -> bytes:
    """Base64 makes four bytes of three: the whole is MEGABYTES."""
    size = MEGABYTES * 1_000_000 * 3 // 4 // FILES
    files = [
        {
            "path": f"/etc/kubernetes/many/{number}.json",
            "contents": {"source": f"data:;base64,{base64.b64encode(os.urandom(size)).decode()}"},
        }
        for number in range(FILES)
    ]
    unit = {"name": "kubelet.service", "contents": _UNIT}
    whole = {"ignition": {"version": "3.2.0"}, "storage": {"files": files}, "systemd": {"units": [unit]}}
    return json.dumps(whole).encode()


def timed(arguments: list[str]) -> tuple[float, int]:
    """Seconds, and the most memory that it held, in bytes."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(arguments[:3])} ended with {process.returncode}: {said.decode()}")
    return time.perf_counter() - began, used.ru_maxrss * 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ignition, kubelet, machine = (Path(folder) / name for name in ("worker.ign", "kubelet.exe", "c"))
        # By another process: what this one holds when it starts a command would count as that one's.
        subprocess.run([sys.executable, __file__, str(ignition)], check=True)
        kubelet.write_bytes(program())
        node = ["--ignition", str(ignition), "--kubelet", str(kubelet), "--kubelet-version", "1.36"]
        wanted = ["--sandbox", str(machine), *node, "--runtime-service", "none"]
        timed(wanted)
        commands = {
            "version": ["version"],
            "plan of a bare machine": ["plan", *node],
            "the same again, on a node": wanted,
        }
        taken = {what: [timed(arguments) for _ in range(ROUNDS)] for what, arguments in commands.items()}
    floor = statistics.median(seconds for seconds, _ in taken["version"])
    size = MEGABYTES * 1_000_000
    sys.stdout.write(
        f"{FILES} files, {MEGABYTES} MB           median   above version   memory   to its size\n"
    )
    for what, figures in taken.items():
        seconds = statistics.median(each for each, _ in figures)
        memory = max(each for _, each in figures)
        above, times = seconds - floor, memory / size
        sys.stdout.write(f"{what:26} {seconds:6.3f} s {above:13.3f} s {memory / 1e6:5.0f} MB {times:11.1f}\n")
    sys.stdout.write("goals: plan 1 s and 3 times its size; again 0.3 s\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_bytes(document())
    else:
        main()
