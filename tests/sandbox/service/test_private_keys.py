"""Where a client's private key lies while TLS loads it: real TLS, and a machine that is a folder."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PureWindowsPath

import pytest

from agent import node_credentials, private_keys
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.sandbox import open_sandbox
from agent.host.sandbox.state import FOLDER_NAME
from agent.host.sddl import SecurityDescriptor
from agent.kube import kubeconfig
from agent.kube.access import Access
from agent.kube.client import Client, node
from agent.kube.failure import NotUsable
from sandbox.service.live_api import own
from sandbox.service.test_cluster import CERTIFICATE, CONF, DATED, write_credentials
from unit.fetch.authority import serving
from unit.kube.api_server import ROOT, ApiServer, ok
from unit.kube.test_client import key_of

NODE = node("win1")
STATE = PureWindowsPath(r"C:\ProgramData\wmcb")
TLS = STATE / "tls"
OPEN_TO_USERS = SecurityDescriptor.parse("O:BAD:P(A;OICI;FA;;;BA)(A;OICI;FA;;;BU)")
WITH_DATA = """\
apiVersion: v1
kind: Config
clusters:
- {{name: kubernetes, cluster: {{server: "{server}", certificate-authority-data: {authority}}}}}
users:
- {{name: node, user: {{client-certificate-data: {certificate}, client-key-data: {key}}}}}
contexts:
- {{name: own, context: {{cluster: kubernetes, user: node}}}}
current-context: own
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The folder that stands for C:."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return folder


@pytest.fixture
def host(machine: Path) -> Host:
    return open_sandbox(machine)


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    context = serving(tmp_path, own())
    context.load_verify_locations(cadata=ROOT.pem.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    with ApiServer(context) as server:
        server.at(NODE, ok({"kind": "Node"}))
        yield server


class Loads:
    """Each pair that TLS was given: its paths, and what the system lets others do with them then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[tuple[Path, ...]] = []
        self.modes: list[tuple[int, ...]] = []
        true = ssl.SSLContext.load_cert_chain

        def watched(context: ssl.SSLContext, *paths: Path, **more: object) -> None:
            self.paths.append(paths)
            self.modes.append(tuple(path.stat().st_mode & 0o077 for path in (paths[0].parent, paths[0])))
            true(context, *paths, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Loads:
    return Loads(monkeypatch)


def write_with_data(host: Host, server: str) -> None:
    """A kubeconfig as an administrator's: all contents are in it."""
    write_credentials(host, server)
    issued = own()
    contents = {"authority": ROOT.pem, "certificate": issued.pem, "key": key_of(issued)}
    text = WITH_DATA.format(
        server=server, **{name: base64.b64encode(each).decode() for name, each in contents.items()}
    )
    host.files.write(CONF, text.encode(), PRIVATE_FILE)


def access(host: Host) -> Access:
    found = node_credentials.own_kubeconfig(host, CONF)
    assert found is not None
    # The stand-in's certificate is not for its address.
    return replace(node_credentials.access(host, found, CONF), insecure=True)


def ask(host: Host) -> None:
    with Client(access(host)) as client:
        assert client.get(NODE) == {"kind": "Node"}


def test_the_kubelets_own_pair_is_loaded_from_where_it_lies(
    machine: Path, host: Host, server: ApiServer, loads: Loads, temp: Path
) -> None:
    write_credentials(host, server.url)
    host.files.move(CERTIFICATE, DATED)
    (machine / "pki" / CERTIFICATE.name).symlink_to(machine / "pki" / DATED.name)
    ask(host)
    dated = machine / "pki" / DATED.name
    assert loads.paths == [(dated, dated)]
    assert server.asked[0].client == "system:node:win1"
    assert list(temp.iterdir()) == []
    assert host.files.observe(STATE) is None


OPEN = {
    "its folder": CERTIFICATE.parent,
    "the file": CERTIFICATE,
}


@pytest.mark.parametrize("place", OPEN.values(), ids=OPEN)
def test_a_pair_that_users_may_exchange_is_read_without_following_links_and_loaded_from_a_private_copy(
    machine: Path, host: Host, server: ApiServer, loads: Loads, place: PureWindowsPath
) -> None:
    write_credentials(host, server.url)
    host.files.set_descriptor(place, OPEN_TO_USERS)
    ask(host)
    assert [path.parent for paths in loads.paths for path in paths] == [machine / "ProgramData/wmcb/tls"]


def test_a_key_inside_a_kubeconfig_is_loaded_from_a_private_file_that_goes_again(
    machine: Path, host: Host, server: ApiServer, loads: Loads, temp: Path
) -> None:
    write_with_data(host, server.url)
    ask(host)
    (paths,) = loads.paths
    assert [path.parent for path in paths] == [machine / "ProgramData/wmcb/tls"]
    assert loads.modes == [(0, 0)]
    assert list(temp.iterdir()) == []
    assert host.files.observe(STATE) is None, "it was there for the key alone"


def test_what_wmcb_remembers_stays_when_the_key_goes(host: Host, server: ApiServer) -> None:
    write_with_data(host, server.url)
    host.files.make_directory(STATE, PRIVATE_DIRECTORY)
    ask(host)
    assert host.files.list(STATE) == []


def test_a_key_that_cannot_be_loaded_goes_too(host: Host, server: ApiServer) -> None:
    write_with_data(host, server.url)
    with (
        pytest.raises(NotUsable, match="are no pair in PEM form"),
        Client(replace(access(host), key=b"none")) as client,
    ):
        client.get(NODE)
    assert host.files.observe(STATE) is None


def test_a_process_that_is_not_elevated_uses_the_users_own_temporary_folder(
    machine: Path, server: ApiServer, loads: Loads, temp: Path
) -> None:
    write_with_data(open_sandbox(machine), server.url)
    config = kubeconfig.read((machine / "etc/kubernetes/kubelet.conf").read_bytes(), str(CONF))
    (machine / FOLDER_NAME / "facts.json").write_text('{"administrator": false}')
    host = open_sandbox(machine)
    assert not host.access.is_administrator()

    def no_files(path: str) -> bytes:
        raise AssertionError(path)

    asking = replace(config.access(no_files, private_keys.key_files(host)), insecure=True)
    with Client(asking) as client:
        client.get(NODE)
    assert [path.parent.parent for path in loads.paths[0]] == [temp]
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize("link", ["tls", "wmcb"])
def test_a_link_in_the_way_of_a_key_is_refused_and_not_followed(
    tmp_path: Path, machine: Path, host: Host, server: ApiServer, link: str
) -> None:
    write_with_data(host, server.url)
    victim = tmp_path / "victim"
    victim.mkdir()
    place = machine / "ProgramData" / "wmcb"
    if link == "tls":
        host.files.make_directory(STATE, PRIVATE_DIRECTORY)
        place /= "tls"
    place.symlink_to(victim)
    with pytest.raises(
        NotUsable, match=r"kubelet\.conf: its client certificate and key cannot be loaded: C:"
    ):
        ask(host)
    assert list(victim.iterdir()) == []
    assert place.is_symlink()


def test_a_sweep_removes_old_keys_by_handle_and_nothing_that_links_lead_to(
    tmp_path: Path, machine: Path, host: Host
) -> None:
    for folder in (STATE, TLS):
        host.files.make_directory(folder, PRIVATE_DIRECTORY)
    for name in ("left.pem", "loading.pem"):
        host.files.write(TLS / name, b"a key", PRIVATE_FILE)
    victim = tmp_path / "victim.pem"
    victim.write_bytes(b"a key of another program")
    os.utime(victim, (0, 0))
    tls = machine / "ProgramData" / "wmcb" / "tls"
    (tls / "link.pem").symlink_to(victim)
    os.utime(tls / "link.pem", (0, 0), follow_symlinks=False)
    os.utime(tls / "left.pem", (0, 0))
    private_keys.sweep(host)
    assert host.files.list(TLS) == ["loading.pem"]
    assert victim.exists()


def test_a_sweep_does_not_enter_a_link_that_users_made_of_the_folder(
    tmp_path: Path, machine: Path, host: Host
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "0123456789abcdef.pem").write_bytes(b"a key of another program")
    os.utime(victim / "0123456789abcdef.pem", (0, 0))
    host.files.make_directory(STATE, PRIVATE_DIRECTORY)
    (machine / "ProgramData" / "wmcb" / "tls").symlink_to(victim)
    private_keys.sweep(host)
    assert [each.name for each in victim.iterdir()] == ["0123456789abcdef.pem"]
