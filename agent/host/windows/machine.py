"""This machine as a host: the parts of the port to Windows put together."""

from functools import partial

from agent.host.later import later
from agent.host.loopback import HttpLoopback
from agent.host.networks import Networks, Routes
from agent.host.port import (
    Clock,
    Defender,
    Firewall,
    Host,
    Proxies,
    Registry,
    Roots,
    Signatures,
)
from agent.host.windows.access import WindowsAccess
from agent.host.windows.clock import WindowsClock
from agent.host.windows.environment import WindowsEnvironment
from agent.host.windows.events import WindowsEventLog
from agent.host.windows.facts import WindowsFacts
from agent.host.windows.features import WindowsFeatures
from agent.host.windows.files import WindowsFiles
from agent.host.windows.local_services import local_services
from agent.host.windows.power import WindowsPower
from agent.host.windows.processes import WindowsProcesses
from agent.host.windows.registry import WindowsRegistry


def open_windows() -> Host:
    """This machine. Parts that few documents need are loaded, with their DLLs, when they are first asked."""
    clock = WindowsClock()
    registry = WindowsRegistry()
    facts = WindowsFacts(registry)
    return Host(
        files=WindowsFiles(clock),
        access=WindowsAccess(),
        signatures=later(partial(_signatures, clock)),
        services=local_services(clock),
        environment=WindowsEnvironment(registry),
        registry=registry,
        proxies=later(_proxies),
        firewall=later(_firewall),
        defender=later(_defender),
        roots=later(_roots),
        features=WindowsFeatures(clock),
        facts=facts,
        events=WindowsEventLog(registry),
        power=WindowsPower(registry),
        processes=WindowsProcesses(facts),
        clock=clock,
        loopback=HttpLoopback(),
        networks=later(_networks),
        routes=later(partial(_routes, registry)),
    )


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


def _networks() -> Networks:
    from agent.host.windows.networks import WindowsNetworks  # noqa: PLC0415 - loads ole32.dll

    return WindowsNetworks()


def _routes(registry: Registry) -> Routes:
    from agent.host.windows.routes import WindowsRoutes  # noqa: PLC0415 - loads iphlpapi.dll

    return WindowsRoutes(registry)
