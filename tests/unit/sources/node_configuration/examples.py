"""The examples in tests/data, and what is expected of each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any, cast

from agent.sources.node_configuration import reading as node_configuration
from agent.sources.node_configuration.compiling import compile_node
from agent.sources.node_configuration.model import NodeConfiguration
from agent.sources.report import Report
from agent.spec import Artifact, Content, Inline, Want

DATA = Path(__file__).parents[3] / "data" / "node_configuration"
HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"


class Downloaded:
    """Of a known hash."""

    def __init__(self, sha256: str) -> None:
        self.sha256, self.size = sha256, 0

    def blocks(self) -> tuple[bytes, ...]:
        return ()


class Obtaining:
    """Knows of an archive what is said here, and of a file what its digest says."""

    def __init__(self, **files: dict[str, str]) -> None:
        self._files = files

    def resolved(self, artifact: Artifact) -> Artifact | None:
        if artifact.name in self._files:
            return replace(artifact, digest="sha256:" + "a" * 64, files=self._files[artifact.name])
        if isinstance(artifact.place, PureWindowsPath) and artifact.digest:
            return replace(artifact, files={str(artifact.place): artifact.digest.partition(":")[2]})
        return None

    def content(self, sha256: str) -> Content:
        return Downloaded(sha256)


obtain = Obtaining()


def documents(text: str, name: str = "node.yaml") -> tuple[NodeConfiguration, ...]:
    outcome = node_configuration.read(name, text.encode())
    assert outcome.documents, told(outcome.report)
    return outcome.documents


def told(report: Report) -> list[str]:
    return [str(entry) for entry in report.entries]


def judged(contents: bytes) -> tuple[list[str], list[dict[str, Any]]]:
    """What is told, and what is wanted then."""
    outcome = node_configuration.read("node.yaml", contents)
    if not outcome.documents:
        return told(outcome.report), []
    compiled = compile_node(outcome.documents, obtain, "node.yaml")
    if compiled.specification is None:
        return told(compiled.report), []
    return told(compiled.report), [shown(want) for want in compiled.specification.wants]


def shown(want: Want) -> dict[str, Any]:
    fields = {name: _plain(getattr(want, name)) for name in _names(want)}
    return {
        "kind": want.kind,
        **{name: value for name, value in fields.items() if value not in (None, [], {})},
    }


def _names(want: Want) -> tuple[str, ...]:
    return cast("tuple[str, ...]", type(want).__match_args__)  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:
    if isinstance(value, Inline):
        return b"".join(value.blocks()).decode("latin-1")
    if isinstance(value, Downloaded):
        return f"sha256 {value.sha256}"
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict | str | int | float | None):
        return value
    return str(value)


def expected(path: Path) -> Any:
    return json.loads(path.with_suffix(".expected.json").read_text())
