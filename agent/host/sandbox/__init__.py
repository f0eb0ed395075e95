"""A Windows machine in a folder of any operating system, for trying out, for plans and for tests.

The folder stands for C:, and what Windows keeps outside its files lies in `.sandbox` there. See `state` for
how several processes share it, `descriptors` and `held` for what stands for Windows' protection and locks.
"""

import pathlib

from agent.host.port import Host
from agent.host.sandbox.machine import Machine
from agent.host.sandbox.state import FOLDER_NAME
from agent.host.services import ServiceDefinition, StartType

_W32TIME = ServiceDefinition(
    "W32Time",
    (r"C:\Windows\system32\svchost.exe", "-k", "LocalService"),
    display_name="Windows Time",
    start=StartType.MANUAL,
    account=r"NT AUTHORITY\LocalService",
)
"""In a workgroup a trigger starts it, so that it is mostly stopped."""


def is_sandbox_folder(directory: pathlib.Path) -> bool:
    """Whether there is a machine in it already."""
    return (directory / FOLDER_NAME).is_dir()


def open_sandbox(directory: pathlib.Path, *, run_services: bool = False) -> Host:
    """The machine in that folder, newly installed if it is empty.

    With `run_services` the programs of services are started for real where this system can run them;
    otherwise services are only recorded as running.
    """
    return Machine(directory, run_services=run_services).host


def open_imagined(directory: pathlib.Path) -> Host:
    """Return the machine fresh from its installation, in an empty folder.

    The feature Containers is off and W32Time stopped, as its setup leaves a Windows Server. A new sandbox is
    one step further, so that it can be tried out at once; a plan for a real server has to show that step.
    """
    machine = Machine(directory, run_services=False)
    machine.host.features.disable("Containers")
    machine.host.services.create(_W32TIME)
    machine.shut_down()
    machine.start_up()
    return machine.host
