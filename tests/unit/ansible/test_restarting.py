"""A restart is waited for from afar: first until the machine does not answer, then until it does."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.wmcb.windows.plugins.module_utils import restarting
from ansible_collections.wmcb.windows.plugins.module_utils.machine import Machine, Unfit

ANSWER = {"rc": 0, "stdout": "", "stderr": ""}


class Connection:
    """Answers one after the other; an empty one is none at all. The last one is given again and again."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = list(answers)
        self.lines: list[str] = []

    def reset(self) -> None: ...

    def execute(self, line: str, *, sudoable: bool) -> dict[str, Any]:
        assert not sudoable
        self.lines.append(line)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not answer:
            raise AnsibleConnectionFailure("no way there")
        return answer


def restart(monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any]) -> Connection:
    monkeypatch.setattr(restarting, "_PAUSE", 0.001)
    connection = Connection(*answers)
    transport: Any = connection
    restarting.restart(Machine(transport, transport.execute, "cmd"), 0.2)
    return connection


def test_until_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = restart(monkeypatch, ANSWER, ANSWER, {}, {}, ANSWER)
    assert connection.lines[0].startswith('"shutdown.exe" "/r"')
    assert len(connection.lines) == 5


def test_one_that_is_quicker_than_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(restart(monkeypatch, {}, {}, ANSWER).lines) == 3


TROUBLE = {
    "it may not be restarted": (
        [{"rc": 5, "stdout": "", "stderr": "Access is denied.\n"}],
        "Access is denied",
    ),
    "it goes on": ([ANSWER], "was to restart, and goes on"),
    "it does not come back": ([ANSWER, {}], "does not come back"),
}


@pytest.mark.parametrize(("answers", "told"), TROUBLE.values(), ids=TROUBLE)
def test_trouble(answers: list[dict[str, Any]], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unfit, match=told):
        restart(monkeypatch, *answers)
