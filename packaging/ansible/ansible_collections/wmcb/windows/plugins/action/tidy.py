"""Removes from a machine what was brought there."""

from __future__ import annotations

from typing import Any

from ansible_collections.wmcb.windows.plugins.module_utils.acting import Acting


class ActionModule(Acting):
    def act(self, given: dict[str, Any]) -> dict[str, Any]:
        del given
        machine = self.machine()
        if self.checking:
            return {"changed": False, "msg": f"{machine.staging} would go"}
        machine.remove(machine.staging)
        return {"changed": False, "msg": f"{machine.staging} is gone"}
