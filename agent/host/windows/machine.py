"""This machine as a host: the parts of the port put together, and those that are but a few calls."""

import time
import winreg
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import win32evtlog

from agent.host.loopback import HttpLoopback
from agent.host.networks import Networks, Routes
from agent.host.port import (
    Clock,
    Defender,
    EventLevel,
    Features,
    Firewall,
    Host,
    Proxies,
    Registry,
    RegistryKind,
    Roots,
    Signatures,
)
from agent.host.registry_contents import EventSources, RegistryVariables, kept_text, reboot_reasons, resolved
from agent.host.windows.api import machine, security
from agent.host.windows.api.processes import lives
from agent.host.windows.api.service_control import LocalServiceControlManager
from agent.host.windows.facts import WindowsFacts
from agent.host.windows.failure import telling
from agent.host.windows.files import WindowsFiles
from agent.host.windows.processes import WindowsProcesses
from agent.host.windows.registry import WindowsRegistry
from agent.host.windows.service_program import serve
from agent.host.windows.service_watch import ServiceWatch, WatchedService
from agent.host.windows.services import WindowsServices

Part = TypeVar("Part")

_SEALING = 0x1 | 0x4
"""CRYPTPROTECT_UI_FORBIDDEN, CRYPTPROTECT_LOCAL_MACHINE. Not for one account: an administrator bootstraps,
and SYSTEM keeps the node."""


def open_windows() -> Host:
    """This machine. Parts that few documents need are loaded, with their DLLs, when they are first asked."""
    clock = WindowsClock()
    registry = WindowsRegistry()
    facts = WindowsFacts(registry)
    watch = partial(ServiceWatch, clock=clock)
    return Host(
        files=WindowsFiles(clock),
        access=WindowsAccess(),
        signatures=later(partial(_signatures, clock)),
        services=WindowsServices(LocalServiceControlManager(), clock, lives, WatchedService, watch, serve),
        environment=WindowsEnvironment(registry),
        registry=registry,
        proxies=later(_proxies),
        firewall=later(_firewall),
        defender=later(_defender),
        roots=later(_roots),
        features=later(partial(_features, clock)),
        facts=facts,
        events=WindowsEventLog(registry),
        power=WindowsPower(registry),
        processes=WindowsProcesses(facts),
        clock=clock,
        loopback=HttpLoopback(),
        networks=later(_networks),
        routes=later(partial(_routes, registry)),
    )


def later(make: Callable[[], Part]) -> Part:
    """Return what stands for the part that `make` returns, and calls it when an attribute is first asked.

    A process that asks nothing of the part does not load what it needs: `make` imports it.
    """
    return cast(Part, _Later(make))


class _Later:
    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._part: object

    def __getattr__(self, name: str) -> Any:
        if "_part" not in self.__dict__:
            self._part = self._make()
        return getattr(self._part, name)


def _signatures(clock: Clock) -> Signatures:
    from agent.host.windows.signatures import WindowsSignatures  # noqa: PLC0415 - loads wintrust.dll

    return WindowsSignatures(clock)


def _proxies() -> Proxies:
    from agent.host.windows.proxies import WindowsProxies  # noqa: PLC0415 - loads winhttp.dll

    return WindowsProxies()


def _firewall() -> Firewall:
    from agent.host.windows.firewall import WindowsFirewall  # noqa: PLC0415 - traceback, 0.3 MB

    return WindowsFirewall()


def _defender() -> Defender:
    from agent.host.windows.defender import WindowsDefender  # noqa: PLC0415 - traceback, 0.3 MB

    return WindowsDefender()


def _roots() -> Roots:
    from agent.host.windows.roots import WindowsRoots  # noqa: PLC0415 - loads crypt32.dll

    return WindowsRoots()


def _features(clock: Clock) -> Features:
    from agent.host.windows.features import WindowsFeatures  # noqa: PLC0415 - for documents that name one

    return WindowsFeatures(clock)


def _networks() -> Networks:
    from agent.host.windows.networks import WindowsNetworks  # noqa: PLC0415 - loads ole32.dll

    return WindowsNetworks()


def _routes(registry: Registry) -> Routes:
    from agent.host.windows.routes import WindowsRoutes  # noqa: PLC0415 - loads iphlpapi.dll

    return WindowsRoutes(registry)


class WindowsAccess:
    """Who may do what, as Windows judges it."""

    def is_administrator(self) -> bool:
        with telling("look into", "the token of this process"):
            return security.is_administrator()

    def caller(self) -> str:
        with telling("look into", "the token of this process"):
            return security.account_of_this_process()

    def sealed(self, secret: bytes) -> bytes:
        import win32crypt  # noqa: PLC0415 - loads crypt32.dll, for secrets in documents

        with telling("seal", "a secret"):
            return win32crypt.CryptProtectData(secret, "", None, None, None, _SEALING)

    def unsealed(self, sealed: bytes) -> bytes:
        import win32crypt  # noqa: PLC0415 - loads crypt32.dll, for secrets in documents

        with telling("open", "a sealed secret", "only the machine that sealed it can"):
            _, secret = win32crypt.CryptUnprotectData(sealed, None, None, None, _SEALING)
            return secret


class WindowsEnvironment(RegistryVariables):
    """The machine's variables."""

    def set(self, name: str, value: str, kind: RegistryKind | None = None) -> None:
        super().set(name, value, kind)
        machine.tell_of_environment()

    def remove(self, name: str) -> None:
        super().remove(name)
        machine.tell_of_environment()

    def expand(self, text: str) -> str:
        known = {name.upper(): value for name, value in self.list().items()}
        # SystemRoot, ProgramFiles and their like are not among the machine's: Windows adds them.
        return winreg.ExpandEnvironmentStrings(winreg.ExpandEnvironmentStrings(resolved(text, known)))


class WindowsEventLog(EventSources):
    """The Application log."""

    def write(self, source: str, level: EventLevel, event_id: int, text: str) -> None:
        with telling("write to the event log as", source):
            log = win32evtlog.RegisterEventSource(None, source)
            try:
                # The text takes the place of %1 in the source's message of that number.
                win32evtlog.ReportEvent(log, level.value, 0, event_id, None, [kept_text(text)], None)
            finally:
                win32evtlog.DeregisterEventSource(log)


class WindowsPower:
    """Reboots: whether Windows wants one, and asking for one."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def reboot_pending(self) -> Sequence[str]:
        return list(reboot_reasons(self._registry))

    def reboot(self, reason: str, seconds: int) -> None:
        with telling("reboot", "this machine"):
            machine.announce_reboot(reason, seconds)

    def rename(self, name: str) -> None:
        with telling("rename", "this machine"):
            machine.set_dns_host_name(name)


class WindowsClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def boot(self) -> int:
        return machine.started_at()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
