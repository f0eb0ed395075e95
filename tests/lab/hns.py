"""The stand-in for Windows' Host Networking Service (tests/lab/standins/hns), put on a node."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lab import programs, wine
from lab.node import Node
from lab.services import State
from lab.waiting import until

SERVICE = "hns"
_LIBRARIES = ("computenetwork.dll", "vmcompute.dll")
_PROGRAM = r"C:\windows\system32\hns.exe"
_FOLDER = r"C:\ProgramData\Microsoft\Windows\HNS"

Document = dict[str, Any]


class Hns:
    """Installed and running from now on, also after a reboot."""

    def __init__(self, node: Node) -> None:
        self.node = node
        for name in _LIBRARIES:
            node.copy_in(wine.outside(programs.PLACE) / name, rf"C:\windows\system32\{name}")
        node.copy_in(wine.outside(programs.PLACE) / "hns.exe", _PROGRAM)
        node.create_service(SERVICE, _PROGRAM, automatic=True)
        self.start()

    def start(self) -> None:
        self.node.start_service(SERVICE)
        self.node.wait_for_service(SERVICE, State.RUNNING)

    def crash(self) -> None:
        """Its process dies, and is started again as Windows' recovery actions do: the policies are gone."""
        # One that made a call may not be quite gone yet.
        (process,) = (each for each in self.node.processes("hns.exe") if "call" not in each.command)
        crashed = self._pid()
        self.node.kill(process)
        # It hears of the end later than Linux does, and starts nothing that it takes for running.
        until(lambda: self._pid() != crashed, "the Service Control Manager has seen the crash")
        with suppress(AssertionError):  # whoever has called it meanwhile has started it, too
            self.node.start_service(SERVICE)
        self.node.wait_for_service(SERVICE, State.RUNNING)

    def _pid(self) -> int:
        service = self.node.service(SERVICE)
        assert service is not None
        return service.pid

    def fail(self, call: str, *codes: int) -> None:
        """Has the next calls of this name (CreateNetwork) fail with these HRESULTs, one after the other."""
        (self.node.path(_FOLDER) / "faults.json").write_text(json.dumps({call: codes}))

    def lose_networks(self, *, with_endpoint: str | None = None) -> None:
        """As some reboots do; what was attached to this machine stays behind, or the endpoint of that name.
        While it is off.
        """
        kept = self._kept()
        attached = [
            each
            for each in kept["Endpoints"] or []
            # kube-proxy gives those of other machines' pods no name.
            if each.get("HostComputeNamespace") or (with_endpoint and each.get("Name") == with_endpoint)
        ]
        self._file().write_text(json.dumps({**kept, "Networks": [], "Endpoints": attached}))

    def call(self, name: str, identifier: str, settings: Document, network: str = "") -> str:
        """One call, as a container runtime would make it; its HRESULT in hexadecimal, and what was told."""
        result = self.node.run(_PROGRAM, "call", name, identifier, json.dumps(settings), network)
        assert result.code == 0, result.err
        return result.out

    # What there is

    def network(self, name: str) -> Document | None:
        return _named(self.networks, name)

    def endpoint(self, name: str) -> Document | None:
        return _named(self.endpoints, name)

    @property
    def networks(self) -> Sequence[Document]:
        return self._kept()["Networks"] or []

    @property
    def endpoints(self) -> Sequence[Document]:
        return self._kept()["Endpoints"] or []

    @property
    def load_balancers(self) -> Sequence[Document]:
        return self._kept()["LoadBalancers"] or []

    @property
    def asked(self) -> Sequence[Document]:
        """Each call that was to change something: `call`, `id`, `settings`, and its `code`."""
        file = self.node.path(_FOLDER) / "asked.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _kept(self) -> Document:
        until(lambda: self._file().exists(), "the stand-in for HNS has written down what it knows")
        kept: Document = json.loads(self._file().read_text())
        return kept

    def _file(self) -> Any:
        return self.node.path(_FOLDER) / "HNS.data"


def _named(documents: Sequence[Document], name: str) -> Document | None:
    return next((each for each in documents if each.get("Name") == name), None)
