from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from agent.host.errors import HostError, ServiceFailed, TimedOut
from agent.host.services import ServiceState, ServiceStatus
from agent.host.waiting import FIRST_WORD_SECONDS, wait_for

RUNNING, STOPPED, PAUSED = ServiceState.RUNNING, ServiceState.STOPPED, ServiceState.PAUSED
STARTING, STOPPING = ServiceState.START_PENDING, ServiceState.STOP_PENDING


def status(
    state: ServiceState,
    *,
    pid: int | None = 7,
    code: int = 0,
    own: int = 0,
    checkpoint: int = 0,
    hint: int = 0,
) -> ServiceStatus:
    return ServiceStatus(state, None if state is STOPPED else pid, code, own, checkpoint, hint)


@dataclass
class Scripted:
    """A service whose life is a script: from each time on its status. It is its own clock."""

    script: dict[float, ServiceStatus]
    ends: dict[int, tuple[float, int]] = field(default_factory=dict)
    """Process id to when it ends and with what exit code."""
    time: float = 0.0

    def now(self) -> float:
        return self.time

    monotonic = now

    def boot(self) -> int:
        return 1

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"slept {seconds} s where notifications are to be waited for")

    def status(self) -> ServiceStatus:
        return [status for since, status in self.script.items() if since <= self.time][-1]

    def ended(self, pid: int) -> int | None:
        end, code = self.ends.get(pid, (float("inf"), 0))
        return code if end <= self.time else None

    def wait(self, seconds: float) -> None:
        assert seconds > 0
        moments = [*self.script, *(end for end, _ in self.ends.values()), self.time + seconds]
        self.time = min(moment for moment in moments if moment > self.time)


@pytest.mark.parametrize(
    ("service", "wanted", "after"),
    [
        pytest.param(Scripted({0: status(RUNNING)}), RUNNING, 0, id="there-already"),
        pytest.param(
            Scripted({0: status(STARTING, hint=2000), 5: status(RUNNING)}), RUNNING, 5, id="slow-first-word"
        ),
        pytest.param(
            Scripted(
                {0: status(STARTING, checkpoint=1, hint=3000)}
                | {2.0 * n: status(STARTING, checkpoint=n + 1, hint=3000) for n in range(1, 9)}
                | {18: status(RUNNING)}
            ),
            RUNNING,
            18,
            id="slow-but-reporting",
        ),
        pytest.param(Scripted({0: status(STOPPED), 0.5: status(STOPPED)}), STOPPED, 0, id="stopped-already"),
        pytest.param(Scripted({0: status(STOPPING, hint=9000), 4: status(STOPPED)}), STOPPED, 4, id="stops"),
        pytest.param(
            Scripted({0: status(STOPPING, hint=9000)}, {7: (2, 0)}),
            STOPPED,
            2,
            id="process-gone-while-stop-pending",
        ),
        pytest.param(
            Scripted({0: status(STOPPING, pid=None)}), STOPPED, 0, id="stop-pending-without-a-process"
        ),
        pytest.param(
            Scripted({0: status(RUNNING), 4: status(STOPPED)}, {7: (3, 1)}),
            STOPPED,
            4,
            id="killed-while-stop-was-wanted",
        ),
        pytest.param(
            Scripted({0: status(RUNNING), 4: status(STARTING, pid=8)}, {7: (3, 1)}),
            STOPPED,
            4,
            id="killed-and-restarted-by-the-scm",
        ),
        pytest.param(
            Scripted({0: status(RUNNING)}, {7: (3, 1)}), STOPPED, 13, id="killed-and-never-seen-by-the-scm"
        ),
        pytest.param(
            Scripted({0: status(RUNNING)}, {7: (25, 1)}),
            STOPPED,
            30,
            id="killed-and-not-seen-within-the-limit",
        ),
        pytest.param(
            Scripted({0: status(STARTING, checkpoint=1, hint=2000), 5: status(STOPPED)}, {7: (1, 1)}),
            STOPPED,
            5,
            id="killed-as-it-started-and-seen-after-its-hint",
        ),
        pytest.param(
            Scripted({0: status(STARTING, pid=7), 3: status(RUNNING, pid=8)}, {7: (3, 1)}),
            RUNNING,
            3,
            id="restarted-by-the-scm-meanwhile",
        ),
        pytest.param(Scripted({0: status(RUNNING), 3: status(PAUSED)}), PAUSED, 3, id="paused"),
    ],
)
def test_comes_to_the_wanted_state(service: Scripted, wanted: ServiceState, after: float) -> None:
    assert wait_for(service, service, "kubelet", wanted, 30).state is wanted
    assert service.time == after


class Untold(Scripted):
    """The SCM's notifications stay away."""

    def wait(self, seconds: float) -> None:
        self.time += seconds


def test_what_nobody_tells_of_is_seen_all_the_same() -> None:
    service = Untold({0: status(STARTING), 0.5: status(RUNNING)})
    assert wait_for(service, service, "kubelet", RUNNING, 60).state is RUNNING
    assert service.time <= 5


@pytest.mark.parametrize(
    ("service", "wanted", "after", "error", "code", "says"),
    [
        pytest.param(
            Scripted({0: status(STARTING), 1: status(STOPPED, code=13)}),
            RUNNING,
            1,
            ServiceFailed,
            13,
            "the service stopped (Windows error 13)",
            id="stopped-with-an-exit-code",
        ),
        pytest.param(
            Scripted({0: status(STARTING), 1: status(STOPPED, code=1066, own=3)}),
            RUNNING,
            1,
            ServiceFailed,
            1066,
            "the service stopped (Windows error 1066); its own exit code 3",
            id="stopped-with-a-code-of-its-own",
        ),
        pytest.param(
            Scripted({0: status(STOPPED, code=1077)}),
            RUNNING,
            0,
            ServiceFailed,
            1077,
            "the service stopped (Windows error 1077)",
            id="never-started",
        ),
        pytest.param(
            Scripted({0: status(STARTING)}, {7: (2, 9)}),
            RUNNING,
            2,
            ServiceFailed,
            1067,
            "its process ended with exit code 9",
            id="process-gone-while-starting",
        ),
        pytest.param(
            Scripted({0: status(STOPPING)}, {7: (2, 0)}),
            RUNNING,
            2,
            ServiceFailed,
            1067,
            "its process ended with exit code 0",
            id="process-gone-while-stopping",
        ),
        pytest.param(
            Scripted({0: status(STARTING), 2: status(STOPPED, code=5)}, {7: (2, 1)}),
            RUNNING,
            2,
            ServiceFailed,
            5,
            "the service stopped (Windows error 5)",
            id="last-word-and-end-at-once",
        ),
        pytest.param(
            Scripted({0: status(PAUSED)}),
            RUNNING,
            30,
            TimedOut,
            1460,
            "its state is PAUSED",
            id="paused-for-ever",
        ),
        pytest.param(
            Scripted({0: status(RUNNING)}),
            STOPPED,
            30,
            TimedOut,
            1460,
            "its state is RUNNING",
            id="does-not-stop",
        ),
        pytest.param(
            Scripted({0: status(STOPPING, hint=4000)}),
            STOPPED,
            4,
            TimedOut,
            1460,
            "its state is STOP_PENDING",
            id="checkpoint-stands-still",
        ),
        pytest.param(
            Scripted(
                {0: status(STARTING, checkpoint=1, hint=4000), 3: status(STARTING, checkpoint=2, hint=4000)}
            ),
            RUNNING,
            7,
            TimedOut,
            1460,
            "START_PENDING",
            id="second-checkpoint-stands-still",
        ),
        pytest.param(
            Scripted({0: status(STARTING, hint=60_000)}),
            RUNNING,
            30,
            TimedOut,
            1460,
            "START_PENDING",
            id="the-limit-is-shorter-than-the-hint",
        ),
    ],
)
def test_gives_up(
    service: Scripted, wanted: ServiceState, after: float, error: type[HostError], code: int, says: str
) -> None:
    with pytest.raises(error) as failure:
        wait_for(service, service, "kubelet", wanted, 30)
    assert service.time == after
    assert failure.value.code == code
    assert f"service kubelet to {wanted.name}" in str(failure.value)
    assert says in str(failure.value)


def test_a_process_that_never_reports_is_given_what_the_scm_gives_it() -> None:
    service = Scripted({0: status(STARTING, hint=2000)})
    with pytest.raises(TimedOut):
        wait_for(service, service, "kubelet", RUNNING, 600)
    assert service.time == FIRST_WORD_SECONDS


def test_an_exit_code_is_kept_where_a_stop_was_wanted() -> None:
    service = Scripted({0: status(STOPPING), 1: status(STOPPED, code=1066, own=4)})
    assert wait_for(service, service, "kubelet", STOPPED, 30) == status(STOPPED, code=1066, own=4)


@pytest.mark.parametrize("process_exit", [0, 1])
def test_a_process_that_ended_without_a_last_word_counts_as_stopped(process_exit: int) -> None:
    service = Scripted({0: status(STOPPING)}, {7: (1, process_exit)})
    assert wait_for(service, service, "kubelet", STOPPED, 30) == status(STOPPED, code=1067)
