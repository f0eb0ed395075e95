"""The container runtime of a node: the lab's stand-in for containerd (standins/cri), told what to do."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import kubernetes, namespace
from lab.cluster.program import Program
from lab.waiting import until

PORT = 3735
CONTROL_PORT = 3736

# Stands for all methods of CRI that are not named.
EVERY_METHOD = "*"


class ContainerRuntime:
    """In good health once it was started. What it keeps in `folder` outlives it."""

    endpoint = f"tcp://{namespace.ADDRESS}:{PORT}"

    def __init__(self, folder: Path) -> None:
        self._program = Program(
            "the container runtime",
            [
                str(kubernetes.container_runtime()),
                f"-listen={namespace.ADDRESS}:{PORT}",
                f"-control=127.0.0.1:{CONTROL_PORT}",
                f"-state={folder / 'containers.json'}",
            ],
            folder / "container-runtime.log",
        )

    # Its life

    def start(self) -> None:
        self._program.start()
        until(self._answers, "the container runtime answers", explain=self._program.last_words)

    def stop(self) -> None:
        self._program.stop()

    def restart(self) -> None:
        """Kills it and starts it again, as after a crash: what it ran runs on."""
        self._program.kill()
        self.start()

    def lose_power(self) -> None:
        """What it ran has ended, as after a restart of the machine."""
        self._tell("POST", "/reboot")

    # What is wrong with it

    @contextmanager
    def down(self) -> Iterator[None]:
        """Connections are ended and refused."""
        with self._faults({"down": True}):
            yield

    @contextmanager
    def slow(self, seconds: float, method: str = EVERY_METHOD) -> Iterator[None]:
        """Answers come later by this."""
        with self._faults({"delays": {method: seconds}}):
            yield

    @contextmanager
    def failing(self, code: str, method: str = EVERY_METHOD) -> Iterator[None]:
        """Answers are errors, of a gRPC code by its name: UNAVAILABLE, RESOURCE_EXHAUSTED, ..."""
        with self._faults({"errors": {method: code}}):
            yield

    @contextmanager
    def _faults(self, faults: Mapping[str, object]) -> Iterator[None]:
        self._tell("PUT", "/faults", faults)
        try:
            yield
        finally:
            self._tell("PUT", "/faults", {})

    def end_container(self, name: str, exit_code: int) -> None:
        """A container's program ends by itself."""
        self._tell("POST", f"/containers/{name}/exit?code={exit_code}")

    # What it knows

    def calls(self) -> dict[str, int]:
        """How often each method was asked for since the program was started."""
        counted: dict[str, int] = json.loads(self._tell("GET", "/calls"))
        return counted

    def sandboxes(self) -> list[dict[str, Any]]:
        """Each with `config` as the kubelet gave it."""
        return list(self._state()["sandboxes"].values())

    def containers(self) -> list[dict[str, Any]]:
        """Each with `config` as the kubelet gave it."""
        return list(self._state()["containers"].values())

    def network(self) -> str:
        """From which pods get their addresses: the Node's, once the kubelet has told."""
        return str(self._state()["pod_cidr"])

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self._tell("GET", "/state"))
        return state

    def _answers(self) -> bool:
        if not self._program.running:
            raise AssertionError(self._program.last_words())
        try:
            self.calls()
        except OSError:
            return False
        return True

    def _tell(self, method: str, path: str, body: Mapping[str, object] | None = None) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", CONTROL_PORT, timeout=30)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None)
            response = connection.getresponse()
            answer = response.read().decode()
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise AssertionError(f"the container runtime refused {method} {path}: {answer.strip()}")
        return answer
