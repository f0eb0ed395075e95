"""The stand-in for kubelet.exe (tests/lab/standins/kubelet), put on a node and told what to do."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any, TypedDict, Unpack

from lab import programs, wine
from lab.node import Node

ADDRESS = "127.0.0.1:10248"
_MARK = b"\n-- behaviour: "


class Behaviour(TypedDict, total=False):
    """What it is to do from its next start on; behaviour.go says what each means."""

    address: str
    version: str
    starts: str
    turns: str
    says: str
    exit_at_once: int
    start_until: str
    start_checkpoints: bool
    stop_until: str
    wait_hint_milliseconds: int
    vanish_on_stop: bool
    stop_code: int
    hang: bool
    unwell: bool


class StandinKubelet:
    """The program at a path on a node. It is healthy unless told otherwise.

    What is told here goes with the program, wherever that is copied to, and makes another program of it: one
    of another release, or one that fails.
    """

    def __init__(self, node: Node, windows: str, **behaviour: Unpack[Behaviour]) -> None:
        self._node = node
        self._exe = node.copy_in(wine.outside(programs.PLACE) / "kubelet.exe", windows)
        self._address = behaviour.get("address", ADDRESS)
        self._starts = behaviour.get("starts", f"{windows}.starts")
        if behaviour:
            with self._exe.open("ab") as program:
                program.write(_MARK + json.dumps(behaviour).encode())

    @property
    def content(self) -> bytes:
        return self._exe.read_bytes()

    def behave(self, **behaviour: Unpack[Behaviour]) -> None:
        """Says how to behave from the next start on."""
        self._address = behaviour.setdefault("address", self._address)
        self._exe.with_name(self._exe.name + ".behaviour.json").write_text(json.dumps(behaviour))

    @property
    def starts(self) -> list[dict[str, Any]]:
        """Each start so far: arguments, environ, folder, pid, service, elevated, time."""
        written = self._node.path(self._starts)
        return [json.loads(line) for line in written.read_text().splitlines()] if written.exists() else []

    def healthy(self, seconds: float = 10.0) -> bool:
        """Whether /healthz answers within this time."""
        try:
            return self._ask("healthz", seconds) == "ok"
        except OSError:
            return False

    def hang(self) -> None:
        """From now on it answers neither healthz nor a stop."""
        self._ask("hang")

    def heal(self) -> None:
        self._ask("heal")

    def crash(self, code: int) -> None:
        """Has it exit at once with this code."""
        try:
            self._ask(f"crash?code={code}")
        except OSError:  # it cannot answer any more
            return
        raise AssertionError("the stand-in was told to crash and went on")

    def _ask(self, path: str, seconds: float = 10.0) -> str:
        with urllib.request.urlopen(f"http://{self._address}/{path}", timeout=seconds) as answer:
            text: str = answer.read().decode()
        return text
