"""The Ignition configurations in tests/data/ignition, and what a Windows node is to be by each.

Run as a program, with the repository on PYTHONPATH, it writes each *.specification.txt anew, to be read and
judged before it is committed.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Any

from agent.sources import ignition, worker
from agent.sources.kubelet.node import RUNTIME_ENDPOINT, Kubelet, Node
from agent.spec import Directory, EnvironmentVariable, File, Inline, Note, Service, Want

DATA = Path(__file__).parents[3] / "data" / "ignition"
PROGRAM = Inline(b"MZ, as far as this matters")
LOG_RUNNER = worker.LogRunner("log-runner.exe", Inline(b"MZ, too"), ("--file", str(worker.KUBELET_LOG)))
_SERVER = "https://api-int.winc.example.com:22623/config/worker"


def names() -> list[str]:
    return sorted(_nodes())


def _nodes() -> dict[str, Any]:
    nodes: dict[str, Any] = json.loads((DATA / "nodes.json").read_bytes())
    return nodes


def compiled(
    name: str, kubelet_version: str = "", runtime_endpoint: str = RUNTIME_ENDPOINT
) -> worker.Compiled:
    """As nodes.json says, or for another release of the kubelet."""
    said = _nodes()[name]

    def server(request: ignition.Request) -> Iterator[bytes]:
        assert request.url == _SERVER
        yield (DATA / f"{name.replace('pointer', 'worker')}.ign").read_bytes()

    outcome = ignition.load(f"{name}.ign", (DATA / f"{name}.ign").read_bytes(), server)
    known: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in said["node"].items()
    }
    kubelet = Kubelet.of_version(kubelet_version or said["kubelet"])
    assert kubelet
    placement = worker.Placement(
        None if said.get("in_place") else PROGRAM,
        LOG_RUNNER,
        PureWindowsPath(said.get("install_directory", r"C:\k")),
    )
    return worker.compiled(outcome, Node(**known, runtime_endpoint=runtime_endpoint), kubelet, placement)


def expected(name: str) -> str:
    return (DATA / f"{name}.specification.txt").read_text(encoding="utf-8")


def shown(made: worker.Compiled) -> str:
    specification = made.specification
    assert specification, [str(entry) for entry in made.report.entries]
    paragraphs = [
        [specification.title],
        [str(entry) for entry in made.report.entries],
        *(list(_want(want)) for want in specification.wants),
        [line for note in specification.notes for line in _note(note)],
    ]
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines) + "\n"


def _want(want: Want) -> Iterator[str]:
    yield str(want.key)
    if isinstance(want, Directory):
        extra = [", belongs to the node"] * want.belongs_to_node + [", shared"] * want.shared
        yield f"    {want.protection.value}{''.join(extra)}"
    elif isinstance(want, File):
        content = "in place"
        if want.content:
            content = f"{want.content.size} bytes, sha256 {want.content.sha256}"
        yield f"    {want.protection.value}, {content}"
        if want.content and want.path.name == "kubelet.conf":
            yield textwrap.indent(b"".join(want.content.blocks()).decode().rstrip(), "    ")
    elif isinstance(want, EnvironmentVariable):
        yield f"    {want.value}"
    else:
        assert isinstance(want, Service)
        yield from _service(want)


def _service(want: Service) -> Iterator[str]:
    yield f"    {want.display_name}: {want.description}"
    yield f"    starts: {want.start.value}, after {', '.join(want.dependencies)}"
    assert want.restart
    yield f"    starts again after {want.restart.after_seconds} s, {want.restart.forgiven_after_seconds}"
    yield f"    shuts down within {want.preshutdown_seconds}, stops within {want.stop_within_seconds} s"
    if want.health:
        yield f"    is well: {want.health.port}{want.health.path} within {want.health.within_seconds} s"
    yield f"    logs to {want.log}"
    yield from (f"    environment {name}={value}" for name, value in want.environment.items())
    yield from (f"    reads {key}" for key in want.reads)
    yield f"    {want.program}"
    yield from (f"        {argument}" for argument in want.arguments)


def _note(note: Note) -> Iterator[str]:
    yield f"{note.effect.value} {note.subject}: {note.reason}"
    if note.before or note.after:
        yield f"    {note.before or '-'} -> {note.after or '-'}"


if __name__ == "__main__":
    for example in names():
        path = DATA / f"{example}.specification.txt"
        path.write_text(shown(compiled(example)), encoding="utf-8")
