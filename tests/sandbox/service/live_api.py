"""An API server with a few objects that a test changes, and whoever watches them is told."""

from __future__ import annotations

import json
import pathlib
import ssl
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from unit.fetch.authority import Issued, issue, serving
from unit.kube.api_server import ROOT, Answer, ApiServer

CONFIG_MAPS = "/api/v1/namespaces/nodes/configmaps"
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"
_PATIENCE = 30.0


class Collection:
    """Answers lists and watches of one name, and of all where that is expected."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._history: list[tuple[int, str, dict[str, Any]]] = []
        self._things: dict[str, dict[str, Any]] = {}
        self._version = 10
        self._over = False
        self.lists = 0
        self.is_listed_whole = False
        """Also to those who name no name."""
        self.refusal: Answer | None = None
        """Of watches."""

    def thing(self, name: str) -> dict[str, Any]:
        return self._things[name]

    def put(self, name: str, **thing: Any) -> None:
        kind = "MODIFIED" if name in self._things else "ADDED"
        metadata = {**thing.pop("metadata", {}), "name": name}
        self._change(kind, name, {"metadata": metadata, **thing})

    def remove(self, name: str) -> None:
        self._change("DELETED", name, self._things[name])

    def patched(self, name: str, change: dict[str, Any]) -> None:
        """Its annotations."""
        thing = self._things[name]
        annotations = {**thing["metadata"].get("annotations", {}), **change["metadata"]["annotations"]}
        annotations = {key: value for key, value in annotations.items() if value is not None}
        self.put(name, **{**thing, "metadata": {**thing["metadata"], "annotations": annotations}})

    def end(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        query = parse_qs(urlsplit(handler.path).query)
        selector = query.get("fieldSelector")
        assert selector or self.is_listed_whole, "one object is asked for, by its name"
        name = selector[0].removeprefix("metadata.name=") if selector else None
        if "watch" in query and self.refusal is not None:
            _give(handler, self.refusal.status, self.refusal.body)
            return
        if "watch" in query:
            self._stream(handler, name, int(query["resourceVersion"][0]))
            return
        self.lists += 1
        with self._changed:
            items = [thing for key, thing in self._things.items() if name in (None, key)]
            body = json.dumps({"metadata": {"resourceVersion": str(self._version)}, "items": items}).encode()
        _give(handler, 200, body)

    def _change(self, kind: str, name: str, thing: dict[str, Any]) -> None:
        with self._changed:
            self._version += 1
            thing["metadata"]["resourceVersion"] = str(self._version)
            self._history.append((self._version, kind, thing))
            self._things[name] = thing
            if kind == "DELETED":
                del self._things[name]
            self._changed.notify_all()

    def _stream(self, handler: BaseHTTPRequestHandler, name: str | None, since: int) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.close_connection = True
        while not self._over:
            with self._changed:
                news = [each for each in self._history if each[0] > since]
                if not news:
                    self._changed.wait(_PATIENCE)
                    continue
            for version, kind, thing in news:
                since = version
                if name in (None, thing["metadata"]["name"]):
                    line = json.dumps({"type": kind, "object": thing}).encode() + b"\n"
                    handler.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))


class LiveApi:
    """It trusts certificates of the cluster's authority, and keeps Events."""

    def __init__(self, folder: pathlib.Path) -> None:
        context = serving(folder, issue("api", ROOT))
        context.load_verify_locations(cadata=ROOT.pem.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        self.server = ApiServer(context)
        self.config_maps, self.nodes = Collection(), Collection()
        self.server.at(CONFIG_MAPS, self.config_maps.answer)
        self.server.at(NODES, self.nodes.answer)
        self.server.at(f"{NODES}/win1", self._patched)
        self.server.at(EVENTS, self._posted)
        self.events: list[dict[str, Any]] = []
        self.nodes.put("win1", metadata={"labels": {"pool": "blue"}, "uid": "uid-1"})

    def annotations(self) -> dict[str, str]:
        return dict(self.nodes._things["win1"]["metadata"].get("annotations", {}))

    def say(self, text: str) -> None:
        self.config_maps.put("windows", data={"node.yaml": text})

    def end(self) -> None:
        self.config_maps.end()
        self.nodes.end()

    def _patched(self, handler: BaseHTTPRequestHandler) -> None:
        self.nodes.patched("win1", self._body(handler))
        _done(handler)

    def _posted(self, handler: BaseHTTPRequestHandler) -> None:
        self.events.append(self._body(handler))
        _done(handler)

    def _body(self, handler: BaseHTTPRequestHandler) -> Any:
        """One thread writes, so it is the last of its path."""
        return json.loads(
            next(each.body for each in reversed(self.server.asked) if each.target == handler.path)
        )


def _done(handler: BaseHTTPRequestHandler) -> None:
    _give(handler, 200, b"{}")


def _give(handler: BaseHTTPRequestHandler, code: int, body: bytes) -> None:
    handler.send_response(code)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def own(name: str = "system:node:win1", by: Issued = ROOT) -> Issued:
    """A kubelet's certificate."""
    return issue(name, by, names=[])
