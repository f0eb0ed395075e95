"""Watches: what is seen of a collection, and how a watch goes on after whatever ended it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from agent.kube import failure
from agent.kube.access import Access
from agent.kube.client import Client, Following, until
from agent.kube.transport import Limits
from unit.fetch.quick_clock import QuickClock
from unit.kube.api_server import ROOT, ApiServer, cut_off, ok, silent, status

Reply = Callable[[BaseHTTPRequestHandler], None]

NODES = "/api/v1/nodes"
ONE = "metadata.name=win1"
QUICK = Limits(patience=5, attempt=5, answer=1, silence=1)


def a_node(version: int, name: str = "win1", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, **more}


def listed(version: int, *nodes: dict[str, Any]) -> Any:
    return ok({"metadata": {"resourceVersion": str(version)}, "items": list(nodes)})


def event(kind: str, version: int, name: str = "win1", **more: Any) -> bytes:
    return json.dumps({"type": kind, "object": a_node(version, name, **more)}).encode() + b"\n"


def error(code: int, reason: str) -> bytes:
    told = {"kind": "Status", "code": code, "reason": reason, "message": "so it is"}
    return json.dumps({"type": "ERROR", "object": told}).encode() + b"\n"


def stream(*pieces: bytes, then: str = "end") -> Reply:
    """A watch that says so much and then ends in good order, is cut off, or goes on in silence."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if then == "end":
            handler.wfile.write(b"0\r\n\r\n")
        elif then == "cut":
            handler.close_connection = True
        else:
            silent(handler)

    return reply


class Scene:
    """A server whose lists and watches of nodes come from two rows of answers."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.notices: list[str] = []
        self.clock = QuickClock()
        access = Access(server.url, "kubelet.conf", ROOT.pem)
        self.client = Client(access, limits=QUICK, clock=self.clock)
        self.following = Following(
            self.client, NODES, fields=ONE, notice=self.notices.append, clock=self.clock
        )

    def states(self, *answers: Any) -> Iterator[Any]:
        self.server.at(NODES, *answers)
        return iter(self.following.states(60))

    @property
    def asked(self) -> list[str]:
        """`list`, or `watch` with the version that it goes on from."""
        queries = [parse_qs(urlsplit(asked.target).query) for asked in self.server.asked]
        assert all(query["fieldSelector"] == [ONE] for query in queries)
        return [f"watch {query['resourceVersion'][0]}" if "watch" in query else "list" for query in queries]


@pytest.fixture
def scene(server: ApiServer) -> Scene:
    return Scene(server)


def test_a_list_and_a_watch(scene: Scene) -> None:
    lines = [
        event("ADDED", 11, ready=False),
        event("MODIFIED", 12, ready=True),
        event("BOOKMARK", 13, ""),
        event("DELETED", 14),
        event("ADDED", 15, "win2"),
    ]
    states = scene.states(listed(10), stream(*lines, then="silence"))
    assert next(states) == {}
    assert next(states) == {"win1": a_node(11, ready=False)}
    assert next(states) == {"win1": a_node(12, ready=True)}
    assert next(states) == {}
    assert next(states) == {"win2": a_node(15, "win2")}
    assert scene.asked == ["list", "watch 10"]
    query = parse_qs(urlsplit(scene.server.asked[1].target).query)
    assert query["allowWatchBookmarks"] == ["true"]
    assert 0 < int(query["timeoutSeconds"][0]) <= 60


def test_events_in_any_pieces(scene: Scene) -> None:
    line = event("ADDED", 11) + b"\n" + event("MODIFIED", 12)
    pieces = [line[start : start + 7] for start in range(0, len(line), 7)]
    states = scene.states(listed(10), stream(*pieces, then="silence"))
    assert [next(states), next(states), next(states)] == [{}, {"win1": a_node(11)}, {"win1": a_node(12)}]


@pytest.mark.parametrize("then", ["end", "cut", "silence"])
def test_a_watch_goes_on_where_the_last_one_ended(scene: Scene, then: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("agent.kube.client._SILENCE", 0.2)
    states = scene.states(
        listed(10, a_node(9)),
        stream(event("BOOKMARK", 20, ""), then=then),
        stream(event("MODIFIED", 21), then=then),
        stream(event("MODIFIED", 22), then=then),
    )
    assert [next(states) for _ in range(3)] == [{"win1": a_node(v)} for v in (9, 21, 22)]
    assert scene.asked == ["list", "watch 10", "watch 20", "watch 21"]
    told = {"end": "", "cut": "breaks off", "silence": "within 0.2 seconds"}[then]
    assert bool(scene.notices) == (then != "end")
    assert all(told in notice for notice in scene.notices)


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(status(410, "Expired", "too old resource version"), id="at once"),
        pytest.param(stream(event("BOOKMARK", 30, ""), error(410, "Expired")), id="in the stream"),
    ],
)
def test_a_version_that_is_forgotten(scene: Scene, gone: Any) -> None:
    states = scene.states(
        listed(10, a_node(9)), gone, listed(40, a_node(39)), stream(event("MODIFIED", 41), then="silence")
    )
    assert [next(states) for _ in range(3)] == [{"win1": a_node(v)} for v in (9, 39, 41)]
    assert scene.asked == ["list", "watch 10", "list", "watch 40"]


def test_what_is_the_same_after_a_new_list_is_no_change(scene: Scene) -> None:
    states = scene.states(
        listed(10, a_node(9)), status(410), listed(40, a_node(9)), stream(event("MODIFIED", 41))
    )
    assert [next(states), next(states)] == [{"win1": a_node(9)}, {"win1": a_node(41)}]


def test_what_vanished_while_nobody_looked(scene: Scene) -> None:
    states = scene.states(listed(10, a_node(9)), status(410), listed(40), stream(event("ADDED", 41)))
    assert [next(states), next(states)] == [{"win1": a_node(9)}, {}]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(status(503, "ServiceUnavailable"), id="503"),
        pytest.param(status(429, Retry_After="2"), id="429"),
        pytest.param(cut_off, id="cut off"),
        pytest.param(stream(error(500, "InternalError")), id="an error in the stream"),
        pytest.param(stream(error(504, "Timeout")), id="a version from the future"),
        pytest.param(stream(b'{"type": "ADDED", \n'), id="no JSON"),
        pytest.param(stream(), id="an end at once"),
    ],
)
@pytest.mark.parametrize("times", [1, 3])
def test_what_passes(scene: Scene, fault: Any, times: int) -> None:
    states = scene.states(listed(10), *[fault] * times, stream(event("ADDED", 11), then="silence"))
    assert [next(states), next(states)] == [{}, {"win1": a_node(11)}]
    assert scene.asked == ["list", *["watch 10"] * (times + 1)]
    assert len(scene.notices) == 1, "once, however often it comes"
    assert len(scene.clock.slept) == times


def test_after_a_watch_that_lasted_it_is_asked_again_soon(scene: Scene) -> None:
    def lasts(handler: BaseHTTPRequestHandler) -> None:
        scene.clock.sleep(20)
        cut_off(handler)

    states = scene.states(listed(10), *[cut_off] * 4, lasts, stream(event("ADDED", 11), then="silence"))
    assert [next(states), next(states)] == [{}, {"win1": a_node(11)}]
    *before, lasted, after = scene.clock.slept
    assert lasted == 20
    assert after < 0.5 < before[-1]


@pytest.mark.parametrize(("chance", "pause", "seconds"), [(0.0, 0.15, 300), (1.0, 0.2, 600)])
def test_machines_that_were_started_together_do_not_ask_together(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, chance: float, pause: float, seconds: int
) -> None:
    for place in ("fetch.retries", "kube.client"):
        monkeypatch.setattr(f"agent.{place}.random", lambda: chance)
    scene.server.at(NODES, listed(10), cut_off, stream(event("ADDED", 11), then="silence"))
    states = iter(scene.following.states())
    assert [next(states), next(states)] == [{}, {"win1": a_node(11)}]
    assert scene.clock.slept == [pytest.approx(pause)]
    query = parse_qs(urlsplit(scene.server.asked[-1].target).query)
    assert query["timeoutSeconds"] == [str(seconds)]


def test_a_server_that_is_back_and_has_forgotten_is_listed_soon(scene: Scene) -> None:
    gone, watched = status(410, "Expired"), stream(event("MODIFIED", 41), then="silence")
    states = scene.states(listed(10, a_node(9)), *[cut_off] * 4, gone, listed(40, a_node(39)), watched)
    assert [next(states) for _ in range(3)] == [{"win1": a_node(v)} for v in (9, 39, 41)]
    *before, after = scene.clock.slept
    assert after < 0.5 < before[-1]


def test_one_that_forgets_at_once_is_asked_at_longer_intervals(scene: Scene) -> None:
    gone = [listed(10, a_node(9)), status(410, "Expired")] * 5
    states = scene.states(*gone, listed(40, a_node(39)))
    assert [next(states), next(states)] == [{"win1": a_node(9)}, {"win1": a_node(39)}]
    assert scene.clock.slept[-1] > 1


def test_what_does_not_count_of_an_object_is_no_change(scene: Scene) -> None:
    scene.following = Following(scene.client, NODES, fields=ONE, keep=_spec, clock=scene.clock)
    lines = [
        event("MODIFIED", 11, spec=1, status="Ready"),
        event("MODIFIED", 12, spec=2, status="Ready"),
    ]
    states = scene.states(
        listed(10, a_node(9, spec=1, status="Unknown")), stream(*lines, then="cut"), cut_off
    )
    assert [next(states), next(states)] == [
        {"win1": _spec(a_node(9, spec=1))},
        {"win1": _spec(a_node(9, spec=2))},
    ]


def _spec(node: Mapping[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": node["metadata"]["name"]}, "spec": node["spec"]}


@pytest.mark.parametrize("fault", [status(503), cut_off])
def test_a_list_that_fails(scene: Scene, fault: Any) -> None:
    states = scene.states(fault, fault, listed(10, a_node(9)))
    assert next(states) == {"win1": a_node(9)}
    assert scene.asked == ["list"] * 3


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (status(401, "Unauthorized"), failure.Unauthorized),
        (status(403, "Forbidden"), failure.Forbidden),
        (stream(error(403, "Forbidden")), failure.Forbidden),
    ],
)
def test_what_does_not_pass(scene: Scene, fault: Any, kind: type[failure.Failed]) -> None:
    states = scene.states(listed(10), fault)
    assert next(states) == {}
    with pytest.raises(kind):
        next(states)


def test_a_line_without_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene.client, "limits", Limits(patience=0, line=1000))
    watch = scene.client.watch(NODES, "1")
    scene.server.at(NODES, stream(*[b"x" * 100] * 11, then="silence"))
    with pytest.raises(failure.Unreachable, match="larger than 1,000 bytes"):
        next(watch.events())


def test_a_long_line_in_small_pieces_is_read_once(scene: Scene) -> None:
    """Where each piece was joined to all before it, this took a quarter of an hour."""
    line = event("MODIFIED", 11, note="x" * (8 << 20))
    pieces = b"".join(b"20\r\n%s\r\n" % line[place : place + 32] for place in range(0, len(line) - 32, 32))
    rest = line[len(line) - (len(line) - 1) % 32 - 1 :]

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(pieces + b"%x\r\n%s\r\n" % (len(rest), rest))
        silent(handler)

    states = scene.states(listed(10, a_node(9)), reply)
    assert [next(states), next(states)][1] == {"win1": a_node(11, note="x" * (8 << 20))}


def test_a_server_tells_of_no_end_of_objects(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene.client, "limits", replace(QUICK, objects=3))
    added = [event("ADDED", 11 + number, f"win{number}") for number in range(10)]
    states = scene.states(listed(10), stream(*added))
    says = f"{scene.server.place} tells of more than 3 objects at {NODES}"
    with pytest.raises(failure.Unreachable, match=f"^{says}$"):
        list(states)


@pytest.mark.parametrize(
    "line",
    [b"[]", b"{}", b'{"type": 1}', b'{"type": "NEW", "object": {}}', b'{"type": "DELETED", "object": 1}'],
)
def test_strange_events_change_nothing(scene: Scene, line: bytes) -> None:
    states = scene.states(listed(10, a_node(9)), stream(line + b"\n"), stream(event("MODIFIED", 11)))
    assert [next(states), next(states)] == [{"win1": a_node(9)}, {"win1": a_node(11)}]


# Waiting


def is_ready(state: Any) -> bool:
    return bool(state.get("win1", {}).get("ready"))


def test_waiting_for_an_object(scene: Scene) -> None:
    scene.server.at(NODES, listed(10), stream(event("ADDED", 11), event("MODIFIED", 12, ready=True)))
    assert until(scene.following, is_ready, 60, "it is not Ready") == {"win1": a_node(12, ready=True)}
    assert scene.asked == ["list", "watch 10"]


def test_waiting_in_vain(server: ApiServer) -> None:
    scene = Scene(server)
    following = Following(scene.client, NODES, fields=ONE)
    server.at(NODES, listed(10, a_node(9)), stream(then="silence"))
    with pytest.raises(failure.NotInTime, match=r"^win1 is not Ready within 2 seconds$"):
        until(following, is_ready, 2, "win1 is not Ready")


def test_waiting_while_the_server_is_away(scene: Scene) -> None:
    scene.server.at(NODES, status(503, "ServiceUnavailable", "starting"))
    with pytest.raises(failure.Busy, match=r"starting \(asked \d+ times in \d+ seconds\)$"):
        until(scene.following, is_ready, 60, "it is not Ready")


@pytest.mark.parametrize("where", ["in the stream", "in a pause"])
def test_stopping_from_another_thread(server: ApiServer, where: str) -> None:
    scene = Scene(server)
    following = Following(scene.client, NODES, fields=ONE, notice=lambda _: waits.set())
    waits = threading.Event()

    def streaming(handler: BaseHTTPRequestHandler) -> None:
        waits.set()
        stream(event("BOOKMARK", 11, ""), then="silence")(handler)

    busy = status(429, Retry_After="1000")
    server.at(NODES, listed(10), streaming if where == "in the stream" else busy)
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.extend(following.states()))
    thread.start()
    assert waits.wait(20)
    following.stop()
    thread.join(10)  # less than the server is silent
    assert not thread.is_alive()
    assert seen == [{}]
