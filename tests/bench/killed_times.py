"""Run on the node: how long a service takes to run again once its program was ended as hard as can be.

Asks the SCM without a pause, which no product does: here nothing but the time counts.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import psutil
import win32service as scm

RUNNING = 4


def main() -> None:
    name, program = sys.argv[1:]
    manager = scm.OpenSCManager(None, None, scm.SC_MANAGER_CONNECT)
    service = scm.OpenService(manager, name, scm.SERVICE_QUERY_STATUS)
    status: Any = scm.QueryServiceStatusEx(service)
    former = status["ProcessId"]
    (process,) = [each for each in psutil.process_iter(["name"]) if each.info["name"] == program]
    begun = time.perf_counter()
    process.kill()
    while True:
        status = scm.QueryServiceStatusEx(service)
        if status["CurrentState"] == RUNNING and status["ProcessId"] not in (0, former):
            break
        if time.perf_counter() - begun > 30:
            sys.exit(f"{name} was not started within 30 s")
    sys.stdout.write(json.dumps(time.perf_counter() - begun))


main()
