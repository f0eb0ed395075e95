"""All that leaves the process does so by modules that are named here: by `agent.redaction` where users may
read it, or where it goes elsewhere.

A new module that writes in one of these ways has to be named, with the reason why no secret leaves by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

REDACTS = "passes what it writes through agent.redaction"
PRIVATE = "a file for SYSTEM and administrators, of what the product needs again"
CONTENT = "a file as a document wants it, with the rights that it names"
HOST = "the machine itself, or the folder that stands for it: it writes what it is given"
NO_TEXT = "no text of a document's: an empty one, a fixed word, or a hash"

WRITERS: dict[str, dict[str, str]] = {
    "a stream": {
        "agent/cli/streams.py": REDACTS,
        "agent/cli/main.py": "only sets how the streams encode",
        "agent/cli/engine_run.py": "only asks whether it is a console, and how wide",
        "agent/cli/outlook.py": "only asks whether it shows colours",
        "agent/cli/preflight.py": "only asks whether it shows colours",
        "agent/cli/status.py": "only asks whether it shows colours",
        "agent/cli/audit.py": "only asks whether it shows colours",
        "agent/sources/node_configuration/published.py": "the published schema, when the product is built",
    },
    "an event": {"agent/cli/run_log.py": REDACTS, "service/telling.py": REDACTS},
    "the cluster": {
        "service/reporting.py": REDACTS,
        "agent/cli/operator.py": NO_TEXT,
        "agent/cli/join_cluster.py": "the address of the container runtime's pipe, as kubeadm has it",
        "agent/kube/draining.py": NO_TEXT,
    },
    "a file of the machine": {
        "agent/cli/run_log.py": REDACTS,
        "agent/cli/support_bundle.py": "what it and agent.cli.scrubbing have redacted",
        "agent/cli/running_program.py": "a script that stands for the program in a sandbox",
        "service/standing.py": REDACTS,
        "service/elsewhere.py": f"{PRIVATE}, sealed",
        "service/continuing.py": f"{PRIVATE}, sealed",
        "service/installation.py": "the program itself",
        "service/succession.py": PRIVATE,
        "service/pausing.py": NO_TEXT,
        "service/operated.py": NO_TEXT,
        "service/operator_services.py": "certificates, of authorities that the machine trusts",
        "agent/private_keys.py": f"{PRIVATE}, for as long as TLS takes to load it",
        "agent/host/windows/processes.py": NO_TEXT,
        "agent/engine/inventory.py": f"{PRIVATE}, with passwords sealed",
        "agent/engine/journal.py": f"{PRIVATE}, with passwords sealed",
        "agent/engine/repairing.py": PRIVATE,
        "agent/engine/state_folder.py": PRIVATE,
        "agent/resources/own_folder.py": f"{PRIVATE}, with passwords of artifacts sealed",
        "agent/resources/command.py": PRIVATE,
        "agent/resources/containerd_configuration.py": CONTENT,
        "agent/resources/file.py": CONTENT,
        "agent/artifacts/receiving.py": PRIVATE,
        "agent/artifacts/stock.py": PRIVATE,
    },
    "a file of this system": {
        "agent/cli/support_bundle.py": "what it and agent.cli.scrubbing have redacted",
        "agent/cli/streams.py": "puts the system's own waste bin in a closed stream's place",
        "agent/host/sandbox/descriptors.py": HOST,
        "agent/host/sandbox/processes.py": REDACTS,
        "agent/host/sandbox/programs.py": HOST,
        "agent/host/sandbox/state.py": HOST,
        "agent/host/sandbox/volume.py": HOST,
        "agent/host/sandbox/files.py": HOST,
        "agent/host/sandbox/held.py": HOST,
        "agent/kube/key_files.py": "a key pair for TLS, in a file of the caller's own",
    },
    "a service's command line": {
        "service/installation.py": "the arguments of daemon run: secrets stand in a private file instead",
        "service/continuing.py": "one word: what is run stands in a sealed file",
        "service/succession.py": "words of its own",
        "agent/host/definitions.py": HOST,
        "agent/host/sandbox/__init__.py": HOST,
        "agent/host/windows/services.py": HOST,
        "agent/resources/service.py": "as a document wants it",
    },
    "the log of Python": {
        "agent/certificates.py": "it silences what cryptography warns of",
    },
}

_LOGGING = {"logging", "warnings", "syslog"}
_WRITING_METHODS = {"write_text", "write_bytes"}
_STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def _ways(tree: ast.AST) -> Iterator[str]:
    """How a module writes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _STREAMS and _name(node.value) == "sys":
            yield "a stream"
        elif (isinstance(node, ast.Import) and _LOGGING.intersection(each.name for each in node.names)) or (
            isinstance(node, ast.ImportFrom) and node.module in _LOGGING
        ):
            yield "the log of Python"
        elif isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(call: ast.Call) -> Iterator[str]:
    name = _name(call.func)
    on, _, method = name.rpartition(".")
    holder = on.rpartition(".")[2]
    if name == "print" or name.startswith("traceback.print"):
        yield "a stream"
    elif name == "ServiceDefinition":
        yield "a service's command line"
    elif method in ("write", "report") and holder in ("events", "_events"):
        yield "an event"
    elif (
        method in ("write", "append")
        and len(call.args) > 1
        and holder in ("files", "_files", "folder", "_folder")
    ):
        yield "a file of the machine"
    elif method in ("patch", "create") and holder in ("client", "_client"):
        yield "the cluster"
    elif method in _WRITING_METHODS or name in ("os.write", "os.fdopen", "json.dump"):
        yield "a file of this system"
    elif method == "open" or name == "open":
        given = (*call.args, *(word.value for word in call.keywords))
        modes = [str(each.value) for each in given if isinstance(each, ast.Constant) and each.value]
        names = {_name(each) for each in ast.walk(call) if isinstance(each, ast.Attribute)}
        if any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes if mode) or (
            {"os.O_WRONLY", "os.O_RDWR", "os.O_APPEND"} & names
        ):
            yield "a file of this system"


def _name(node: ast.AST) -> str:
    """With dots; what is called on the way leaves its name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return _name(node.func) if isinstance(node, ast.Call) else ""


@cache
def _found() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {way: set() for way in WRITERS}
    for path in sorted([*ROOT.glob("agent/**/*.py"), *ROOT.glob("service/**/*.py")]):
        for way in _ways(ast.parse(path.read_text(encoding="utf-8"))):
            found[way].add(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize("way", WRITERS)
def test_who_writes_is_named(way: str) -> None:
    assert _found()[way] == set(WRITERS[way])


def test_who_is_said_to_redact_imports_what_does() -> None:
    redacting = {path for paths in WRITERS.values() for path, why in paths.items() if why == REDACTS}
    for path in sorted(redacting):
        assert "from agent.redaction import" in (ROOT / path).read_text(encoding="utf-8"), path


BYPASSES = {
    "print('x')": "a stream",
    "import sys\nsys.stderr.write('x')": "a stream",
    "import traceback\ntraceback.print_exc()": "a stream",
    "import logging": "the log of Python",
    "host.events.write('wmcb', 1, 2, 'x')": "an event",
    "self._host.files.append(path, b'x', PRIVATE_FILE)": "a file of the machine",
    "open('x', 'w')": "a file of this system",
    "Path('x').open(mode='ab')": "a file of this system",
    "os.open('x', os.O_WRONLY | os.O_CREAT)": "a file of this system",
    "json.dump({}, file)": "a file of this system",
    "client.patch(path, {})": "the cluster",
    "ServiceDefinition('x', ('y',))": "a service's command line",
}


@pytest.mark.parametrize(("code", "way"), BYPASSES.items())
def test_a_writer_that_is_new_would_be_seen(code: str, way: str) -> None:
    assert way in set(_ways(ast.parse(code)))
