"""What is begun before a command that makes a node is even imported.

That takes about as long as a kubelet needs to say its version, on another processor, and a cluster to answer.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli import options
from agent.cli.executables import HEAD, begin_to_ask, fault_of_program, kubelet_in_place
from agent.cli.failure import Failure
from agent.cli.given import given_file
from agent.cli.join_options import joins
from agent.cli.machine import is_sandbox, open_machine
from agent.cli.meanwhile import begun
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.cli.arguments import Request
    from agent.cli.given import GivenFile
    from agent.host.port import Host


_SWITCH_SECONDS = 0.0005
"""After which a thread that has heard from Windows goes on, though another one has not come to an end.

Python's own 0.005 would be waited for at each of the twenty calls that starting a program takes.
"""


_LIBRARIES = ("_ctypes",)
_LIBRARIES_TO_ASK = ("_socket", "select", "_ssl", "_hashlib")
"""Modules written in C. Windows loads them while Python goes on with another thread."""


def make_node(request: Request) -> int:
    sys.setswitchinterval(_SWITCH_SECONDS)
    host = None
    if sys.platform == "win32" and not is_sandbox(request):
        asks = joins(request) and not request.has(options.ROLLBACK)
        begun(lambda: _load(_LIBRARIES + _LIBRARIES_TO_ASK if asks else _LIBRARIES))
        if asks:
            # Now, while the libraries are loaded that opening the machine needs.
            import agent.documents  # noqa: F401
        host = open_machine(request)
        with suppress(Failure, HostError):  # who needs what is at fault says so
            _begin(request, host)
    from agent.cli import bootstrap

    return bootstrap.run(request, host)


def _load(modules: Iterable[str]) -> None:
    for name in modules:
        __import__(name)


def _begin(request: Request, host: Host) -> None:
    """First what is waited for longest."""
    program = _kubelet(request, host)
    # On a machine that is a node there is nothing to do, most likely, and nobody wants to know.
    if program and not request.has(options.KUBELET_VERSION) and not _is_node(host):
        program.version = begin_to_ask(host, program)
    if joins(request) and not request.has(options.ROLLBACK) and host.access.is_administrator():
        _look_for_cluster(request, host)
    if program and request.has(options.KUBELET):
        program.begin_to_hash()
    elif program:
        # The host remembers it.
        begun(lambda: host.files.examine(PureWindowsPath(program.absolute), content=True))


def _kubelet(request: Request, host: Host) -> GivenFile | None:
    """That can be asked."""
    is_given = request.has(options.KUBELET)
    if not is_given and not joins(request):
        return None
    program = given_file(
        request, options.KUBELET, host, otherwise="" if is_given else kubelet_in_place(request)
    )
    return program if fault_of_program(program.head(HEAD), of_this_system=False) is None else None


def _look_for_cluster(request: Request, host: Host) -> None:
    from agent.cli.asking import Asking
    from agent.cli.join_cluster import Search
    from agent.cli.join_configuration import configuration_of, discovery_file, name_of

    configuration = configuration_of(request, host, Asking(notice=_say_nothing))
    name = name_of(configuration, host)
    request.search = Search.begun(configuration, name, host, discovery_file(request, host))


def _say_nothing(line: str) -> None:
    """All is looked at again, and then it is said."""


def _is_node(host: Host) -> bool:
    return host.files.observe(StateFolder.of(host).inventory) is not None
