"""Contents that a document names by URL or path: fetched before a run begins, which may stop services."""

from collections.abc import Mapping, Sequence

from agent.artifacts.means import Means
from agent.artifacts.receiving import Progress
from agent.artifacts.stock import Stock, contents_of
from agent.engine.planning import Plan
from agent.engine.state_folder import StateFolder
from agent.host.port import Host
from agent.spec import Artifact, Lying


class Unfetched(Exception):
    """By the names of artifacts, or the paths of files, why they cannot be had."""

    def __init__(self, failures: Mapping[str, str]) -> None:
        super().__init__("; ".join(failures.values()))
        self.failures = failures


class Contents:
    def __init__(self, host: Host, means: Means) -> None:
        self._state = StateFolder.of(host)
        self._stock = Stock(host, self._state.given, means)

    def resolved(self, artifact: Artifact) -> Artifact | None:
        return self._stock.resolved(artifact)

    def content(self, sha256: str) -> Lying:
        return self._stock.content(sha256)

    def fetch_for(self, plan: Plan, artifacts: Sequence[Artifact], progress: Progress) -> None:
        """What files need that do not hold it yet, and that of which nobody knows what is in it.

        Raises Unfetched, HostError.
        """
        needed = contents_of(plan)
        if not any(self._stock.lacks(artifact, needed) for artifact in artifacts):
            return
        self._state.ensure()
        failures = self._stock.supply(artifacts, needed, progress)
        if failures:
            raise Unfetched(failures)

    def clear(self) -> None:
        """Nothing of it is needed any more."""
        self._stock.clear()
