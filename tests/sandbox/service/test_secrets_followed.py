"""A secret in a wrong place of a followed ConfigMap: no Event, no annotation and no log has it."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from agent.cli.run_log import EventId, RunLog
from agent.engine.state_folder import StateFolder
from agent.host.port import EventLevel, Host
from agent.redaction import register
from sandbox.service.follower import Follower
from service import metrics, standing
from service.reporting import Report
from service.standing import Standing, State
from service.telling import Event, Telling

SECRET = "Geheim017wort"  # noqa: S105 - planted

WRONG = {
    "a field without the blank": "{{token:{secret}: 1}}",
    "a value that became a key": "services: [{{name: x, program: 'C:\\x.exe', value:{secret}, y: 1}}]",
    "a variable without the blank": (
        "services: [{{name: x, program: 'C:\\x.exe', environment: {{PASSWORD:{secret}, A: b}}}}]"
    ),
    "a token for a name": "services: [{{name: abcdef.0123{secret}, program: x}}]",
    "a URL for a path": "files: [{{path: 'https://me:{secret}@h/', text: x}}]",
}


@pytest.fixture
def follower(tmp_path: pathlib.Path, host: Host) -> Follower:
    return Follower(tmp_path, host)


@pytest.mark.parametrize("document", WRONG.values(), ids=WRONG)
def test_what_is_refused_is_told_without_it(
    follower: Follower, tmp_path: pathlib.Path, document: str
) -> None:
    secret = SECRET if "0123{" not in document else "geheim017wor"
    follower.make_node()
    follower.wants(document.format(secret=secret))
    follower.pass_time(1)
    assert follower.standing.state is State.REFUSED, follower.standing
    told = {
        "log": "\n".join(follower.log),
        "events": (tmp_path / ".sandbox" / "events.jsonl").read_text(),
        "standing": follower.host.files.read(StateFolder.of(follower.host).following).decode(),
        "annotations": str([report.annotations() for report in follower.reports.reports]),
    }
    assert [name for name, text in told.items() if secret in text] == []
    assert "refused" in told["annotations"]


WRITERS: dict[str, Callable[[Host, str], object]] = {
    "the log": lambda host, text: RunLog(host).write(text),
    "an event of a run": lambda host, text: RunLog(host).event(EventLevel.ERROR, EventId.FAILED, text),
    "an event of the service": lambda host, text: Telling(host, RunLog(host).write).tell(Event.TROUBLE, text),
    "what became of the ConfigMap": lambda host, text: standing.write(
        host,
        Standing(
            "nodes/windows",
            State.FAILED,
            error=text,
            unheard=text,
            failed_by=text,
            paused_by_node=text,
            paused_by_document=text,
        ),
    ),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_no_writer_writes_a_registered_secret(
    host: Host, tmp_path: pathlib.Path, write: Callable[[Host, str], object]
) -> None:
    StateFolder.of(host).ensure()
    register(SECRET)
    write(host, f"cannot fetch it: {SECRET} is wrong")
    texts = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if SECRET.encode() in text] == []
    assert [path for path, text in texts.items() if b"*** is wrong" in text] != []


def test_a_secret_changes_nothing_that_is_read_back(host: Host) -> None:
    """What a program decides by: a ConfigMap that is not recognized is followed as one never seen."""
    kept = Standing(
        "kube-system/windows-nodes",
        State.APPLIED,
        applied="windows-nodes",
        version="windows-nodes",
        documents=("windows-nodes",),
        failed="windows-nodes",
        cut_off="windows-nodes",
        signed_at=1,
        signed_by="windows-nodes",
    )
    StateFolder.of(host).ensure()
    register("windows-nodes")
    standing.write(host, kept)
    assert standing.read(host) == kept


def test_what_the_cluster_is_told_has_none() -> None:
    """An error is cut to what an annotation holds; half of a secret is one, too."""
    register(SECRET)
    report = Report("nodes/windows", "failed", "x" * 995 + SECRET)
    assert report.annotations()["wmcb/error"] == "x" * 995 + "***"


def test_metrics_have_none() -> None:
    register(SECRET)
    sample = metrics.Sample(1, {"config_map": SECRET})
    assert SECRET not in metrics.text([metrics.Metric("wmcb_x", "gauge", "x", (sample,))])
