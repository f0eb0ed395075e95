"""Runs wmcb.exe on a machine, and tells what it changed there, or would."""

from __future__ import annotations

import ntpath
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ansible_collections.wmcb.windows.plugins.module_utils import logs, outcomes, sources
from ansible_collections.wmcb.windows.plugins.module_utils.acting import CLUSTER, NODE, Acting, expected
from ansible_collections.wmcb.windows.plugins.module_utils.admission import Admission
from ansible_collections.wmcb.windows.plugins.module_utils.joining import invitation
from ansible_collections.wmcb.windows.plugins.module_utils.machine import Machine
from ansible_collections.wmcb.windows.plugins.module_utils.outcomes import Outcome
from ansible_collections.wmcb.windows.plugins.module_utils.restarting import restart

_RESIDENT = "daemon"
"""Its commands tell nothing as JSON, and have no --dry-run."""

_OF_STATUS = ("title", "resident")
"""What is handed on of it."""


@dataclass
class Brought:
    """`documents` on the control host, by the options that take them; and for a join, who asks for what."""

    documents: dict[str, Path] = field(default_factory=dict)
    requestor: str = ""
    admission: Admission | None = None


class ActionModule(Acting):
    options: ClassVar[dict[str, Any]] = {
        **CLUSTER,
        "program": {"type": "str", "required": True},
        "command": {"type": "list", "elements": "str", "default": []},
        "options": {"type": "dict", "default": {}},
        "node_configuration": {"type": "dict"},
        "ignition": {"type": "dict"},
        "join": {
            "type": "dict",
            "options": {**NODE, "registration": {"type": "dict", "default": {}}},
        },
        "cache": {"type": "path", "required": True},
        "looks_only": {"type": "bool", "default": False},
        "restart": {"type": "bool", "default": False},
        "seconds": {"type": "int", "default": 900},
    }

    def act(self, given: dict[str, Any]) -> dict[str, Any]:
        machine = self.machine()
        if given["command"][:1] == [_RESIDENT]:
            return self._of_the_resident(given, machine)
        words = [*given["command"], *_words(given["options"]), "--output=json"]
        if self.checking and not given["looks_only"]:
            words.append("--dry-run")
        with ExitStack() as stack:
            brought = self._brought(given, stack)
            for option, local in brought.documents.items():
                there = ntpath.join(machine.staging, "given", option.strip("-"))
                stack.callback(machine.remove, there)
                machine.put(local, there)
                words.append(f"{option}={there}")
            outcome = outcomes.read(machine.run(given["program"], words))
            before: list[str] = []
            while outcome.awaiting and given["restart"] and not self.checking:
                before += outcome.changes
                restart(machine, given["seconds"])
                outcome = outcomes.read(machine.run(given["program"], words))
        if brought.admission:
            before += brought.admission.approved
        known = {name: outcome.document[name] for name in _OF_STATUS if name in outcome.document}
        told = self._told(outcome, machine, before)
        if outcome.awaiting and not (given["looks_only"] or self.checking or outcome.fault):
            told |= _restart_needed(outcome, is_done=given["command"] == ["reset"])
        return {**told, **known, "requestor": brought.requestor}

    def _of_the_resident(self, given: Mapping[str, Any], machine: Machine) -> dict[str, Any]:
        words = [*given["command"], *_words(given["options"])]
        if self.checking:
            return {"changed": True, "msg": " ".join(words)}
        ended = machine.run(given["program"], words)
        told = (ended.err if ended.code else ended.out).strip()
        return {"changed": not ended.code, "failed": bool(ended.code), "msg": told}

    def _brought(self, given: Mapping[str, Any], stack: ExitStack) -> Brought:
        cluster, cache, brought = self.cluster(given), Path(given["cache"]), Brought()
        if given["node_configuration"]:
            brought.documents["--node-config"] = sources.local_file(given["node_configuration"], cache)
        if given["ignition"]:
            ignition = sources.ignition(given["ignition"], cluster, cache, self.folder)
            brought.documents["--ignition"] = ignition
        if join := given["join"]:
            # In check mode, too: nobody else may read what the cluster wants of its nodes.
            invited = stack.enter_context(invitation(cluster, join["node_name"], join["registration"]))
            brought.documents["--kubeadm-config"] = sources.private_file(invited.configuration, self.folder)
            brought.requestor = invited.requestor
            if not self.checking:
                brought.admission = Admission(cluster, expected(join, [invited.requestor]))
                stack.enter_context(brought.admission.meanwhile())
        return brought

    def _told(self, outcome: Outcome, machine: Machine, before: Sequence[str]) -> dict[str, Any]:
        """`before` is what was changed on the way there."""
        changes = [*before, *outcome.changes]
        result: dict[str, Any] = {"changed": bool(changes), "changes": changes}
        if outcome.tells_changes:
            result["diff"] = {"prepared": outcome.plan}
        if outcome.fault:
            return {**result, "failed": True, "msg": self._fault(outcome, machine), "changed": bool(before)}
        if not outcome.tells_changes:
            return result
        return {**result, "msg": "; ".join(changes) or "nothing to do", "warnings": outcome.left}

    def _fault(self, outcome: Outcome, machine: Machine) -> str:
        log = self.fetched(machine, logs.WMCB_LOG)
        place = logs.place_of(outcome.fault, log) if log else ""
        return "\n".join([outcome.fault, *outcome.details, *([f"see {place}"] if place else [])])


def _restart_needed(outcome: Outcome, *, is_done: bool) -> dict[str, Any]:
    """Where all is done a person is told; else it has to go on after that."""
    text = f"restart Windows on this machine: {'; '.join(outcome.awaiting)}"
    if is_done:
        return {"warnings": [*outcome.left, text]}
    return {"failed": True, "msg": f"{text}; then run this again, or have wmcb_restart do both"}


def _words(options: Mapping[str, Any]) -> list[str]:
    """As the command line has them: true stands alone, a list is written with commas."""
    words = []
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif isinstance(value, list):
            words.append(f"--{name}={','.join(map(str, value))}")
        elif value is not False and value is not None:
            words.append(f"--{name}={value}")
    return words
