"""Runs wmcb.exe on a machine, and tells what it changed there, or would."""

from __future__ import annotations

import ntpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ansible_collections.wmcb.windows.plugins.module_utils import logs, outcomes, sources
from ansible_collections.wmcb.windows.plugins.module_utils.acting import CLUSTER, Acting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.wmcb.windows.plugins.module_utils.machine import Machine
    from ansible_collections.wmcb.windows.plugins.module_utils.outcomes import Outcome


class ActionModule(Acting):
    options: ClassVar[dict[str, Any]] = {
        **CLUSTER,
        "program": {"type": "str", "required": True},
        "command": {"type": "list", "elements": "str", "default": []},
        "options": {"type": "dict", "default": {}},
        "ignition": {"type": "dict"},
        "cache": {"type": "path", "required": True},
        "looks_only": {"type": "bool", "default": False},
    }

    def act(self, given: dict[str, Any]) -> dict[str, Any]:
        machine = self.machine()
        words = [*given["command"], *_words(given["options"]), "--output=json"]
        if self.checking and not given["looks_only"]:
            words.append("--dry-run")
        document = self._document(given)
        if document is None:
            outcome = outcomes.read(machine.run(given["program"], words))
        else:
            option, local = document
            there = ntpath.join(machine.staging, "given", option.strip("-"))
            machine.put(local, there)
            try:
                outcome = outcomes.read(machine.run(given["program"], [*words, f"{option}={there}"]))
            finally:
                machine.remove(there)
        return self._told(outcome, machine)

    def _document(self, given: Mapping[str, Any]) -> tuple[str, Path] | None:
        """The option that takes it, and where it is on the control host."""
        if given["ignition"] is None:
            return None
        cluster = self.cluster(dict(given))
        local = sources.ignition(given["ignition"], cluster, Path(given["cache"]), self.folder)
        return "--ignition", local

    def _told(self, outcome: Outcome, machine: Machine) -> dict[str, Any]:
        result: dict[str, Any] = {
            "changed": bool(outcome.changes),
            "changes": [*outcome.changes],
            "diff": {"prepared": outcome.plan},
        }
        if outcome.fault:
            return {**result, "failed": True, "msg": self._fault(outcome, machine), "changed": False}
        if outcome.awaiting and not self.checking:
            why = "; ".join(outcome.awaiting)
            text = f"restart Windows on this machine, and run this again: {why}"
            return {**result, "failed": True, "msg": text}
        return {**result, "msg": "; ".join(outcome.changes) or "nothing to do"}

    def _fault(self, outcome: Outcome, machine: Machine) -> str:
        log = self.fetched(machine, logs.WMCB_LOG)
        place = logs.place_of(outcome.fault, log) if log else ""
        return "\n".join([outcome.fault, *outcome.details, *([f"see {place}"] if place else [])])


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
