"""How long a Node that the service keeps is NotReady after each fault, measured and printed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from cluster.test_join import JOIN, Joiner
from lab.cluster.cluster import Cluster
from lab.cluster.runtime import ContainerRuntime
from lab.node import Node
from lab.waiting import until
from windows.exe import SERVICE
from windows.test_daemon_keeping import DISABLE

Figure = Callable[[str, float], None]

JOIN_CONFIGURATION = r"C:\given\join.yaml"
PATIENT_SECONDS = 10
"""What the kubelet is given to be well, after which it hangs; a minute where nobody says."""
LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"


class Kept(Joiner):
    def keep(self) -> None:
        """A Ready Node, and all that the service does first is done."""
        how = self.by_file()
        timeouts = f"timeouts: {{{{kubeletHealthCheck: {PATIENT_SECONDS}s}}}}\n"
        self.machine.path(JOIN_CONFIGURATION).write_text(self.join_configuration(JOIN + timeouts))
        done = self.wmcb(*how)
        assert done.code == 0, done.err
        self.wait_until_ready()
        assert self.wmcb("daemon", "install").code == 0
        self.machine.start_service(SERVICE)
        until(lambda: "keeping kubelet" in self.log(), "it is kept")

    def log(self) -> str:
        log = self.machine.path(LOG)
        return log.read_text() if log.exists() else ""

    def pids(self) -> set[int]:
        return {process.pid for process in self.machine.processes("kubelet.exe")}

    def another(self, former: set[int], seconds: float = 60.0) -> None:
        until(lambda: self.pids() - former, "there is another kubelet", seconds, self.log)

    @contextmanager
    def fault(self, what: str, figure: Figure) -> Iterator[None]:
        """From a fault until the Node has been Ready for some seconds: for how long it was not."""
        self._started = datetime.now(UTC)  # what was heard before counts for nothing
        over, begun = threading.Event(), time.monotonic()
        not_ready, last = 0.0, begun

        def look() -> None:
            nonlocal not_ready, last
            while not over.wait(0.1):
                ready, now = self.cluster.is_ready(self.name), time.monotonic()
                if not ready:
                    not_ready += now - last
                last = now

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            yield
            self.wait_until_ready()
            figure(f"{what}: until its kubelet is heard and the Node Ready again", time.monotonic() - begun)
        finally:
            over.set()
            watcher.join()
        figure(f"{what}: the Node was NotReady for", not_ready)


@pytest.fixture
def kept(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Kept:
    made = Kept(cluster, container_runtime, node)
    made.install()
    made.keep()
    return made


def test_a_kubelet_that_is_killed_reconfigured_or_hangs(kept: Kept, figure: Figure) -> None:
    killed = kept.pids()
    with kept.fault("kubelet killed", figure):
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        kept.another(killed)

    settings, former = kept.machine.service_settings("kubelet"), kept.pids()
    with kept.fault("kubelet reconfigured", figure):
        done = kept.machine.python("-c", DISABLE)
        assert done.code == 0, done.err
        until(lambda: kept.machine.service_settings("kubelet") == settings, "it is as it was", 60, kept.log)
        kept.another(former)

    # Until then it is waited for to be well, and not judged.
    until(lambda: "put right" in kept.log(), "that is done", 60, kept.log)
    hung = kept.pids()
    with kept.fault(f"kubelet hung, with a limit of {PATIENT_SECONDS} s", figure):
        for pid in hung:
            os.kill(pid, signal.SIGSTOP)
        kept.another(hung)
    lack = "service kubelet was restarted: http://127.0.0.1:10248/healthz has not answered"
    until(lambda: lack in kept.log(), "it is told", explain=kept.log)


def test_a_runtime_that_is_down_and_a_reboot(kept: Kept, figure: Figure) -> None:
    with kept.fault("runtime down, and up as soon as that shows", figure), kept.runtime.down():
        kept.wait_until_not_ready()
    with kept.fault("reboot", figure):
        kept.reboot()
    until(lambda: kept.log().count("keeping kubelet") == 2, "it is kept as before", 60, kept.log)
