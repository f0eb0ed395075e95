"""A Node with pods, as an API server keeps it: it can be cordoned, and its pods evicted."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

from unit.kube.api_server import Answer, ApiServer, ok, status

REPLICAS = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web", "controller": True}
DAEMONS = {"kind": "DaemonSet", "apiVersion": "apps/v1", "name": "proxy", "controller": True}


class ScheduledNode:
    """`refusals` are given to evictions, one after the other, before any is granted."""

    def __init__(self, server: ApiServer, name: str) -> None:
        self.name = name
        self.annotations: dict[str, str] = {}
        self.unschedulable = False
        self.pods: dict[str, dict[str, Any]] = {}
        self.refusals: list[Answer] = []
        self.refusing: Answer | None = None
        """What every change of the Node is answered with."""
        self.others_change = 0
        """So many times somebody else is quicker."""
        self.cordoned_by = ""
        """The client whose request did; what it has set besides is only its mark."""
        self._version = 1
        self._server = server
        server.at(f"/api/v1/nodes/{name}", self._node)
        server.at("/api/v1/nodes", lambda handler: _give(handler, ok({"items": [self._object()]})))
        server.at("/api/v1/pods", lambda handler: _give(handler, ok({"items": list(self.pods.values())})))

    def has_pod(self, name: str, *owners: dict[str, Any], going: bool = False, **more: Any) -> None:
        metadata = {"namespace": "default", "name": name, "uid": f"uid of {name}", "ownerReferences": owners}
        if going:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        annotations = more.pop("annotations", {})
        self.pods[name] = {"metadata": {**metadata, "annotations": annotations}, **more}
        path = f"/api/v1/namespaces/default/pods/{name}"
        self._server.at(path, lambda handler: _give(handler, self._pod(name)))
        self._server.at(f"{path}/eviction", lambda handler: _give(handler, self._evicted(name)))

    @property
    def evictions(self) -> list[str]:
        asked = [target.partition(" ")[2] for target in self._server.targets if target.startswith("POST ")]
        return [target.split("/")[-2] for target in asked if target.endswith("/eviction")]

    def _pod(self, name: str) -> Answer:
        return ok(self.pods[name]) if name in self.pods else status(404, "NotFound")

    def _evicted(self, name: str) -> Answer:
        if self.refusals:
            return self.refusals.pop(0)
        del self.pods[name]
        return ok({"kind": "Status", "status": "Success"})

    def _node(self, handler: BaseHTTPRequestHandler) -> None:
        if handler.command == "PATCH":
            _give(handler, self._changed(json.loads(self._server.asked[-1].body)))
            return
        told = ok(self._object())
        if self.others_change:
            self.others_change -= 1
            self._version += 1
        _give(handler, told)

    def _object(self) -> dict[str, Any]:
        metadata = {
            "name": self.name,
            "annotations": self.annotations,
            "resourceVersion": str(self._version),
            "managedFields": self._managers(),
        }
        return {"metadata": metadata, "spec": {"unschedulable": True} if self.unschedulable else {}}

    def _managers(self) -> list[dict[str, Any]]:
        """The fields that each client has set, as an API server keeps them."""
        fields: dict[str, dict[str, Any]] = {}
        if self.annotations:
            marks: dict[str, Any] = {f"f:{name}": {} for name in self.annotations}
            fields.setdefault("wmcb", {})["f:metadata"] = {"f:annotations": marks}
        if self.unschedulable and self.cordoned_by:
            fields.setdefault(self.cordoned_by, {})["f:spec"] = {"f:unschedulable": {}}
        return [
            {"manager": name, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": set_}
            for name, set_ in fields.items()
        ]

    def _changed(self, change: dict[str, Any]) -> Answer:
        if self.refusing:
            return self.refusing
        metadata = change["metadata"]
        if metadata.get("resourceVersion", str(self._version)) != str(self._version):
            return status(409, "Conflict")
        for name, value in metadata["annotations"].items():
            self.annotations.pop(name, None)
            self.annotations |= {name: value} if value is not None else {}
        if "spec" in change:
            self.unschedulable = bool(change["spec"]["unschedulable"])
            self.cordoned_by = "wmcb"
        self._version += 1
        return ok({})


def _give(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.send_response(answer.status)
    for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(answer.body)
