"""Specifications that the tests run."""

from __future__ import annotations

from pathlib import PureWindowsPath

from agent.spec import (
    Directory,
    EnvironmentVariable,
    EventSource,
    File,
    HealthCheck,
    Inline,
    Protection,
    Restart,
    Service,
    Specification,
    Want,
)

K = PureWindowsPath("C:\\k")
KUBELET = K / "kubelet.exe"
ETC = PureWindowsPath("C:\\etc")
CONFIG = ETC / "kubernetes" / "kubelet.conf"


def wants(*, program: bytes = b"MZ 1", config: bytes = b"{}", arguments: tuple[str, ...] = ()) -> list[Want]:
    """A small node."""
    configuration = File(CONFIG, Inline(config))
    variable = EnvironmentVariable("NODE_ROLE", "worker")
    return [
        Directory(K, Protection.PROGRAM),
        Directory(ETC, shared=True),
        Directory(CONFIG.parent, belongs_to_node=True),
        File(KUBELET, Inline(program), Protection.PROGRAM),
        configuration,
        variable,
        EventSource("wmcb", KUBELET),
        Service(
            "kubelet",
            KUBELET,
            ("--windows-service", *arguments),
            display_name="Kubelet",
            restart=Restart((5.0,), 600),
            health=HealthCheck(10248),
            reads=(configuration.key, variable.key),
        ),
    ]


def node(
    *, program: bytes = b"MZ 1", config: bytes = b"{}", arguments: tuple[str, ...] = ()
) -> Specification:
    return Specification.of(wants(program=program, config=config, arguments=arguments), title="a small node")
