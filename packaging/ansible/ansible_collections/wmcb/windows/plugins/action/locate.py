"""Asks the cluster which wmcb.exe it wants of a node."""

from __future__ import annotations

from typing import Any, ClassVar

from ansible_collections.wmcb.windows.plugins.module_utils.acting import CLUSTER, Acting
from ansible_collections.wmcb.windows.plugins.module_utils.own_program import place_of


class ActionModule(Acting):
    options: ClassVar[dict[str, Any]] = {
        **CLUSTER,
        "config_map": {
            "type": "dict",
            "required": True,
            "options": {
                "namespace": {"type": "str", "required": True},
                "name": {"type": "str", "required": True},
                "public_key": {"type": "path"},
            },
        },
        "node_name": {"type": "str", "required": True},
    }

    def act(self, given: dict[str, Any]) -> dict[str, Any]:
        place = place_of(given["config_map"], given["node_name"], self.cluster(given))
        # A URL's query is a signature, more often than not. What fails is told: that is no result.
        return {"changed": False, **place, "_ansible_no_log": True}
