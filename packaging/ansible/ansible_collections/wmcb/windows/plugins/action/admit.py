"""Approves a node's own requests, until it is there under the name wanted, and well."""

from __future__ import annotations

from typing import Any, ClassVar

from ansible_collections.wmcb.windows.plugins.module_utils.acting import CLUSTER, Acting
from ansible_collections.wmcb.windows.plugins.module_utils.admission import Admission
from ansible_collections.wmcb.windows.plugins.module_utils.certificate_requests import Expected

_NAMES: dict[str, Any] = {"type": "list", "elements": "str"}


class ActionModule(Acting):
    options: ClassVar[dict[str, Any]] = {
        **CLUSTER,
        "node_name": {"type": "str", "required": True},
        "addresses": {**_NAMES, "required": True},
        "names": {**_NAMES, "default": []},
        "requestors": {**_NAMES, "required": True},
        "seconds": {"type": "int", "default": 300},
    }

    def act(self, given: dict[str, Any]) -> dict[str, Any]:
        expected = Expected(given["node_name"], given["addresses"], given["names"], given["requestors"])
        admission = Admission(self.cluster(given), expected)
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
            return {**result, "failed": True, "msg": "; ".join([text, *admission.refused.values()])}
        return {**result, "msg": "; ".join([*admission.approved, _well(given)])}


def _well(given: dict[str, Any]) -> str:
    return f"the Node {given['node_name']} is Ready"
