"""The port to Windows: by pywin32, psutil and winreg, and by ctypes where these do not have the call."""

from __future__ import annotations

import sys

from agent.host.port import Host

if sys.platform == "win32":

    def open_windows() -> Host:
        """This machine. Cheap: what a member needs beyond its own calls is loaded when it is asked."""
        from agent.host.loopback import HttpLoopback
        from agent.host.port import Host
        from agent.host.windows.access import WindowsAccess
        from agent.host.windows.clock import WindowsClock
        from agent.host.windows.defender import WindowsDefender
        from agent.host.windows.environment import WindowsEnvironment
        from agent.host.windows.events import WindowsEventLog
        from agent.host.windows.facts import WindowsFacts
        from agent.host.windows.features import WindowsFeatures
        from agent.host.windows.files import WindowsFiles
        from agent.host.windows.firewall import WindowsFirewall
        from agent.host.windows.local_services import local_services
        from agent.host.windows.networks import WindowsNetworks
        from agent.host.windows.power import WindowsPower
        from agent.host.windows.processes import WindowsProcesses
        from agent.host.windows.proxies import WindowsProxies
        from agent.host.windows.registry import WindowsRegistry
        from agent.host.windows.roots import WindowsRoots
        from agent.host.windows.routes import WindowsRoutes
        from agent.host.windows.signatures import WindowsSignatures

        clock = WindowsClock()
        registry = WindowsRegistry()
        facts = WindowsFacts(registry)
        return Host(
            files=WindowsFiles(clock),
            access=WindowsAccess(),
            signatures=WindowsSignatures(clock),
            services=local_services(clock),
            environment=WindowsEnvironment(registry),
            registry=registry,
            proxies=WindowsProxies(),
            firewall=WindowsFirewall(),
            defender=WindowsDefender(),
            roots=WindowsRoots(),
            features=WindowsFeatures(clock),
            facts=facts,
            events=WindowsEventLog(registry),
            power=WindowsPower(registry),
            processes=WindowsProcesses(facts),
            clock=clock,
            loopback=HttpLoopback(),
            networks=WindowsNetworks(),
            routes=WindowsRoutes(registry),
        )
