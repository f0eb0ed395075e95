"""The resident service's own process, from its command line to the program that runs until Windows ends it.

A machine that is no node yet has it, too: what only a node needs is imported when there is one.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.cli import options
from agent.cli.arguments import Request
from agent.cli.failure import BadUsage
from agent.cli.machine import is_sandbox, open_machine
from agent.host.errors import NotAService
from agent.host.port import Host
from agent.host.services import ServiceProgram
from service.arguments import Followed, NoConfigMap, NoPort, followed, metrics_port_in, port
from service.program import SERVICE, resident

if sys.platform == "win32":
    # Of the host this part alone: a service starts often, and stays.
    from agent.host.windows.service_program import serve as serve_windows

if TYPE_CHECKING:
    from agent.artifacts.means import Means
    from service.keeping import Wishes
    from service.program import Wishing
    from service.telling import Telling
    from service.work_queue import Signals

_MOST_NEW_OBJECTS = 2_000
"""New objects until garbage is collected, as Python has it. The limit of commands, which end, costs 3 MB."""


def run(request: Request) -> int:
    """Run as the resident service, started by the service control manager."""

    def means(host: Host) -> Means:
        from agent.cli.means import means_of_service  # noqa: PLC0415 - 2.5 MB, for what is fetched

        return means_of_service(request, host)

    config_map = given_config_map(request, _checked_key)
    wishing = _following(config_map, means) if config_map else None
    return served(request, SERVICE, wishing, metrics_port=metrics_port(request), means=means)


def _following(config_map: Followed, means: Callable[[Host], Means]) -> Wishing:
    def wishing(host: Host, signals: Signals, telling: Telling) -> Wishes:
        from service.adopting import adopting  # noqa: PLC0415 - requests and ssl, 17 MB

        return adopting(host, config_map, signals, telling, means(host))

    return wishing


def given_config_map(request: Request, key: Callable[[str], str]) -> Followed | None:
    """Return the ConfigMap to follow; `key` returns its public key by what the option says."""
    if not request.has(options.CONFIG_MAP):
        if request.has(options.PUBLIC_KEY):
            raise options.PUBLIC_KEY.misused(f" goes with {options.CONFIG_MAP.name}")
        return None
    place = request.value(options.CONFIG_MAP, "")
    try:
        found = followed(place)
    except NoConfigMap as fault:
        raise BadUsage.of(options.CONFIG_MAP.name, place, str(fault)) from fault
    if not request.has(options.PUBLIC_KEY):
        return found
    return replace(found, key=key(request.value(options.PUBLIC_KEY, "")))


def _checked_key(given: str) -> str:
    from agent.sources.signatures import public_key  # noqa: PLC0415 - hashlib, 3.9 MB with OpenSSL's hashes

    public_key(given)
    return given


def metrics_port(request: Request, former: Sequence[str] = ()) -> int | None:
    """Return the port that is given, else that of the former command line."""
    if not request.has(options.METRICS_PORT):
        return metrics_port_in(former)
    given = request.value(options.METRICS_PORT, "")
    try:
        return port(given)
    except NoPort as fault:
        raise BadUsage.of(options.METRICS_PORT.name, given, str(fault)) from fault


def served(
    request: Request,
    name: str,
    wishing: Wishing | None,
    log_on: Callable[[Host], Callable[[str], None]] | None = None,
    *,
    is_always: bool = False,
    metrics_port: int | None = None,
    means: Callable[[Host], Means] | None = None,
) -> int:
    """Run as the Windows service of that name. `is_always`: also on a machine that is no node yet."""

    def program(is_node: Callable[[], bool]) -> ServiceProgram:
        return lambda controls: resident(
            controls,
            lambda: is_always or is_node(),
            lambda: open_machine(request),
            log_on or _log_on,
            wishing,
            metrics_port,
            means,
        )

    if is_sandbox(request):
        from agent.cli.resident_service import serve  # noqa: PLC0415 - the sandbox with psutil, 8.5 MB

        return serve(request, name, program)
    try:
        if sys.platform == "win32":
            gc.set_threshold(_MOST_NEW_OBJECTS)
            return serve_windows(name, program(_is_node))
        else:  # noqa: RET505 - or the type checker finds it unreachable on Windows
            return open_machine(request).services.serve(name, program(_is_node))
    except NotAService as error:
        raise BadUsage(f"Windows runs this; start the service with: sc.exe start {name}") from error


def _is_node() -> bool:
    """Of this machine, without its host, which takes 3 MB; `resident_service` has the same with it."""
    folder = f"{os.environ.get('PROGRAMDATA', '')}\\wmcb"
    return any(os.path.exists(f"{folder}\\{name}") for name in ("node.json", "journal"))  # noqa: PTH110


def _log_on(host: Host) -> Callable[[str], None]:
    from agent.cli.run_log import RunLog  # noqa: PLC0415 - 0.3 MB of a service without a node

    # Opened for each line, so that its size is looked at each time.
    return lambda line: RunLog(host).write(line)
