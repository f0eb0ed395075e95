"""The parts of a sandbox put together, and what happens to the machine as a whole."""

import pathlib
import time
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import HostError, NoAnswer, NotFound
from agent.host.files import Files
from agent.host.loopback import HttpLoopback
from agent.host.port import ROOT_CERTIFICATES, Host, Principal, RegistryKind, RegistryValue
from agent.host.protection import SIDS
from agent.host.registry_contents import COMPUTER_NAMES
from agent.host.sandbox.descriptors import Descriptors, SandboxAccess
from agent.host.sandbox.facts import SandboxFacts
from agent.host.sandbox.files import SandboxFiles
from agent.host.sandbox.networks import SandboxNetworks, SandboxRoutes
from agent.host.sandbox.os_settings import (
    SandboxDefender,
    SandboxFeatures,
    SandboxFirewall,
    SandboxProxies,
)
from agent.host.sandbox.places import Drive
from agent.host.sandbox.power import POWER, SandboxClock, SandboxPower, remove_pending_files, take_name
from agent.host.sandbox.processes import SandboxProcesses
from agent.host.sandbox.programs import Programs
from agent.host.sandbox.registry import SandboxEnvironment, SandboxEventLog, SandboxRegistry, SandboxRoots
from agent.host.sandbox.service_document import NEVER_STARTED, ServiceDocument, run, state_of
from agent.host.sandbox.services import SandboxServices
from agent.host.sandbox.state import State
from agent.host.sandbox.volume import SandboxVolume
from agent.host.sddl import SecurityDescriptor
from agent.host.services import ServiceState, StartType

_TRUSTED_INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
_PROGRAMS = f"O:{_TRUSTED_INSTALLER}D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
_AT_INSTALLATION = {
    "C:\\Windows": _PROGRAMS,
    "C:\\Windows\\System32": _PROGRAMS,
    "C:\\Windows\\TEMP": "O:SYD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;FA;;;CO)(A;CI;0x100026;;;BU)",
    "C:\\Program Files": _PROGRAMS,
    # Every user may make files and folders here, and does with them as the owner likes.
    "C:\\ProgramData": "O:SYD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;GA;;;CO)(A;OICI;0x1200a9;;;BU)"
    "(A;CI;DCLCRPCR;;;BU)",
    "C:\\Users": "O:SYD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GRGX;;;BU)"
    "(A;;0x1200a9;;;WD)(A;OICIIO;GRGX;;;WD)",
}


class Machine:
    def __init__(self, directory: pathlib.Path, *, run_services: bool) -> None:
        directory = directory.absolute()
        self._state = state = State(directory)
        drive = Drive(directory)
        registry = SandboxRegistry(state)
        self._registry = registry
        self._environment = SandboxEnvironment(registry)
        self._programs = programs = Programs(state)
        self._facts = facts = SandboxFacts(state, programs)
        descriptors = Descriptors(state, SIDS[Principal.USER])
        access = SandboxAccess(facts, descriptors)
        clock = SandboxClock(state)
        self._services = services = ServiceDocument(state, programs)
        self._features = features = SandboxFeatures(state)
        self._networks = networks = SandboxNetworks(state)
        self._routes = routes = SandboxRoutes(state, registry, facts)
        volume = SandboxVolume(drive, descriptors, access, programs.runs_from)
        files = SandboxFiles(drive, volume, descriptors, access, registry, routes, clock)
        self.host = Host(
            files=files,
            access=access,
            signatures=_Signatures(files),
            services=SandboxServices(
                services, directory, drive, self._environment, programs, clock, run_services=run_services
            ),
            environment=self._environment,
            registry=registry,
            proxies=SandboxProxies(state),
            firewall=SandboxFirewall(state),
            defender=SandboxDefender(state),
            roots=SandboxRoots(registry),
            features=features,
            facts=facts,
            events=SandboxEventLog(state, registry),
            power=SandboxPower(state, registry, facts),
            processes=SandboxProcesses(state, drive, services),
            clock=clock,
            loopback=SandboxLoopback(services, facts, run_services=run_services),
            networks=networks,
            routes=routes,
        )
        if not state.read(POWER):
            self._install()

    def shut_down(self) -> None:
        """All programs that services run are ended, unasked."""
        self._programs.end_all()
        with self._services.changing() as document:
            for record in document.values():
                record["run"] = run(ServiceState.STOPPED, exit_code=NEVER_STARTED)

    def start_up(self) -> None:
        """What Windows does first: remove what was to be removed now, start what starts by itself."""
        remove_pending_files(self._registry, self.host.files)
        take_name(self._registry, self._facts)
        self._features.take_effect()
        self._networks.reboot()
        self._routes.reboot()
        with self._state.changing(POWER) as power:
            power.pop("asked", None)
            power["booted"] = time.time_ns()
        for name, record in self._services.read().items():
            if record["start"] in (StartType.AUTOMATIC.value, StartType.DELAYED.value):
                # One that cannot start stays as it is; so does Windows leave it.
                with suppress(HostError):
                    self.host.services.start(name)

    def _install(self) -> None:
        """What every Windows has from the beginning."""
        with self._state.changing(POWER) as power:
            if power:
                return
            for path, text in _AT_INSTALLATION.items():
                if self.host.files.observe(PureWindowsPath(path)) is None:
                    self.host.files.make_directory(PureWindowsPath(path), SecurityDescriptor.parse(text))
            self._environment.install()
            self._registry.make_key(ROOT_CERTIFICATES)
            name = RegistryValue(RegistryKind.STRING, self.host.facts.host_name()[:15].upper())
            for key in COMPUTER_NAMES:
                self._registry.write(key, "ComputerName", name)
            power["booted"] = time.time_ns()


class _Signatures:
    """In a sandbox there is no Windows that could judge a signature."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def signer(self, path: PureWindowsPath) -> None:
        if self._files.observe(path) is None:
            raise NotFound("verify", str(path), winerror.ERROR_FILE_NOT_FOUND)


_OK = 200


class SandboxLoopback:
    """What programs on the machine answer. Most of them don't run: then they are taken to be well.

    A service that is only recorded as running answers 200 at every port; none of them, and nobody listens.

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
