"""What programs on the sandbox's machine answer. Most of them don't run: then they are taken to be well."""

from agent.host import winerror
from agent.host.errors import NoAnswer
from agent.host.loopback import HttpLoopback
from agent.host.port import ServiceState
from agent.host.sandbox.facts import SandboxFacts
from agent.host.sandbox.service_document import ServiceDocument
from agent.host.sandbox.service_records import state_of

_OK = 200


class SandboxLoopback:
    """A service that is only recorded as running answers 200 at every port; none of them, and nobody listens.

    What facts.json says of a port goes before that. The system's own ports are asked only where programs of
    services run for real: nothing else that listens there belongs to the sandbox.
    """

    def __init__(self, document: ServiceDocument, facts: SandboxFacts, *, run_services: bool) -> None:
        self._document = document
        self._facts = facts
        self._run_services = run_services

    def get(self, port: int, path: str, seconds: float) -> int:
        if (given := self._facts.answer(port)) is not None:
            return given
        try:
            if self._run_services:
                return HttpLoopback().get(port, path, seconds)
            raise NoAnswer("ask", f"port {port}", winerror.WSAECONNREFUSED, "no service of the sandbox runs")
        except NoAnswer:
            if self._only_recorded():
                return _OK
            raise

    def _only_recorded(self) -> bool:
        return any(
            state_of(record) is ServiceState.RUNNING and not record["run"].get("process")
            for record in self._document.read().values()
        )
