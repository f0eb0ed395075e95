"""Specifications that the tests run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PureWindowsPath

from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
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
from sandbox.engine.world import changed

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


BOOTSTRAP = CONFIG.with_name("bootstrap-kubelet.conf")
PKI = PureWindowsPath("C:\\pki")
CERTIFICATE = PKI / "kubelet-client-current.pem"


def joining(token: bytes = b"token") -> Specification:
    """One whose kubelet has to be admitted to its cluster first."""
    *others, service = wants()
    assert isinstance(service, Service)
    bootstrap = File(BOOTSTRAP, Inline(token), until=CERTIFICATE)
    kubelet = replace(service, makes=CERTIFICATE, reads=(*service.reads, bootstrap.key))
    return Specification.of([*others, Directory(PKI, belongs_to_node=True), bootstrap, kubelet])


def admitted(host: Host) -> Host:
    """A machine whose kubelet, when it starts, is admitted if it has a token."""

    def start(name: str) -> None:
        host.services.start(name)
        if host.files.observe(BOOTSTRAP) is not None and host.files.observe(CERTIFICATE) is None:
            host.files.write(CERTIFICATE, b"certificate", PRIVATE_FILE)

    return changed(host, services={"start": start})


def node(
    *, program: bytes = b"MZ 1", config: bytes = b"{}", arguments: tuple[str, ...] = ()
) -> Specification:
    return Specification.of(wants(program=program, config=config, arguments=arguments), title="a small node")
