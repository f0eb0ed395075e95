"""The kubelet of a node that follows a ConfigMap, beside a service that the ConfigMap wants."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from cluster.conftest import Figure
from cluster.test_following import HEAD, Follower, follower
from lab.processes import Ends, Process
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from windows.exe import SERVICE

__all__ = ["follower"]

CA = r"C:\etc\kubernetes\pki\ca.crt"
EXPORTER = r"C:\given\exporter.exe"
GO = r"C:\given\go"
STOP_SECONDS = 20.0
"""Its hint is five, which a busy machine stretches; a start without a word is waited for for thirty."""
WANTED = r"""
services:
- name: exporter
  program: C:\given\exporter.exe
  arguments: [--windows-service, --round=%s]
  dependencies: [kubelet]
"""


def test_last_down_first_up_and_not_well_after_a_change(follower: Follower, figure: Figure) -> None:
    """One test for all, since each Ready Node costs half a minute."""
    exporter = StandinKubelet(follower.machine, EXPORTER, address="127.0.0.1:20248")
    follower.follow(start_seconds=10)
    follower.say(HEAD + WANTED % 1)
    follower.comes(lambda: follower.runs("exporter"), "it runs")
    follower.comes(lambda: follower.is_put_by(follower.cluster.ca_certificate), "copies are kept")

    # What the kubelet has read is put right: that takes a restart of it, and of what depends on it.
    ends = Ends([_running(follower, "exporter.exe"), _running(follower, "kubelet.exe")])
    follower.machine.path(CA).write_text("another")
    assert ends.names() == ["exporter.exe", "kubelet.exe"]
    follower.comes(lambda: follower.runs("exporter") and follower.runs("kubelet"), "both run again")
    assert _running(follower, "kubelet.exe").started < _running(follower, "exporter.exe").started

    # All is back after a restart of the machine, without an API server.
    follower.cluster.stop_api_server()
    follower.reboot()
    services = ("kubelet", "exporter", SERVICE)
    seconds = follower.comes(lambda: all(map(follower.runs, services)), "all run again")
    figure("a reboot without an API server, to all services running", seconds)
    follower.machine.path(CA).write_text("another")
    follower.comes(
        lambda: follower.machine.path(CA).read_text() == follower.cluster.ca_certificate, "it is put right"
    )
    follower.cluster.start_api_server()
    follower.wait_until_ready()

    # A change that the kubelet does not bear: it stops to answer while the service starts.
    exporter.behave(start_until=GO)
    follower.say(HEAD + WANTED % 2)
    follower.comes(lambda: "--round=2" in exporter.starts[-1]["arguments"], "the change is begun")
    with _frozen(_running(follower, "kubelet.exe")):
        follower.machine.path(GO).touch()
        follower.comes(lambda: follower.state("failed"), "it is taken back, and told")
    assert "service kubelet is not well any more" in follower.told()["error"]
    follower.comes(lambda: follower.runs("exporter"), "it runs as before")
    assert "--round=1" in exporter.starts[-1]["arguments"]
    follower.wait_until_ready()

    # It is not tried again until the ConfigMap changes, also by a service that was started anew.
    tried = len(exporter.starts)
    follower.machine.stop_service(SERVICE)
    follower.machine.wait_for_service(SERVICE, State.STOPPED)
    follower.machine.start_service(SERVICE)
    follower.say(HEAD + WANTED % 3)
    follower.comes(lambda: "--round=3" in exporter.starts[-1]["arguments"], "another one is made so")
    follower.comes(lambda: follower.state("applied"), "it is told")
    assert len(exporter.starts) == tried + 1

    # Stopped in the middle of a change the service ends within its hint, and goes on when it is started.
    follower.machine.path(GO).unlink()
    exporter.behave(start_until=GO)
    follower.say(HEAD + WANTED % 4)
    follower.comes(lambda: "--round=4" in exporter.starts[-1]["arguments"], "the change is begun")
    follower.machine.stop_service(SERVICE)
    ended = follower.machine.wait_for_service(SERVICE, State.STOPPED, STOP_SECONDS)
    assert ended.exit_code == 0
    follower.machine.path(GO).touch()
    follower.machine.start_service(SERVICE)
    rounds = ["--round=4", "--round=3", "--round=4"]
    follower.comes(
        lambda: [each["arguments"][-1] for each in exporter.starts][-3:] == rounds, "it is made anew"
    )
    follower.comes(lambda: follower.following()["state"] == "applied", "it is made so")
    assert follower.runs("exporter")
    assert follower.runs("kubelet")


def _running(follower: Follower, program: str) -> Process:
    (process,) = follower.machine.processes(program)
    return process


@contextmanager
def _frozen(process: Process) -> Iterator[None]:
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)
