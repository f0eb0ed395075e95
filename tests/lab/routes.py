"""The stand-in for the part of iphlpapi.dll that changes routes (standins/routes.c), put on a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lab import programs, repository, routes_seen, windows_python, wine
from lab.iphlpapi import LIBRARY, WINES_OWN
from lab.node import Node
from lab.running import LASTING_SECONDS, Running

KEY, ROWS = rf"HKLM\{routes_seen.KEY}", routes_seen.ROWS
FORWARDING = r"HKLM\SOFTWARE\Lab\Forwarding"


def install(node: Node) -> None:
    """From now on programs that are started there can change routes, and what interfaces hand on."""
    for name in (LIBRARY, WINES_OWN):
        node.copy_in(wine.outside(programs.PLACE) / name, rf"C:\windows\system32\{name}")
    node.prefer_files([LIBRARY])


def made(node: Node) -> Mapping[str, int]:
    """Metrics by `10.244.3.0/24 over 192.0.2.33`, of the routes in force that were made by programs."""
    key = node.registry(KEY)
    rows = key.data(ROWS) if key else None
    assert rows is None or isinstance(rows, bytes)
    return dict(routes_seen.read(rows or b""))


def forwarding(node: Node) -> Mapping[str, bool]:
    """Of the interfaces that were told whether to hand packets for others on, by their names."""
    key = node.registry(FORWARDING)
    return {name: bool(value.data) for name, value in key.values.items()} if key else {}


class Seen:
    """When routes came and went, told by a program on the node that looks without a pause to speak of."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def since(self, name: str) -> float | None:
        """When it came last, in seconds since 1970; None where it is not there."""
        return self._last().get(("+", name), None) if name in self.there else None

    def gone_at(self, name: str) -> float | None:
        """When it went last; None where it is there, or never was."""
        return self._last().get(("-", name), None) if name not in self.there else None

    @property
    def there(self) -> frozenset[str]:
        signs = {name: sign for sign, _, name in self._told()}
        return frozenset(name for name, sign in signs.items() if sign == "+")

    def _last(self) -> Mapping[tuple[str, str], float]:
        return {(sign, name): float(time) for sign, time, name in self._told()}

    def _told(self) -> list[list[str]]:
        whole, _, _ = self._running.stdout.decode().rpartition("\n")
        return [line.split("\t") for line in whole.splitlines()]


@contextmanager
def seen(node: Node) -> Iterator[Seen]:
    script = r"C:\lab\routes_seen.py"
    node.copy_in(repository.ROOT / "tests" / "lab" / "routes_seen.py", script)
    running = node.start(windows_python.PROGRAM, script, seconds=LASTING_SECONDS)
    yield Seen(running)
    for process in node.processes("python.exe"):
        if script in process.command:
            node.kill(process)
