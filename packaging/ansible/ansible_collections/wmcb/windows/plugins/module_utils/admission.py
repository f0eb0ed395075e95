"""A node's way into the cluster: its requests for certificates are answered, until it answers itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.wmcb.windows.plugins.module_utils.certificate_requests import (
    API,
    CLIENT,
    Expected,
    approved,
    fault_of,
    is_about,
    is_pending,
)
from ansible_collections.wmcb.windows.plugins.module_utils.cluster import Cluster, Unanswered

_PAUSE = 1.0


@dataclass
class Admission:
    """At the last look `refused` says why, by a request's name; `missing` is empty when the node is in."""

    cluster: Cluster
    expected: Expected
    approved: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    missing: str = "not looked yet"

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            self.look()
            if not self.missing or time.monotonic() > end:
                return
            time.sleep(_PAUSE)

    @contextmanager
    def meanwhile(self) -> Iterator[None]:
        """Answers requests for as long as something else is under way that waits for the answers."""
        over = threading.Event()
        failed: list[Exception] = []

        def answer() -> None:
            while not over.wait(_PAUSE):
                try:
                    self.look()
                except Unanswered:
                    pass  # whoever needs the answer says so when there is none
                except Exception as fault:  # noqa: BLE001 - it would end with this thread, and nobody would know
                    failed.append(fault)
                    return

        thread = threading.Thread(target=answer, name="admission")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        if failed:
            raise failed[0]

    def look(self, *, approving: bool = True) -> None:
        """Once. Without `approving` it only tells."""
        name = self.expected.node_name
        node = self.cluster.find("node", name)
        is_ready = node is not None and _is_ready(node)
        self.refused.clear()
        if approving:
            for request in self.cluster.items("certificatesigningrequests"):
                if is_pending(request) and is_about(request, name):
                    self._answer(request, is_ready=is_ready)
        if node is None:
            self.missing = f"there is no Node {name}"
        elif not is_ready:
            self.missing = f"the Node {name} is not Ready: {_why(node)}"
        else:
            self.missing = self._silence()

    def _answer(self, request: Mapping[str, Any], *, is_ready: bool) -> None:
        name = request["metadata"]["name"]
        kind = "client" if request["spec"]["signerName"] == CLIENT else "serving"
        fault = fault_of(request, self.expected, is_ready=is_ready)
        if fault:
            self.refused[name] = f"the request {name} for a {kind} certificate is not approved: {fault}"
            return
        try:
            self.cluster.replace_raw(f"{API}/{name}/approval", approved(request))
        except Unanswered as refusal:  # the cluster's own controller was quicker, say
            self.refused[name] = str(refusal)
            return
        self.approved.append(f"approve {kind} certificate {name}")

    def _silence(self) -> str:
        """Until it has its serving certificate a kubelet cannot be asked for logs, and runs no exec."""
        name = self.expected.node_name
        try:
            self.cluster.raw(f"/api/v1/nodes/{name}/proxy/healthz")
        except Unanswered as fault:
            return f"the kubelet of {name} does not answer the API server: {fault}"
        return ""


def _is_ready(node: Mapping[str, Any]) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in _conditions(node))


def _why(node: Mapping[str, Any]) -> str:
    return next((c["message"] for c in _conditions(node) if c["type"] == "Ready"), "it has said nothing yet")


def _conditions(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    conditions: list[dict[str, Any]] = node.get("status", {}).get("conditions", [])
    return conditions
