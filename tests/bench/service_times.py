"""Run on the node: how long a service takes from the call to start it to RUNNING, from stop to STOPPED.

Asks the SCM without a pause, which no product does: here nothing but the time counts.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import win32service as scm

STOPPED, RUNNING = 1, 4


def until(service: Any, state: int) -> None:
    deadline = time.perf_counter() + 30
    while scm.QueryServiceStatus(service)[1] != state:
        if time.perf_counter() > deadline:
            sys.exit(f"not {state} within 30 s")


def main() -> None:
    name, rounds = sys.argv[1], int(sys.argv[2])
    manager = scm.OpenSCManager(None, None, scm.SC_MANAGER_CONNECT)
    service = scm.OpenService(manager, name, scm.SERVICE_ALL_ACCESS)
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        scm.StartService(service, None)
        until(service, RUNNING)
        running = time.perf_counter()
        scm.ControlService(service, scm.SERVICE_CONTROL_STOP)
        until(service, STOPPED)
        times.append((running - begun, time.perf_counter() - running))
    sys.stdout.write(json.dumps(times))


main()
