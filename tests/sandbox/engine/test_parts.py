"""The node's own part, and that of somebody who keeps it otherwise: what each made, and what both want."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.engine.parts import CONFIGURED, PREPARED, Taken
from agent.engine.progress import Silent
from agent.engine.run import (
    Done,
    TakenBack,
    Unfinished,
    interrupted_part,
    make_so,
    reset,
    status,
    take_back,
    take_back_part,
)
from agent.engine.target import NODE
from agent.host.errors import TimedOut
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.host.services import RecoveryAction, ServiceState
from agent.resources.kind import CannotBeSo
from agent.spec import (
    Certificates,
    Credentials,
    Directory,
    EnvironmentVariable,
    File,
    Inline,
    Protection,
    Restart,
    Service,
    Specification,
    Want,
)
from agent.spec.files import ContainerdConfiguration
from sandbox.engine import nodes
from sandbox.engine.nodes import CONFIG, ETC, K
from sandbox.engine.world import Killed, Power, changed, picture, powered

PART = "followed"
STATE = PureWindowsPath(r"C:\ProgramData\wmcb")
TOOLS = PureWindowsPath(r"C:\tools")
ADMITTED = CONFIG.with_name("admitted.conf")
TOML = PureWindowsPath(r"C:\containerd\config.toml")
TOOL, TEXT = TOOLS / "tool.exe", TOOLS / "text.txt"


def tools(text: bytes = b"1", *more: Want, tool: bool = True) -> Specification:
    exporter = [File(TOOL, Inline(b"MZ"), Protection.PROGRAM), Service("exporter", TOOL)] if tool else []
    wants = [Directory(TOOLS, Protection.PROGRAM), File(TEXT, Inline(text)), *exporter, *more]
    return Specification.of(wants, title="ConfigMap nodes/windows")


def node(host: Host, specification: Specification | None = None) -> Done:
    return make_so(host, specification or nodes.node(), Silent())


def part(host: Host, specification: Specification, recipe: str = "r") -> Done:
    return make_so(host, specification, Silent(), part=PART, recipe=recipe)


def machine(host: Host) -> dict[str, object]:
    return picture(host, but=(STATE,))


def test_what_a_part_wants_no_more_goes_and_all_else_stays(host: Host) -> None:
    host.environment.set("REGION", "before")
    node(host)
    made = machine(host)
    part(host, tools(b"1", EnvironmentVariable("REGION", "eu")))
    assert host.environment.get("REGION") == "eu"
    part(host, tools(b"2", tool=False))
    assert host.files.read(TEXT) == b"2"
    assert host.services.read("exporter") is None
    assert host.environment.get("REGION") == "before"
    part(host, Specification(), recipe="")
    assert machine(host) == made


def test_again_nothing_changes_and_nothing_is_written(host: Host) -> None:
    node(host)
    part(host, tools())
    written = host.files.read(STATE / "node.json")
    assert part(host, tools()).plan.changes == ()
    assert node(host).plan.changes == ()
    assert host.files.read(STATE / "node.json") == written


def test_the_node_made_anew_leaves_the_part(host: Host) -> None:
    node(host)
    part(host, tools())
    node(host, nodes.node(config=b"{2}"))
    assert host.files.read(TEXT) == b"1"
    assert host.files.read(CONFIG) == b"{2}"
    found = status(host)
    assert found.is_well
    assert found.title == "a small node"


def test_a_reset_takes_all_parts(host: Host) -> None:
    before = picture(host)
    node(host)
    part(host, tools())
    reset(host, Silent())
    assert picture(host) == before


def test_a_part_that_fails_leaves_the_node_and_what_it_had(host: Host) -> None:
    node(host)
    part(host, tools())
    made = picture(host)

    def refuse() -> None:
        raise RuntimeError

    with pytest.raises(TakenBack):
        make_so(host, tools(b"2", tool=False), Silent(), refuse, part=PART)
    assert picture(host) == made


# What both want

VARIABLE = EnvironmentVariable("NODE_ROLE", "worker")


def without_variable() -> Specification:
    *others, kubelet = nodes.wants()
    assert isinstance(kubelet, Service)
    kept = [each for each in others if each.key != VARIABLE.key]
    reads = tuple(key for key in kubelet.reads if key != VARIABLE.key)
    return Specification.of([*kept, Service("kubelet", nodes.KUBELET, reads=reads)], title="another node")


def test_what_the_node_wants_alike_stays_when_the_part_wants_it_no_more(host: Host) -> None:
    node(host)
    made = machine(host)
    part(host, Specification.of([VARIABLE], title="t"))
    part(host, Specification(), recipe="")
    assert machine(host) == made
    assert status(host).is_well


def test_it_is_left_to_the_part_when_the_node_wants_it_no_more(host: Host) -> None:
    node(host)
    part(host, Specification.of([VARIABLE], title="t"))
    done = node(host, without_variable())
    assert VARIABLE.key not in {change.target.key for change in done.plan.changes}, "it is not touched"
    assert host.environment.get("NODE_ROLE") == "worker"
    part(host, Specification(), recipe="")
    assert host.environment.get("NODE_ROLE") is None


def test_the_node_may_change_it_and_the_part_learns_of_that(host: Host) -> None:
    node(host)
    part(host, Specification.of([File(CONFIG, Inline(b"{}"))], title="t"))
    node(host, nodes.node(config=b"{2}"))
    with pytest.raises(Taken):
        part(host, Specification.of([File(CONFIG, Inline(b"{}"))], title="t"))


@pytest.mark.parametrize(
    ("want", "line"),
    [
        pytest.param(
            File(CONFIG, Inline(b"mine")),
            rf"file {CONFIG} is wanted otherwise (sha256) than by a small node, which made it; only that can"
            " change it",
            id="a content",
        ),
        pytest.param(
            Directory(ETC, Protection.PROGRAM),
            rf"directory {ETC} is wanted otherwise (descriptor, exposed, open to users) than by a small node,"
            " which made it; only that can change it",
            id="a shared folder for itself",
        ),
        pytest.param(
            File(CONFIG, Inline(b"{}"), until=TOOL),
            rf"file {CONFIG} is wanted otherwise than by a small node, which made it; only that can"
            " change it",
            id="for a time only",
        ),
    ],
)
def test_what_is_wanted_otherwise_is_refused_before_anything_changes(
    host: Host, want: Want, line: str
) -> None:
    node(host)
    made = picture(host)
    with pytest.raises(Taken) as refused:
        part(host, Specification.of([Directory(TOOLS), want], title="t"))
    assert str(refused.value) == line
    assert refused.value.faults == {want.key: line}
    assert picture(host) == made


HOLDS = {
    "what the kubelet is admitted with": (Credentials(ADMITTED), ADMITTED),
    "a certificate of the kubelet's": (Certificates(nodes.PKI), nodes.CERTIFICATE),
    "single values of a configuration": (ContainerdConfiguration(TOML, 3, sandbox_image="pause:1"), TOML),
}


@pytest.mark.parametrize(("holds", "path"), HOLDS.values(), ids=HOLDS)
def test_a_file_is_refused_where_another_kind_of_the_nodes_says_what_is_in_it(
    host: Host, holds: Want, path: PureWindowsPath
) -> None:
    folders = [Directory(folder) for folder in (nodes.PKI, TOML.parent)]
    node(host, Specification.of([*nodes.wants(), *folders, holds], title="a small node"))
    host.files.write(path, b"there", PRIVATE_FILE)
    made = picture(host)
    given = File(PureWindowsPath(str(path).upper()), Inline(b"mine"))
    with pytest.raises(Taken) as refused:
        part(host, Specification.of([given], title="t"))
    assert str(refused.value) == (
        f"{given.key} is wanted otherwise than by a small node, which made it; only that can change it"
    )
    assert picture(host) == made
    part(host, Specification.of([File(path, None)], title="an audit"))
    assert host.files.read(path) == b"there"


@pytest.mark.parametrize(("holds", "path"), HOLDS.values(), ids=HOLDS)
def test_another_kind_of_the_nodes_is_refused_where_a_file_is_somebodys(
    host: Host, holds: Want, path: PureWindowsPath
) -> None:
    folders = [Directory(folder) for folder in (ETC, CONFIG.parent, nodes.PKI, TOML.parent)]
    given = File(PureWindowsPath(str(path).upper()), Inline(b"mine"))
    part(host, Specification.of([*folders, given], title="a ConfigMap"))
    made = picture(host)
    with pytest.raises(Taken) as refused:
        node(host, Specification.of([*folders, holds], title="a small node"))
    assert str(refused.value) == (
        f"{holds.key} is wanted otherwise than by a ConfigMap, which made it; only that can change it"
    )
    assert picture(host) == made


def test_folders_on_the_way_are_shared_with_whoever_has_them(host: Host) -> None:
    node(host)
    made = machine(host)
    own = [Directory(folder, Protection.PROGRAM, shared=True) for folder in (ETC, K)]
    part(host, Specification.of([*own, File(K / "note.txt", Inline(b"1"))], title="t"))
    assert status(host).is_well
    part(host, Specification(), recipe="")
    assert machine(host) == made


def test_what_a_part_made_first_the_node_cannot_want_otherwise(host: Host) -> None:
    node(host)
    part(host, tools())
    with pytest.raises(Taken, match="than by ConfigMap nodes/windows, which made it"):
        node(host, Specification.of([*nodes.wants(), Directory(TOOLS), File(TEXT, Inline(b"otherwise"))]))


# What yields: a machine is prepared, and configured, before it is a node


def yielding(host: Host, name: str, text: bytes) -> Done:
    wants = [Directory(TOOLS, Protection.PROGRAM), File(TEXT, Inline(text))]
    title = f"what was {name}"
    return make_so(host, Specification.of(wants, title=title), Silent(), part=name, recipe=title)


BOTH = [pytest.param(PREPARED, id="prepared"), pytest.param(CONFIGURED, id="configured")]


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("by", [PART, NODE, "services"])
def test_it_is_changed_by_whoever_wants_it_otherwise_and_left_when_that_does_no_more(
    host: Host, name: str, by: str
) -> None:
    yielding(host, name, b"first")
    made = machine(host)

    def run(specification: Specification) -> Done:
        return make_so(host, specification, Silent(), part=by, recipe="r")

    done = run(tools(b"second", tool=False))
    assert [str(change.target.key) for change in done.plan.changes] == [f"file {TEXT}"]
    assert host.files.read(TEXT) == b"second"
    assert run(tools(b"second", tool=False)).plan.changes == ()
    assert run(Specification()).plan.changes == ()
    assert (host.files.read(TEXT), status(host).is_well) == (b"second", True)
    yielding(host, name, b"first")
    assert machine(host) == made


def test_what_a_node_wants_alike_is_its_own_then(host: Host) -> None:
    """It runs it: nobody else is to change it, but he may go on wanting it so."""
    yielding(host, PREPARED, b"first")
    wants = [Directory(TOOLS, Protection.PROGRAM, belongs_to_node=True), File(TEXT, None)]
    node(host, Specification.of(wants, title="a node"))
    assert yielding(host, PREPARED, b"first").plan.changes == ()
    with pytest.raises(Taken, match="than by a node, which made it"):
        yielding(host, PREPARED, b"second")
    assert host.files.read(TEXT) == b"first"


def test_what_was_configured_goes_before_what_was_prepared(host: Host) -> None:
    yielding(host, PREPARED, b"first")
    yielding(host, CONFIGURED, b"second")
    with pytest.raises(Taken, match="than by what was configured, which made it"):
        yielding(host, PREPARED, b"first")
    assert host.files.read(TEXT) == b"second"


@pytest.mark.parametrize("name", BOTH)
def test_it_does_not_change_what_the_node_wants_otherwise(host: Host, name: str) -> None:
    yielding(host, name, b"first")
    part(host, tools(b"second"))
    with pytest.raises(Taken, match="than by ConfigMap nodes/windows, which made it"):
        yielding(host, name, b"first")


@pytest.mark.parametrize("name", BOTH)
def test_a_reset_takes_it_away(host: Host, name: str) -> None:
    before = picture(host)
    yielding(host, name, b"first")
    part(host, tools(b"second"))
    reset(host, Silent())
    assert picture(host) == before


@pytest.mark.parametrize("name", BOTH)
def test_its_run_that_was_cut_off_is_for_who_began_it(host: Host, name: str) -> None:
    cut_off(host, 5, lambda powerless: yielding(powerless, name, b"first"))
    assert interrupted_part(host) == name
    called = replace(host, called="wmcb --sandbox here")
    for other in (part, node):
        with pytest.raises(Unfinished, match="run it again to finish it, or wmcb --sandbox here --rollback"):
            other(called, tools())
    assert take_back_part(host, Silent()) is None
    yielding(host, name, b"first")
    assert status(host).is_well


# Services of one part that live by those of another


def above() -> Specification:
    """A proxy that needs what needs the kubelet, and one that needs neither."""
    needs = {"bridge": ("kubelet",), "proxy": ("bridge",), "exporter": ()}
    services = [Service(name, TOOL, dependencies=below) for name, below in needs.items()]
    return Specification.of(
        [Directory(TOOLS, Protection.PROGRAM), File(TOOL, Inline(b"MZ"), Protection.PROGRAM), *services],
        title="ConfigMap nodes/windows",
    )


ABOVE = ("bridge", "proxy", "exporter")


def running(host: Host) -> list[str]:
    return [each for each in ABOVE if host.services.status(each).state is ServiceState.RUNNING]


@pytest.fixture
def built_upon(host: Host) -> Host:
    node(host)
    part(host, above())
    return host


def test_what_lives_by_a_changed_service_of_another_part_is_stopped_meanwhile(built_upon: Host) -> None:
    """And nothing else: Windows stops no service while another one that needs it runs."""
    done = node(built_upon, nodes.node(program=b"MZ 2"))
    assert [str(each.key) for each in done.plan.pauses] == [
        "service proxy",
        "service bridge",
        "service kubelet",
    ]
    assert [str(each.target.key) for each in done.plan.resumes] == ["service bridge", "service proxy"]
    assert running(built_upon) == list(ABOVE)
    assert status(built_upon).is_well


def test_it_runs_again_when_the_change_fails(built_upon: Host) -> None:
    before = machine(built_upon)
    with pytest.raises(TakenBack):
        make_so(built_upon, nodes.node(program=b"MZ 2"), Silent(), confirm=fail)
    assert machine(built_upon) == before


HEEDLESS = Service("bridge", TOOL, dependencies=("kubelet",), restart=Restart((5.0,), 600))
"""Of another part, and it does not heed that it is to stop."""


def ended(host: Host) -> tuple[Host, list[int]]:
    """Where it is ended, as Windows cannot stop it; and what was."""
    processes: list[int] = []

    def wait(name: str, state: ServiceState, seconds: float) -> Any:
        if (name, state) == ("bridge", ServiceState.STOPPED) and not processes:
            raise TimedOut("bring", f"service {name} to STOPPED", 1460)
        return host.services.wait(name, state, seconds)

    def of(name: str) -> Any:
        found = host.services.status(name)
        return replace(found, pid=4242) if name == "bridge" else found

    def end(pid: int) -> None:
        processes.append(pid)

    return changed(host, services={"wait": wait, "status": of}, processes={"end": end}), processes


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_what_had_to_be_ended_meanwhile_has_its_recovery_back(host: Host, *, is_cut_off: bool) -> None:
    """It is taken from it so that Windows does not start it again at once."""
    folder, program = Directory(TOOLS, Protection.PROGRAM), File(TOOL, Inline(b"MZ"), Protection.PROGRAM)
    node(host)
    part(host, Specification.of([folder, program, HEEDLESS], title="ConfigMap nodes/windows"))
    heedless, processes = ended(host)
    if is_cut_off:
        cut_off(heedless, 7, lambda powerless: node(powerless, nodes.node(program=b"MZ 2")))
        node(host, nodes.node(program=b"MZ 2"))
    else:
        node(heedless, nodes.node(program=b"MZ 2"))
    assert processes == [4242]
    assert status(host).is_well
    installed = host.services.read("bridge")
    assert installed is not None
    assert installed.definition.recovery.actions[0][0] is RecoveryAction.RESTART


def test_what_somebody_changes_meanwhile_is_left_as_it_is_and_seen(host: Host) -> None:
    folder, program = Directory(TOOLS, Protection.PROGRAM), File(TOOL, Inline(b"MZ"), Protection.PROGRAM)
    node(host)
    part(host, Specification.of([folder, program, HEEDLESS], title="ConfigMap nodes/windows"))
    heedless, _ = ended(host)

    def end(pid: int) -> None:
        heedless.processes.end(pid)
        installed = host.services.read("bridge")
        assert installed is not None
        named = replace(installed.definition, display_name="renamed")
        host.services.restore(replace(installed, definition=named))

    node(changed(heedless, processes={"end": end}), nodes.node(program=b"MZ 2"))
    installed = host.services.read("bridge")
    assert installed is not None
    assert installed.definition.display_name == "renamed"
    assert installed.definition.recovery.actions[0][0] is RecoveryAction.RESTART
    assert not status(host).is_well


def fail() -> None:
    raise CannotBeSo("the node is not there")


@pytest.mark.parametrize("changes", range(14))
def test_it_runs_again_when_what_was_cut_off_is_finished_or_taken_back(
    built_upon: Host, changes: int
) -> None:
    before = machine(built_upon)
    changed = nodes.node(program=b"MZ 2")
    cut_off(built_upon, changes, lambda powerless: node(powerless, changed))
    take_back(built_upon, Silent())
    assert machine(built_upon) == before
    cut_off(built_upon, changes, lambda powerless: node(powerless, changed))
    node(built_upon, changed)
    assert running(built_upon) == list(ABOVE)
    assert status(built_upon).is_well


# Runs that were cut off

PLACES = range(0, 16, 2)


def cut_off(host: Host, changes: int, run: Callable[[Host], object]) -> None:
    with pytest.raises(Killed):
        run(powered(host, Power(changes)))


@pytest.mark.parametrize("changes", PLACES)
def test_the_parts_own_is_taken_back_by_a_run_about_the_node(host: Host, changes: int) -> None:
    node(host)
    part(host, tools())
    cut_off(host, changes, lambda powerless: part(powerless, tools(b"2", tool=False)))
    node(host, nodes.node(config=b"{2}"))
    assert host.files.read(TEXT) == b"1"
    assert status(host).is_well
    part(host, tools(b"2", tool=False))
    assert status(host).is_well


@pytest.mark.parametrize("changes", PLACES)
def test_the_parts_own_is_finished_taken_back_or_reset(host: Host, changes: int) -> None:
    before = picture(host)
    node(host)
    part(host, tools())
    made = machine(host)
    cut_off(host, changes, lambda powerless: part(powerless, tools(b"2", tool=False)))
    take_back(host, Silent())
    assert machine(host) == made
    cut_off(host, changes, lambda powerless: part(powerless, tools(b"2", tool=False)))
    part(host, tools(b"2", tool=False))
    assert host.files.read(TEXT) == b"2"
    assert host.services.read("exporter") is None
    assert status(host).is_well
    cut_off(host, changes, lambda powerless: part(powerless, tools()))
    reset(host, Silent())
    assert picture(host) == before


def test_the_nodes_own_is_somebodys_to_finish(host: Host) -> None:
    node(host)
    cut_off(host, 4, lambda powerless: node(powerless, nodes.node(config=b"{2}")))
    cut = picture(host)
    with pytest.raises(Unfinished):
        part(host, tools())
    assert picture(host) == cut


# Memory


def test_without_parts_it_is_written_so_that_an_older_wmcb_reads_it(host: Host) -> None:
    node(host)
    assert json.loads(host.files.read(STATE / "node.json"))["format"] == 1
    part(host, tools())
    document = json.loads(host.files.read(STATE / "node.json"))
    assert document["format"] == 2
    assert document["parts"] == {PART: {"title": "ConfigMap nodes/windows", "recipe": "r", "command": ""}}
    part(host, Specification(), recipe="")
    assert json.loads(host.files.read(STATE / "node.json"))["format"] == 1


def test_one_that_an_older_wmcb_wrote_is_the_nodes(host: Host) -> None:
    node(host)
    document = json.loads(host.files.read(STATE / "node.json"))
    assert all("parts" not in resource for resource in document["resources"])
    del document["recipe"]
    host.files.write(STATE / "node.json", json.dumps(document).encode(), PRIVATE_FILE)
    part(host, tools())
    assert status(host).is_well
    node(host, Specification.of([Directory(K, Protection.PROGRAM)]))
    assert host.services.read("kubelet") is None
    assert host.services.read("exporter") is not None
