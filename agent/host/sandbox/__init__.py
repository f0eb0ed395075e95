"""A Windows machine in a folder of any operating system, for trying out, for plans and for tests.

The folder stands for C:, and what Windows keeps outside its files lies in `.sandbox` there. See `state` for
how several processes share it, `descriptors` and `held` for what stands for Windows' protection and locks.
"""

import pathlib

from agent.host.port import Host
from agent.host.sandbox.machine import Machine
from agent.host.sandbox.state import FOLDER_NAME


def is_sandbox_folder(directory: pathlib.Path) -> bool:
    """Whether there is a machine in it already."""
    return (directory / FOLDER_NAME).is_dir()


def open_sandbox(directory: pathlib.Path, *, run_services: bool = False) -> Host:
    """The machine in that folder, newly installed if it is empty.

    With `run_services` the programs of services are started for real where this system can run them;
    otherwise services are only recorded as running.
    """
    return Machine(directory, run_services=run_services).host
