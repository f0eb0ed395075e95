"""What somebody has exchanged and no copy is kept of, fetched once more: files of artifacts.

In a thread of its own, so that all else is kept meanwhile. Loaded only when such a file differs.
"""

import threading
from collections.abc import Mapping, Sequence

from agent.artifacts.means import Means
from agent.artifacts.stock import Stock
from agent.engine.state_folder import StateFolder
from agent.host.port import Host
from agent.resources.artifact import all_known
from agent.spec import Artifact
from service.work_queue import Signal, Signals, Source


class Mending:
    def __init__(self, host: Host, signals: Signals, means: Means) -> None:
        self._host = host
        self._stock = Stock(host, StateFolder.of(host).mending, means)
        self._signals = signals
        self._thread: threading.Thread | None = None
        self._failures: dict[str, str] = {}

    def begin(self, missing: Mapping[str, str]) -> bool:
        """Whether these contents, each by its file, are on their way, or could be by now."""
        if self._thread is not None and self._thread.is_alive():
            return True
        wanted = {(path.lower(), sha256) for path, sha256 in missing.items()}
        artifacts = [
            artifact
            for artifact in all_known(self._host)
            if wanted.intersection((path.lower(), sha256) for path, sha256 in (artifact.files or {}).items())
        ]
        if not artifacts or all(artifact.name in self._failures for artifact in artifacts):
            return False
        self._thread = threading.Thread(target=self._fetch, args=(artifacts, missing), daemon=True)
        self._thread.start()
        return True

    def why(self, path: str) -> str | None:
        """Why what a file held cannot be had; told once, and tried again the next time."""
        for artifact in all_known(self._host):
            if path.lower() in map(str.lower, artifact.files or {}) and artifact.name in self._failures:
                return f"{artifact.key} cannot be fetched: {self._failures.pop(artifact.name)}"
        return None

    def tidy(self) -> None:
        """What was needed has been taken."""
        if self._thread is not None and not self._thread.is_alive():
            self._stock.clear()

    def _fetch(self, artifacts: Sequence[Artifact], missing: Mapping[str, str]) -> None:
        try:
            self._failures |= self._stock.supply(artifacts, set(missing.values()))
        except Exception as fault:  # noqa: BLE001 - else it would be begun again at once
            why = f"unexpected {type(fault).__name__}"
            self._failures |= dict.fromkeys([artifact.name for artifact in artifacts], why)
        finally:
            for path in missing:
                self._signals.put(Signal(Source.FILE, path))
