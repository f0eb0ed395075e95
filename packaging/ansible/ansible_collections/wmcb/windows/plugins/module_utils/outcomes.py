"""What wmcb.exe says it did, or would do, in Ansible's words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.wmcb.windows.plugins.module_utils.machine import Ended

_FORMAT = 1
_FAILED = 1


@dataclass(frozen=True)
class Outcome:
    """`fault` is empty where it went well. `awaiting`: what Windows has to be restarted for."""

    document: dict[str, Any]
    fault: str = ""
    details: Sequence[str] = ()

    @property
    def tells_changes(self) -> bool:
        """Not of a status, nor of a failure: none is not the same as nothing to do."""
        return "changes" in self.document

    @property
    def changes(self) -> Sequence[str]:
        """A line each."""
        return [_line(change) for change in self.document.get("changes", ())]

    @property
    def awaiting(self) -> Sequence[str]:
        return [*self.document.get("awaiting", ())]

    @property
    def left(self) -> Sequence[str]:
        """What had to stay, and why."""
        return [*self.document.get("left", ())]

    @property
    def plan(self) -> str:
        """As a person reads it."""
        lines = [
            line
            for change in self.document.get("changes", ())
            for line in (_line(change), *_differences(change))
        ]
        if not lines:
            lines = ["nothing to do"]
        remarks = [f"note: {remark}" for remark in self.document.get("remarks", ())]
        return "".join(f"{line}\n" for line in [*lines, *remarks])


def read(ended: Ended) -> Outcome:
    """Decided by the document as far as it tells: SSH cuts exit codes."""
    try:
        document = json.loads(ended.out)
    except ValueError:
        last = (ended.err.strip() or ended.out.strip() or f"exit code {ended.code}").splitlines()
        return Outcome({}, f"wmcb.exe could not be run: {last[-1]}", last[-10:-1])
    if document.get("format") != _FORMAT:
        return Outcome({}, f"this collection does not know wmcb's format {document.get('format')}")
    if error := document.get("error"):
        others = [other["message"] for other in error["others"]]
        return Outcome(document, "; ".join([*others, error["message"]]), error["details"])
    failed = [c for c in document.get("checks", ()) if c["verdict"] == "error"]
    if failed:
        return Outcome(document, "; ".join(f"{check['id']}: {check['text']}" for check in failed))
    if ended.code == _FAILED and "left" in document:
        # A reset that could not take all of it back: the rest goes with the next one.
        return Outcome(document, "; ".join(document["left"]))
    return Outcome(document)


def _line(change: dict[str, Any]) -> str:
    kind, name = change["resource"]
    return f"{change['action']} {kind} {name}"


def _differences(change: dict[str, Any]) -> Iterator[str]:
    if change["action"] == "create":
        return
    for each in change["differences"]:
        yield f"  {each['field']}: {_shown(each['found'])} -> {_shown(each['wanted'])}"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
