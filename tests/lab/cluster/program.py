"""A program of the control plane, running beside the tests with its output in a file."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class Program:
    """One at a time: started, stopped, killed and started again with the same command."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} does not run"
        return self._process.pid

    def start(self) -> None:
        if self.running:
            return
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment
            )

    def stop(self, patience: float = 10.0) -> None:
        """Asks it to end and waits for that; kills it when patience is over."""
        self._end(signal.SIGTERM, patience)

    def kill(self) -> None:
        """Ends it at once, as a crash or a power cut would."""
        self._end(signal.SIGKILL, 10.0)

    def _end(self, how: signal.Signals, patience: float) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def last_words(self, lines: int = 15) -> str:
        """The end of its log, for an error message."""
        written = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join([f"{self.name} wrote last:", *written[-lines:]])
