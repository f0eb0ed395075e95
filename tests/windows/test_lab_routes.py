"""The stand-in for changing routes, asked by our own port under Windows Python."""

from __future__ import annotations

from lab import routes
from lab.node import Node

KEY = r"HKLM\System\CurrentControlSet\Services\Tcpip\Parameters\PersistentRoutes"
ADD = """
from agent.host.windows.machine import open_windows
from agent.host.networks import Route
routes = open_windows().routes
routes.add(Route("10.244.3.0/24", "10.77.0.9", 5))
routes.add(Route("10.244.4.0/24", "10.77.0.9", 6, persistent=True))
"""
KEPT = "10.244.4.0/24 over 10.77.0.9"


def test_the_contract_of_routes_holds_on_it(node: Node) -> None:
    routes.install(node)
    suite = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract/test_routes.py")
    result = node.python(*suite, folder=r"Z:\repo")
    assert result.code == 0, result.out
    assert "skipped" not in result.out


def test_a_start_of_windows_brings_what_is_persistent_and_nothing_else(node: Node) -> None:
    routes.install(node)
    result = node.python("-c", ADD, folder=r"Z:\repo")
    assert result.code == 0, result.err
    assert routes.made(node) == {KEPT: 6, "10.244.3.0/24 over 10.77.0.9": 5}
    assert node.registry(KEY) is not None
    node.reboot()
    assert node.python("-c", "import psutil; psutil.net_if_addrs()").code == 0
    listed = node.python(
        "-c",
        "from agent.host.windows.machine import open_windows; open_windows().routes.list()",
        folder=r"Z:\repo",
    )
    assert listed.code == 0, listed.err
    assert routes.made(node) == {KEPT: 6}
