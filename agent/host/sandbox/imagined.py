"""A Windows Server as its setup leaves it, for plans on another system than Windows.

A new sandbox is one step further: what a node needs of Windows is switched on there, so that it can be tried
out at once. A plan for a real server has to show that step.
"""

import pathlib

from agent.host.port import Host, ServiceDefinition, StartType
from agent.host.sandbox.machine import Machine

_W32TIME = ServiceDefinition(
    "W32Time",
    (r"C:\Windows\system32\svchost.exe", "-k", "LocalService"),
    display_name="Windows Time",
    start=StartType.MANUAL,
    account=r"NT AUTHORITY\LocalService",
)
"""In a workgroup a trigger starts it, so that it is mostly stopped."""


def open_imagined(directory: pathlib.Path) -> Host:
    """Return the machine in an empty folder: without the feature Containers, W32Time there and stopped."""
    machine = Machine(directory, run_services=False)
    machine.host.features.disable("Containers")
    machine.host.services.create(_W32TIME)
    machine.shut_down()
    machine.start_up()
    return machine.host
