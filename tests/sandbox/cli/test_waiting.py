"""What preflight waits for, and what not."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from agent.host.port import Host
from agent.host.sandbox import open_sandbox
from agent.host.services import ServiceState, ServiceStatus
from agent.preflight.checks import PIPE_CHECK, containerd_pipe
from agent.preflight.situation import Situation, Verdict
from sandbox.engine.world import changed


class Waited(Exception):
    pass


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Its containerd runs, and serves no pipe."""

    def wait(seconds: float) -> NoReturn:
        raise Waited(seconds)

    services: dict[str, Any] = {
        "read": lambda name: name,
        "status": lambda _: ServiceStatus(ServiceState.RUNNING, 42, 0, 0, 0, 0),
    }
    facts: dict[str, Any] = {"pipe_exists": lambda _: False}
    return changed(open_sandbox(tmp_path), services=services, facts=facts, clock={"sleep": wait})


def test_a_pipe_is_waited_for(host: Host) -> None:
    with pytest.raises(Waited):
        containerd_pipe(Situation(host, None, "containerd"))


def test_not_for_a_look(host: Host) -> None:
    verdict, _ = containerd_pipe(Situation(host, None, "containerd", patient=False))
    assert verdict is Verdict.ERROR


def test_not_if_nobody_heeds_that_check(host: Host) -> None:
    verdict, _ = containerd_pipe(Situation(host, None, "containerd", ignored={PIPE_CHECK}))
    assert verdict is Verdict.ERROR
