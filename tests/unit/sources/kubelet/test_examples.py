from __future__ import annotations

import pytest

from agent.sources.kubelet.decisions import Outcome
from unit.sources.kubelet.worked_examples import expected, names, shown, translate


def test_there_are_examples() -> None:
    assert len(names()) >= 7


@pytest.mark.parametrize("name", names())
def test_worked_example(name: str) -> None:
    assert shown(translate(name)) == expected(name)


@pytest.mark.parametrize("name", names())
def test_for_another_release_nothing_is_passed_on_that_it_refuses(name: str) -> None:
    made = translate(name, "v1.36.3")
    assert not made.report.fatal
    gone = ("--container-runtime=", "--allow-privileged", "--cloud-config", "--pod-infra-container-image")
    assert not [word for word in made.arguments if word.startswith(gone)]


@pytest.mark.parametrize("name", names())
def test_each_decision_has_a_reason(name: str) -> None:
    for decision in translate(name).decisions:
        assert decision.reason
        if decision.outcome is Outcome.CHANGED:
            assert decision.before != decision.after


def test_the_same_bytes_again() -> None:
    assert dict(translate("newest-none").files) == dict(translate("newest-none").files)
