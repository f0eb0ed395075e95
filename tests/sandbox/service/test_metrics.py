"""Metrics of a resident service, read by Prometheus' own parser; and its small server."""

from __future__ import annotations

import errno
import pathlib
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import PureWindowsPath

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent.cli.main import run
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host.port import Host
from agent.host.protection import PROGRAM_FILE
from agent.release import RELEASE
from agent.spec import Directory, File, Inline, Protection, Service, Specification
from lab.waiting import until
from sandbox.engine import nodes
from sandbox.service.follower import HEAD, Follower
from sandbox.service.keeper import Keeper
from sandbox.service.live_api import own
from sandbox.service.test_cluster import CONF, write_credentials
from service import installation
from service.adopting import Adopting
from service.arguments import metrics_port_in
from service.metrics import (
    ADDRESS,
    Answer,
    Metric,
    Metrics,
    Sample,
    Scraping,
    _listening,
    answer_on,
    health,
    text,
)
from service.telling import Event, Telling
from service.work_queue import Signal, Signals, Source

Labels = frozenset[tuple[str, str]]


def read(told: str) -> Mapping[tuple[str, Labels], float]:
    families = text_string_to_metric_families(told)
    return {
        (each.name, frozenset(each.labels.items())): each.value for one in families for each in one.samples
    }


def told(keeper: Keeper) -> Mapping[tuple[str, Labels], float]:
    keeping = keeper.keeping
    wishes = keeping._wishes if isinstance(keeping._wishes, Adopting) else None
    return read(text(Metrics(keeper.host, keeping._telling, wishes).all()))


def one(found: Mapping[tuple[str, Labels], float], name: str, **labels: str) -> float:
    (value,) = [
        value for key, value in found.items() if key[0] == name and labels.items() <= dict(key[1]).items()
    ]
    return value


def test_what_is_kept_and_repaired_is_told(keeper: Keeper) -> None:
    found = told(keeper)
    assert one(found, "wmcb_build_info", release=RELEASE) == 1
    assert one(found, "wmcb_resources") == len(keeper.keeping._records)
    assert [one(found, name) for name in ("wmcb_paused", "wmcb_reboot_pending")] == [0, 0]
    assert one(found, "wmcb_service_starts_total", cause="stopped") == 0
    keeper.crash()
    for _ in range(2):
        keeper.host.files.remove(nodes.CONFIG)
        keeper.touched(nodes.CONFIG)
    found = told(keeper)
    assert one(found, "wmcb_service_starts_total", cause="stopped") == 1
    assert one(found, "wmcb_service_starts_total", cause="hung") == 0
    assert one(found, "wmcb_repairs_total") == 2
    assert run(["--sandbox", str(keeper._folder), "daemon", "pause"]) == 0
    assert one(told(keeper), "wmcb_paused") == 1


def test_what_could_not_be_put_right_is_told_until_it_is_right(tmp_path: pathlib.Path, host: Host) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(nodes.node(program=b"MZ" + bytes(1 << 20)))
    content = host.files.read(nodes.KUBELET)
    assert one(told(keeper), "wmcb_resources_left") == 0
    for held, left in ((b"MZ", 1), (content, 0)):
        host.files.write(nodes.KUBELET, held, PROGRAM_FILE)
        keeper.touched(nodes.KUBELET)
        assert one(told(keeper), "wmcb_resources_left") == left


def test_what_is_followed_is_told(tmp_path: pathlib.Path, host: Host) -> None:
    follower = Follower(tmp_path, host)
    follower.make_node()
    follower.wants("files: [{path: 'C:\\tools\\settings.txt', text: one}]\n")
    found = told(follower)
    assert one(found, "wmcb_config_map_state", state="applied") == 1
    assert one(found, "wmcb_config_map_state", state="refused") == 0
    assert one(found, "wmcb_applied_info", config_map="nodes/windows", version="1") == 1
    assert one(found, "wmcb_api_server_reachable") == 1
    assert one(found, "wmcb_last_apply_success") == 1
    assert one(found, "wmcb_last_apply_timestamp_seconds") == pytest.approx(follower.clock.now(), abs=60)
    follower.cluster.trouble = "no route"
    follower.said(f"{HEAD}files: [{{path: tools}}]\n")
    found = told(follower)
    assert one(found, "wmcb_config_map_state", state="refused") == 1
    assert one(found, "wmcb_api_server_reachable") == 0


def test_a_pause_is_told_whoever_wants_it(tmp_path: pathlib.Path, host: Host) -> None:
    follower = Follower(tmp_path, host)
    follower.make_node()
    follower.wants("")
    assert one(told(follower), "wmcb_paused") == 0
    follower.is_node(annotations={"wmcb/paused": "disk"})
    assert one(told(follower), "wmcb_paused") == 1
    follower.is_node()
    assert one(told(follower), "wmcb_paused") == 0
    follower.wants("", head="maintenance: {paused: true}\n")
    assert one(told(follower), "wmcb_paused") == 1


def test_when_the_kubelets_certificate_is_over(host: Host) -> None:
    write_credentials(host, "https://10.0.0.1:6443")
    program = PureWindowsPath(r"C:\k\kubelet.exe")
    kubelet = Service("kubelet", program, (f"--kubeconfig={CONF}",))
    wants = [Directory(program.parent, Protection.PROGRAM), File(program, Inline(b"MZ")), kubelet]
    make_so(host, Specification.of(wants), Silent())
    found = read(text(Metrics(host, Telling(host, lambda _: None), None).all()))
    certificate = own().certificate
    times = {"start": certificate.not_valid_before_utc, "expiry": certificate.not_valid_after_utc}
    for what, at in times.items():
        name = f"wmcb_kubelet_certificate_{what}_timestamp_seconds"
        assert one(found, name) == pytest.approx(at.timestamp(), abs=3600)


def test_a_machine_that_is_no_node_tells_what_there_is(host: Host) -> None:
    found = read(text(Metrics(host, Telling(host, lambda _: None), None).all()))
    assert one(found, "wmcb_resources") == 0
    assert not any(name.startswith(("wmcb_applied", "wmcb_kubelet")) for name, _ in found)


LABELS = {
    "plain": "one",
    "quoted": 'say "no"',
    "of two lines": "one\ntwo",
    "backslash": r"C:\k\new",
    "letters": "größe",
}


@pytest.mark.parametrize("label", LABELS.values(), ids=LABELS)
def test_any_label_comes_as_it_is(label: str) -> None:
    metric = Metric("wmcb_x", "gauge", "Something.", (Sample(0.5, {"what": label}),))
    assert read(text([metric])) == {("wmcb_x", frozenset({("what", label)})): 0.5}


# The server


@pytest.fixture
def scraping() -> Iterator[Scraping]:
    def broken() -> Answer:
        raise ValueError("secret")

    scraping = Scraping(0, {"/metrics": lambda: Answer(200, "all well\n"), "/broken": broken}, _untold)
    yield scraping
    scraping.close()


def _untold(fault: OSError) -> None:
    raise AssertionError(fault)


def ask(scraping: Scraping, path: str, method: str = "GET") -> tuple[int, str]:
    request = urllib.request.Request(f"http://{ADDRESS}:{scraping.port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - on this machine
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


QUESTIONS = {
    "metrics": ("/metrics", "GET", 200, "all well\n"),
    "with a query": ("/metrics?name[]=up", "GET", 200, "all well\n"),
    "another path": ("/", "GET", 404, "there are: /metrics /broken\n"),
    "another method": ("/metrics", "DELETE", 405, "only GET\n"),
    "a fault of ours": ("/broken", "GET", 500, "unexpected ValueError (please report it)\n"),
}


@pytest.mark.parametrize(("path", "method", "status", "body"), QUESTIONS.values(), ids=QUESTIONS)
def test_questions(scraping: Scraping, path: str, method: str, status: int, body: str) -> None:
    assert ask(scraping, path, method) == (status, body)


RUBBISH = {"nothing": b"", "no HTTP": b"hello\r\n\r\n", "endless": b"x" * 20_000, "half": b"GET /metrics"}


@pytest.mark.parametrize("sent", RUBBISH.values(), ids=RUBBISH)
def test_rubbish_keeps_nobody_else_from_being_answered(scraping: Scraping, sent: bytes) -> None:
    asking = socket.create_connection((ADDRESS, scraping.port), timeout=10)
    with suppress(OSError), asking as connection:  # it may be hung up on
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
    assert ask(scraping, "/metrics") == (200, "all well\n")


def test_it_is_to_be_reached_from_this_machine_alone(scraping: Scraping) -> None:
    assert scraping._listening.getsockname()[0] == "127.0.0.1"
    with pytest.raises(OSError, match="in use"):
        Scraping(scraping.port, {}, _untold)


class WithoutBuffers:
    """A socket at which nothing can be taken for some times."""

    def __init__(self, listening: socket.socket, times: int) -> None:
        self._listening = listening
        self.times = times

    def accept(self) -> object:
        if self.times:
            self.times -= 1
            raise OSError(errno.ENOBUFS, "no buffers")
        return self._listening.accept()

    def __getattr__(self, name: str) -> object:
        return getattr(self._listening, name)


@pytest.fixture
def short_of_buffers(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def make(times: int) -> None:
        monkeypatch.setattr(
            "service.metrics._listening", lambda port: WithoutBuffers(_listening(port), times)
        )

    return make


def test_what_keeps_it_from_answering_for_a_while_is_told_once_and_gone_on_after(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, short_of_buffers: Callable[[int], None]
) -> None:
    monkeypatch.setattr("service.metrics._PAUSE_SECONDS", 0.01)
    with socket.create_server((ADDRESS, 0)) as found:
        free_port = found.getsockname()[1]
    short_of_buffers(3)
    told: list[str] = []
    telling = Telling(keeper.host, told.append)
    answer_on(free_port, keeper.host, keeper.signals, telling, None)
    with urllib.request.urlopen(f"http://{ADDRESS}:{free_port}/healthz", timeout=10) as answer:
        assert answer.read() == b"ok\n"
    assert told == [f"daemon: who asks for metrics at port {free_port} has no answer for a while: no buffers"]
    assert telling.counts[Event.TROUBLE] == 1


def test_it_is_closed_while_it_waits_for_better_times(short_of_buffers: Callable[[int], None]) -> None:
    short_of_buffers(1 << 30)
    told: list[OSError] = []
    scraping = Scraping(0, {}, told.append)
    until(lambda: told, "it has tried")
    scraping.close()
    until(lambda: not scraping._thread.is_alive(), "though it would have waited for longer")
    assert len(told) == 1


def test_a_port_that_somebody_has_is_told_and_waited_for(
    scraping: Scraping, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.metrics._PORT_AGAIN_SECONDS", 0.01)
    told: list[str] = []
    telling, port = Telling(keeper.host, told.append), scraping.port
    answer_on(port, keeper.host, keeper.signals, telling, None)
    (line,) = told
    assert f"port {port} of 127.0.0.1 cannot be had" in line
    assert telling.counts[Event.TROUBLE] == 1
    scraping.close()
    until(lambda: len(told) > 1, "it is had")
    assert told[1:] == [f"daemon: metrics can be asked for at port {port} now"]
    with urllib.request.urlopen(f"http://{ADDRESS}:{port}/healthz", timeout=10) as answer:
        assert answer.read() == b"ok\n"
    assert telling.counts[Event.TROUBLE] == 1, "once, however often it was asked for"


def test_busy_with_the_same_thing_for_long_is_not_well() -> None:
    signals = Signals()
    assert health(signals).status == 200
    signals.put(Signal(Source.ASKED))
    signals.take(0)
    assert health(signals).status == 200
    signals.taken_at = time.monotonic() - 1000
    assert health(signals).status == 503


# Installed


def test_a_port_is_kept_until_another_is_given(tmp_path: pathlib.Path, host: Host) -> None:
    words = ["--sandbox", str(tmp_path), "daemon", "install"]

    def told_to(*more: str) -> int | None:
        assert run([*words, *more]) == 0
        return metrics_port_in(installation.arguments(host))

    assert told_to() is None
    assert told_to("--metrics-port", "9182") == 9182
    assert told_to("--config-map", "kube-system/windows-nodes") == 9182
    assert installation.arguments(host)[-2:] == ("--metrics-port", "9182")
    assert told_to("--metrics-port", "0") is None


@pytest.mark.parametrize("given", ["", "web", "-1", "65536", "80.5", "٣"])
def test_what_is_no_port_is_one_line(
    tmp_path: pathlib.Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--sandbox", str(tmp_path), "daemon", "install", f"--metrics-port={given}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--metrics-port" in line
