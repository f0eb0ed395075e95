"""Reboots: whether Windows wants one, and asking for one."""

from collections.abc import Sequence

from agent.host.port import Registry
from agent.host.reboot_reasons import reboot_reasons
from agent.host.windows.api import shutdown
from agent.host.windows.api.machine import set_dns_host_name
from agent.host.windows.failure import telling


class WindowsPower:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def reboot_pending(self) -> Sequence[str]:
        return list(reboot_reasons(self._registry))

    def reboot(self, reason: str, seconds: int) -> None:
        with telling("reboot", "this machine"):
            shutdown.announce_reboot(reason, seconds)

    def rename(self, name: str) -> None:
        with telling("rename", "this machine"):
            set_dns_host_name(name)
