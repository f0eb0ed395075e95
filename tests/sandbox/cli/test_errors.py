"""A command that fails, as a program sees it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from agent.cli import failure
from agent.cli.failure import Failure
from sandbox.cli.given import WORKER, Answer, Machine, program
from sandbox.cli.test_bad_input import file, ignition

FIELDS = {"kind", "message", "where", "exit_code", "details", "others"}


def error(answer: Answer) -> dict[str, Any]:
    """What is said on standard output; the same line stands on standard error."""
    document = answer.document
    assert set(document) == {"format", "error"}
    assert document["format"] == 1
    told: dict[str, Any] = document["error"]
    assert set(told) == FIELDS
    assert told["exit_code"] == answer.code
    assert f"wmcb: {told['message']}\n" in answer.err
    return told


class Wrong(NamedTuple):
    name: str
    words: tuple[str, ...]
    kind: str
    where: str | None


WRONG = [
    Wrong("a command unheard of", ("xyzzy",), "usage", None),
    Wrong("an option unheard of", ("plan", "--ignitoin", "x"), "usage", "--ignitoin"),
    Wrong("an option of another command", ("reset", "--node-ip", "x"), "usage", "--node-ip"),
    Wrong("what is needed", ("plan",), "usage", "--ignition"),
    Wrong("a value that cannot be", ("plan", "{node}", "--node-ip", "x"), "usage", "--node-ip"),
    Wrong("a folder without its drive", ("plan", "{node}", "--install-dir", "foo"), "usage", "--install-dir"),
    Wrong("a folder of a drive", ("plan", "{node}", "--install-dir", "D:k"), "usage", "--install-dir"),
    Wrong("what user data needs", ("plan", "{node}", "--metadata", "{text}"), "usage", "--metadata"),
    Wrong("the same of a run", ("{node}", "--metadata", "{text}"), "usage", "--metadata"),
    Wrong("the same of a check", ("preflight", "--metadata", "{text}"), "usage", "--metadata"),
    Wrong("a check of user data", ("preflight", "--user-data", "{text}"), "usage", "--user-data"),
    Wrong("a check that there is not", ("plan", "--ignore-preflight-errors=x"), "usage",
          "--ignore-preflight-errors"),
    Wrong("a program that is none", ("plan", "--ignition", "{text}", "--kubelet", "{text}"), "input",
          "--kubelet"),
    Wrong("a document that is none", ("plan", "--ignition", "{text}", "{kubelet}"), "input",
          "{text} line 1, column 1"),
    Wrong("an unfit machine", ("{node}", "--runtime-service=other"), "refused", "containerd-service"),
]  # fmt: skip


@pytest.mark.parametrize("form", [("--output", "json"), ("--output=json",)], ids=" ".join)
@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_an_error_says_what_is_wrong_and_where(case: Wrong, form: tuple[str, ...], machine: Machine) -> None:
    text = machine.give("text", "text")
    kubelet = machine.node[2:]
    words: list[str] = []
    for word in case.words:
        many = {"{node}": machine.node, "{kubelet}": kubelet}.get(word)
        words += many or [word.format(text=text)]
    told = error(machine.wmcb(*words, *form))
    assert (told["kind"], told["where"]) == (case.kind, case.where and case.where.format(text=text))


def test_what_else_is_wrong_is_told_too(machine: Machine) -> None:
    document = machine.give(
        "worker.ign", ignition(file("etc/x", source="data:,"), file(source="data:;base64,#"))
    )
    answer = machine.wmcb("plan", "--ignition", document, *machine.node[2:], "--output=json")
    told = error(answer)
    assert told["where"].endswith(" at $.storage.files.1.contents.source")
    (other,) = told["others"]
    assert set(other) == {"message", "where"}
    assert other["where"].endswith(" at $.storage.files.0.path")
    assert f"{other['message']}\n" in answer.err


def test_the_last_lines_of_a_log_are_apart_from_the_message(machine: Machine) -> None:
    machine.host.services.start("containerd")
    machine.give("given/kube-log-runner.exe", program())
    machine.put(r"C:\var\log\kubelet\kubelet.log", b"I0101 no route to host\n")
    machine.facts(answers={"10248": 500})
    answer = machine.wmcb(*machine.node, "--start-timeout=1", "--output=json")
    told = error_with_details(answer)
    assert told["kind"] == "failed"
    assert told["message"].endswith("; the machine is as it was before")
    assert told["details"] == ["I0101 no route to host"]


def error_with_details(answer: Answer) -> dict[str, Any]:
    told = error(answer)
    assert [line.strip() for line in answer.error_lines[-len(told["details"]) :]] == told["details"]
    return told


def test_a_fault_of_ours_is_no_failure_of_the_callers(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.resources.service._start", lambda *_: 1 / 0)
    told = error(machine.wmcb(*machine.node, "--output=json"))
    assert told["kind"] == "unexpected"
    assert "division by zero" in told["message"]


def test_an_interruption_is_told_as_one(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agent.resources.service._start", interrupt)
    assert error(machine.wmcb(*machine.node, "--output=json"))["kind"] == "interrupted"
    monkeypatch.setattr("agent.cli.wanted.asked_for", interrupt)
    assert error(machine.wmcb(*machine.node, "--output=json"))["kind"] == "interrupted"


def test_whoever_asks_for_text_gets_no_document(machine: Machine) -> None:
    for words in (("--output=text",), ()):
        assert machine.wmcb("plan", "--ignition", str(WORKER), *words).out == ""


def test_every_kind_means_one_exit_code() -> None:
    def kinds(of: type[Failure]) -> list[tuple[str, int]]:
        return [(of.kind, of.exit_code), *(each for below in of.__subclasses__() for each in kinds(below))]

    assert sorted(kinds(failure.Failure)) == [
        ("failed", 1), ("input", 2), ("interrupted", 1), ("refused", 3), ("unexpected", 1), ("usage", 2)
    ]  # fmt: skip
