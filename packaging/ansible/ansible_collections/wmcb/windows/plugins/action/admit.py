"""Approves a node's own requests, until it is there under the name wanted, and well."""

from __future__ import annotations

from typing import Any, ClassVar

from ansible_collections.wmcb.windows.plugins.module_utils import logs
from ansible_collections.wmcb.windows.plugins.module_utils.acting import (
    CLUSTER,
    NAMES,
    NODE,
    Acting,
    expected,
)
from ansible_collections.wmcb.windows.plugins.module_utils.admission import Admission


class ActionModule(Acting):
    options: ClassVar[dict[str, Any]] = {
        **CLUSTER,
        **NODE,
        "requestors": {**NAMES, "required": True},
        "seconds": {"type": "int", "default": 300},
    }

    def act(self, given: dict[str, Any]) -> dict[str, Any]:
        admission = Admission(self.cluster(given), expected(given, given["requestors"]))
        if self.checking:
            admission.look(approving=False)
            return {"changed": bool(admission.missing), "msg": admission.missing or _well(given)}
        admission.wait(given["seconds"])
        result = {
            "changed": bool(admission.approved),
            "changes": admission.approved,
            "warnings": [*admission.refused.values()],
        }
        if admission.missing:
            text = f"{admission.missing} (waited for {given['seconds']} s)"
            text = "; ".join([text, *admission.refused.values()])
            return {**result, "failed": True, "msg": "\n".join([text, *self._reasons()])}
        return {**result, "msg": "; ".join([*admission.approved, _well(given)])}

    def _reasons(self) -> list[str]:
        """What the kubelet says of it, if that can be had."""
        log = self.fetched(self.machine(), logs.KUBELET_LOG)
        return [f"see {place}" for place in (logs.last_troubles(log) if log else ())]


def _well(given: dict[str, Any]) -> str:
    return f"the Node {given['node_name']} is Ready"
