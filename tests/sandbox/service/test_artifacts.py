"""Artifacts of a ConfigMap: made, exchanged and given back, and nothing fetched that is not needed."""

from __future__ import annotations

import pathlib
import socket
import threading
from pathlib import PureWindowsPath

import pytest

from agent.engine.parts import FOLLOWED
from agent.engine.progress import Silent
from agent.engine.run import preview, reset, status
from agent.engine.state_folder import StateFolder
from agent.fetch.fetching import BLOCK
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE, PROGRAM_FILE
from agent.sources.node_configuration.compiling import compile_node
from agent.sources.node_configuration.reading import read
from agent.spec import Inline
from lab.waiting import until
from sandbox.engine.world import changed, picture
from sandbox.service.follower import HEAD, Follower
from service.standing import State
from service.telling import Event
from service.work_queue import Signal, Source
from unit.artifacts.archives_made import special, tar_gz, zipped
from unit.fetch.servers import Server, after, answer, ok

TOOLS = PureWindowsPath("C:\\tools")
TOOL = TOOLS / "bin" / "tool.exe"
STATE = PureWindowsPath("C:\\ProgramData\\wmcb")
ONE = tar_gz(("tools-1/bin/tool.exe", b"MZ one"), ("tools-1/LICENSE", b"free"))
TWO = zipped(("tools-2/bin/tool.exe", b"MZ two"), ("tools-2/NOTICE", b"free"))


@pytest.fixture
def follower(tmp_path: pathlib.Path, host: Host) -> Follower:
    follower = Follower(tmp_path, host)
    follower.make_node()
    return follower


def tools(server: Server, archive: bytes, more: str = "") -> str:
    return (
        f"artifacts: [{{name: tools, source: '{server.url('/tools?sig=swordfish')}', protection: program, "
        f"sha256: {Inline(archive).sha256}, unpack: {{into: 'C:\\tools', strip: 1}}{more}}}]\n"
    )


def there(host: Host) -> dict[str, bytes]:
    found = {}
    for path in (TOOL, TOOLS / "LICENSE", TOOLS / "NOTICE"):
        if host.files.observe(path) is not None:
            found[str(path.relative_to(TOOLS))] = host.files.read(path)
    return found


def test_an_archive_is_made_so_and_known_from_then_on(follower: Follower) -> None:
    with Server(ok(ONE)) as server:
        follower.wants(tools(server, ONE))
        assert follower.stands(State.PENDING)
        assert there(follower.host) == {}
        follower.until_fetched()
        assert follower.stands(State.APPLIED)
        assert there(follower.host) == {"bin\\tool.exe": b"MZ one", "LICENSE": b"free"}
        assert follower.host.files.descriptor(TOOL).equivalent(PROGRAM_FILE)
        assert follower.host.files.observe(STATE / "fetched") is None
        follower.begin()
        follower.pass_time(700)
        # A document that only says it otherwise makes another run, and that needs nothing of the network.
        follower.wants(tools(server, ONE) + "environmentVariables: [{name: A, value: b}]\n")
        assert follower.stands(State.APPLIED)
        assert len(server.heads) == 1
    assert follower.is_well()


def test_another_version_takes_its_place(follower: Follower) -> None:
    with Server(ok(ONE), ok(TWO)) as server:
        follower.wants(tools(server, ONE))
        follower.until_fetched()
        follower.wants(tools(server, TWO))
        assert there(follower.host)["bin\\tool.exe"] == b"MZ one"
        follower.until_fetched()
    assert there(follower.host) == {"bin\\tool.exe": b"MZ two", "NOTICE": b"free"}
    assert follower.is_well()


def test_what_was_there_before_comes_back(follower: Follower) -> None:
    follower.host.files.make_directory(TOOLS, PROGRAM_FILE)
    follower.host.files.write(TOOLS / "LICENSE", b"of before", PRIVATE_FILE)
    before = picture(follower.host, but=(STATE,))
    with Server(ok(ONE)) as server:
        follower.wants(tools(server, ONE))
        follower.until_fetched()
        assert there(follower.host)["LICENSE"] == b"free"
    follower.said("apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n")
    assert picture(follower.host, but=(STATE,)) == before
    assert follower.host.files.observe(STATE / "artifacts") is None


def test_a_reset_takes_all_of_it_away(follower: Follower) -> None:
    with Server(ok(ONE)) as server:
        follower.wants(tools(server, ONE))
        follower.until_fetched()
    reset(follower.host, Silent())
    assert follower.host.files.observe(TOOLS) is None
    assert status(follower.host).resources == ()
    assert follower.host.files.observe(STATE) is None or follower.host.files.list(STATE) == []


EVIL = tar_gz(special("tools-1/evil", b"2", "C:\\"))
OUT = zipped(("tools-1\\..\\evil", b""))
REFUSED = {
    "another content": (ONE, TWO, f"its sha256 is {Inline(ONE).sha256}, not the wanted {Inline(TWO).sha256}"),
    "a link": (EVIL, EVIL, "evil in it is a link, which is not unpacked"),
    "..\\": (OUT, OUT, "'..' leads back out of its folder"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_changes_nothing(follower: Follower, case: tuple[bytes, bytes, str]) -> None:
    came, wanted, why = case
    with Server(ok(ONE), ok(came)) as server:
        follower.wants(tools(server, ONE))
        follower.until_fetched()
        before = picture(follower.host, but=(STATE,))
        follower.wants(tools(server, wanted))
        follower.until_fetched()
    assert follower.stands(State.REFUSED)
    assert "at $.artifacts.0: its content cannot be fetched: " in follower.standing.error
    assert why in follower.standing.error
    assert picture(follower.host, but=(STATE,)) == before
    assert follower.is_well()


def test_a_change_that_fails_brings_the_old_one_back(follower: Follower) -> None:
    with Server(ok(ONE), ok(TWO)) as server:
        follower.wants(tools(server, ONE))
        follower.until_fetched()
        before = picture(follower.host, but=(STATE,))
        fails = "commands: [{name: fails, text: exit 1, after: [{file: 'C:\\tools\\bin\\tool.exe'}]}]\n"
        put = {"run_logged": lambda *_, **__: 1}
        follower.host = changed(follower.host, processes=put)
        follower.begin()
        follower.wants(tools(server, TWO) + fails)
        follower.until_fetched()
    assert follower.stands(State.FAILED)
    assert picture(follower.host, but=(STATE,)) == before
    assert follower.is_well()


LARGE = b"MZ" + b"".join(Inline(f"{at}".encode()).sha256.encode() for at in range(20_000))
LARGE_ONE = tar_gz(("tools-1/bin/tool.exe", LARGE), ("tools-1/LICENSE", b"free"))


def test_a_large_file_that_somebody_exchanged_is_fetched_again(follower: Follower) -> None:
    with Server(ok(LARGE_ONE)) as server:
        follower.wants(tools(server, LARGE_ONE))
        follower.until_fetched()
        follower.pass_time(10)
        follower.told()
        follower.host.files.write(TOOL, b"MZ by hand", PRIVATE_FILE)
        follower.touched(TOOL)
        assert follower.told() == []
        follower.until_fetched()
        assert len(server.heads) == 2
    assert follower.host.files.read(TOOL) == LARGE
    assert follower.is_well()
    assert follower.told() == [
        (Event.REPAIRED, f"file {TOOL} had been changed, and was put right (descriptor, sha256)")
    ]
    assert follower.host.files.observe(STATE / "mending") is None


def test_one_that_is_gone_is_fetched_again_by_a_service_that_follows_nothing_now(follower: Follower) -> None:
    with Server(ok(LARGE_ONE)) as server:
        follower.wants(tools(server, LARGE_ONE))
        follower.until_fetched()
        follower.cluster.config_map = None
        follower.begin()
        follower.pass_time(10)
        follower.host.files.remove(TOOL)
        follower.touched(TOOL)
        follower.until_fetched()
    assert follower.host.files.read(TOOL) == LARGE


def test_what_cannot_be_fetched_again_is_told_and_tried_later(follower: Follower) -> None:
    with Server(ok(LARGE_ONE), answer("404 Not Found"), ok(LARGE_ONE)) as server:
        follower.wants(tools(server, LARGE_ONE))
        follower.until_fetched()
        follower.pass_time(10)
        follower.told()
        follower.host.files.write(TOOL, b"MZ by hand", PROGRAM_FILE)
        follower.touched(TOOL)
        follower.until_fetched()
        (told,) = follower.told()
        assert told[0] is Event.NOT_REPAIRED
        assert (
            f"could not be put right: artifact tools cannot be fetched: {server.place} answers 404" in told[1]
        )
        follower.pass_time(700)
        follower.until_fetched()
    assert follower.host.files.read(TOOL) == LARGE


def test_what_is_remembered_of_an_artifact_is_kept_too(follower: Follower) -> None:
    with Server(ok(ONE)) as server:
        follower.wants(tools(server, ONE))
        follower.until_fetched()
        follower.told()
        (note,) = follower.host.files.list(STATE / "artifacts")
        follower.host.files.remove(STATE / "artifacts" / note)
        follower.happened(Signal(Source.ASKED))
        assert follower.told()[0][1].startswith("artifact tools was gone, and was put right")
        follower.begin()
        follower.pass_time(10)
        assert len(server.heads) == 1
    assert follower.is_well()


def trickling(server: Server, connection: socket.socket, _head: str) -> None:
    """Until nobody wants it any more, or the test is over."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
    while not server.over.wait(0.05):
        connection.sendall(bytes(BLOCK))


def test_what_is_fetched_is_given_up_for_what_is_wanted_instead(follower: Follower) -> None:
    with Server(trickling, ok(ONE)) as server:
        follower.wants(tools(server, TWO))
        until(lambda: server.heads, "it is fetched")
        follower.wants(tools(server, ONE))
        follower.until_fetch_ended()
        assert not server.over.is_set()
        follower.pass_time(1)
        follower.until_fetched()
    assert follower.stands(State.APPLIED)
    assert there(follower.host)["bin\\tool.exe"] == b"MZ one"


def test_what_is_still_wanted_is_fetched_to_its_end(follower: Follower) -> None:
    go_on = threading.Event()

    def slow(_server: Server, connection: socket.socket, _head: str) -> None:
        whole = ok(ONE)
        connection.sendall(whole[:-1])
        go_on.wait(20)
        connection.sendall(whole[-1:])

    with Server(slow) as server, Server(ok(b"other")) as others:
        follower.wants(tools(server, ONE))
        until(lambda: server.heads, "it is fetched")
        source = f"{{url: '{others.url()}', sha256: {Inline(b'other').sha256}}}"
        follower.wants(tools(server, ONE) + f"files: [{{path: 'C:\\other', source: {source}}}]\n")
        follower.pass_time(600)
        assert follower.reported()[-1] == ("pending", "")
        go_on.set()
        follower.until_fetch_ended()
        follower.pass_time(1)
        follower.until_fetched()
        assert (len(server.heads), len(others.heads)) == (1, 1)
    assert follower.stands(State.APPLIED)


def test_what_needs_nothing_of_a_fetch_does_not_wait_for_it(follower: Follower) -> None:
    begun = after(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n1")
    with Server(ok(ONE), begun) as server:
        follower.wants(tools(server, ONE))
        follower.until_fetched()
        follower.wants(tools(server, TWO))
        until(lambda: len(server.heads) == 2, "it is fetched")
        assert follower.stands(State.PENDING)
        follower.wants(tools(server, ONE) + "environmentVariables: [{name: A, value: b}]\n")
        assert follower.stands(State.APPLIED)
        assert follower.host.environment.get("A") == "b"


def test_what_is_made_during_a_fetch_counts_as_made_and_nothing_of_the_fetch_stays(
    tmp_path: pathlib.Path, follower: Follower
) -> None:
    with Server(trickling) as server:
        follower.wants(tools(server, TWO))
        folder = StateFolder.of(follower.host).fetched
        begun = tmp_path / "ProgramData" / "wmcb" / folder.name
        until(lambda: any(begun.glob("*.part")), "it comes")
        follower.told()
        follower.wants("environmentVariables: [{name: A, value: b}]\n")
        assert follower.stands(State.APPLIED)
        follower.until_fetched()
        assert follower.host.files.observe(folder) is None
    assert [event for event, _ in follower.told() if event is not Event.KEEPING] == [Event.APPLIED]


def test_what_waits_for_the_end_of_another_fetch_says_so(follower: Follower) -> None:
    begun = after(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n1")
    with Server(begun) as server:
        follower.wants(tools(server, TWO))
        until(lambda: server.heads, "it is fetched")
        follower.wants(tools(server, ONE))
        assert follower.reported()[-1] == (
            "pending",
            "what was to be fetched before is not wanted any more, and that has not ended yet",
        )


def test_a_plan_fetches_nothing_and_says_what_it_knows(follower: Follower) -> None:
    with Server(answer("500 No")) as server:
        documents = read("node.yaml", (HEAD + tools(server, ONE)).encode()).documents
        compiled = compile_node(documents, follower.contents, "node.yaml")
        assert compiled.specification
        planned = preview(follower.host, compiled.specification, part=FOLLOWED)
        assert server.heads == []
    (change,) = [each for each in planned.changes if each.target.key.kind == "artifact"]
    told = {each.field: change.target.kind.shown(each.field, each.wanted, {}) for each in change.differences}
    assert told["source"] == server.url("/tools")
    assert told["place"] == "into C:\\tools, strip 1, protection program"
    assert told["digest"] == f"sha256:{Inline(ONE).sha256}"[:20]
    assert "swordfish" not in str(told)


def test_what_had_been_fetched_before_a_restart_is_still_of_use(follower: Follower) -> None:
    folder = StateFolder.of(follower.host).fetched
    with Server(ok(ONE)) as server:
        follower.wants(tools(server, ONE))
        follower.until_fetch_ended()
        assert Inline(b"MZ one").sha256 in follower.host.files.list(folder)
        follower.begin()
        follower.pass_time(1)
        assert follower.stands(State.APPLIED)
        assert len(server.heads) == 1
    assert there(follower.host) == {"bin\\tool.exe": b"MZ one", "LICENSE": b"free"}
