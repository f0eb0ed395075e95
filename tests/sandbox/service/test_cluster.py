"""What the resident service sees of a cluster, and tells it: real threads and connections."""

from __future__ import annotations

import base64
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

import pytest

from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.sddl import SecurityDescriptor
from agent.kube.client import Following
from agent.sources.kubeadm.model import Argument
from lab.minisign import Signer
from lab.waiting import until
from sandbox.service.live_api import CONFIG_MAPS, NODES, LiveApi, own
from service.arguments import Followed
from service.cluster import Cluster, Kubelet, Node, Seen
from service.reporting import Report, Reports
from service.work_queue import Signals, Source
from unit.fetch.authority import Issued, issue
from unit.kube.api_server import ROOT, status
from unit.kube.test_client import key_of
from unit.kube.test_token_discovery import pinned

CONF = PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf")
KUBELET = Kubelet(CONF, (Argument("hostname-override", "win1"),))
CERTIFICATE = PureWindowsPath(r"C:\pki\current.pem")
DATED = CERTIFICATE.with_name("kubelet-client-2026-11-19-08-00-00.pem")
EC_KEY = bytes.fromhex("06072a8648ce3d0201")
"""How a certificate says that its key is one of elliptic curves."""
TEXT = """\
apiVersion: v1
kind: Config
clusters:
- {{name: kubernetes, cluster: {{server: "{server}", certificate-authority-data: {authority}}}}}
users:
- {{name: node, user: {{client-certificate: 'C:\\pki\\current.pem', client-key: 'C:\\pki\\current.pem'}}}}
contexts:
- {{name: own, context: {{cluster: kubernetes, user: node}}}}
current-context: own
"""


def write_credentials(
    host: Host, server: str, issued: Issued | None = None, authorities: bytes = ROOT.pem
) -> None:
    """As a kubelet does."""
    for folder in (CONF.parent.parent, CONF.parent, CERTIFICATE.parent):
        if host.files.observe(folder) is None:
            host.files.make_directory(folder, PRIVATE_DIRECTORY)
    issued = issued or own()
    authority = base64.b64encode(authorities).decode()
    host.files.write(CERTIFICATE, issued.pem + key_of(issued), PRIVATE_FILE)
    host.files.write(CONF, TEXT.format(server=server, authority=authority).encode(), PRIVATE_FILE)


@pytest.fixture
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveApi]:
    api = LiveApi(tmp_path_factory.mktemp("api"))
    with api.server:
        yield api
        api.end()


@pytest.fixture
def signals() -> Signals:
    return Signals()


@pytest.fixture
def cluster(host: Host, signals: Signals, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr("service.cluster._FIRST_PAUSE_SECONDS", 0.05)
    cluster = Cluster(host, Followed("nodes", "windows"), signals)
    yield cluster
    cluster.follow(None)


@pytest.fixture
def signed(host: Host, signals: Signals, cluster: Cluster) -> Iterator[Cluster]:
    del cluster  # which shortens the pauses
    signed = Cluster(host, Followed("nodes", "windows", Signer().public_key), signals)
    yield signed
    signed.follow(None)


def text_of(cluster: Cluster) -> str | None:
    seen = cluster.config_map
    return None if seen is None or seen.thing is None else str(seen.thing["data"]["node.yaml"])  # type: ignore[index,call-overload]


def test_one_config_map_and_the_own_node_are_seen_and_signalled(
    host: Host, api: LiveApi, cluster: Cluster, signals: Signals
) -> None:
    write_credentials(host, api.server.url)
    api.nodes.put("other", metadata={})
    api.config_maps.put("other", data={"node.yaml": "another"})
    cluster.follow(KUBELET)
    until(lambda: cluster.config_map == Seen(None), "there is none")
    until(lambda: cluster.node == Node("win1", "uid-1", {"pool": "blue"}), "the Node is seen")
    api.say("one")
    until(lambda: text_of(cluster) == "one", "it is seen")
    assert {signal.source for signal in signals.take(0)} == {Source.CLUSTER}
    api.config_maps.remove("windows")
    until(lambda: cluster.config_map == Seen(None), "it is gone")
    until(lambda: len(api.server.asked) >= 4, "the Node is watched, too")
    assert {asked.client for asked in api.server.asked} == {"system:node:win1"}
    targets = [asked.target for asked in api.server.asked]
    assert sorted({target.partition("?")[0] for target in targets}) == [CONFIG_MAPS, NODES]
    assert len(targets) == 4, "a list and a watch for each"


def test_a_change_of_the_node_that_counts_for_nothing_is_no_signal(
    host: Host, api: LiveApi, cluster: Cluster, signals: Signals
) -> None:
    write_credentials(host, api.server.url)
    cluster.follow(KUBELET)
    until(lambda: cluster.node is not None and cluster.config_map is not None, "both are seen")
    signals.take(0)
    for heartbeat in range(3):
        api.nodes.put("win1", metadata={"labels": {"pool": "blue"}, "uid": "uid-1"}, status={"at": heartbeat})
    api.say("one")
    until(lambda: text_of(cluster) == "one", "it is seen")
    until(lambda: len(signals.take(0)) == 1, "one signal, of the ConfigMap")
    assert signals.take(0.1) == ()


def test_a_node_that_is_deleted_is_as_it_was_until_it_is_made_anew(
    host: Host, api: LiveApi, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_credentials(host, api.server.url)
    cluster.follow(KUBELET)
    until(lambda: None not in (cluster.node, cluster.config_map), "both are seen")
    told: list[Node | None] = []
    monkeypatch.setattr(cluster, "tell", lambda: told.append(cluster.node))
    api.nodes.remove("win1")
    api.nodes.put("win1", metadata={"labels": {"pool": "green"}, "uid": "uid-2"})
    again = Node("win1", "uid-2", {"pool": "green"})
    until(lambda: again in told, "the new one is told")
    assert told == [again]


def test_credentials_that_come_later_and_are_renewed(
    host: Host, api: LiveApi, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.cluster.SAME_CREDENTIALS_SECONDS", 0.5)
    api.say("one")
    cluster.follow(KUBELET)
    until(lambda: cluster.trouble == f"{CONF} is not there yet: the kubelet has no credentials", "told")
    write_credentials(host, api.server.url)
    until(lambda: text_of(cluster) == "one" and cluster.trouble is None, "it is seen")
    lists = api.config_maps.lists
    write_credentials(host, api.server.url, own("system:node:win1"))
    until(lambda: api.config_maps.lists > lists, "it is asked with the new ones")
    api.say("two")
    until(lambda: text_of(cluster) == "two", "it is seen")


@pytest.mark.parametrize(
    "target", [DATED.name, "{folder}/pki/" + DATED.name], ids=["beside", "as kubelets do"]
)
def test_the_certificate_in_use_is_a_link_to_a_dated_one(
    tmp_path: Path, host: Host, api: LiveApi, cluster: Cluster, target: str
) -> None:
    write_credentials(host, api.server.url)
    host.files.move(CERTIFICATE, DATED)
    (tmp_path / "pki" / CERTIFICATE.name).symlink_to(target.format(folder=tmp_path))
    api.say("one")
    cluster.follow(KUBELET)
    until(lambda: text_of(cluster) == "one", "it is seen")


def test_a_link_to_no_certificate_yet_is_none(
    tmp_path: Path, host: Host, api: LiveApi, cluster: Cluster
) -> None:
    write_credentials(host, api.server.url)
    host.files.remove(CERTIFICATE)
    (tmp_path / "pki" / CERTIFICATE.name).symlink_to(DATED.name)
    cluster.follow(KUBELET)
    until(lambda: cluster.trouble == f"{CONF} is not there yet: the kubelet has no credentials", "told")


def test_a_link_to_another_folder_is_not_followed(
    tmp_path: Path, host: Host, api: LiveApi, cluster: Cluster
) -> None:
    write_credentials(host, api.server.url)
    elsewhere = CONF.with_name("elsewhere.pem")
    host.files.move(CERTIFICATE, elsewhere)
    (tmp_path / "pki" / CERTIFICATE.name).symlink_to(tmp_path / "etc" / "kubernetes" / elsewhere.name)
    cluster.follow(KUBELET)
    until(lambda: "there is a link or junction on the way" in (cluster.trouble or ""), "it is told")
    assert api.server.asked == []


def test_the_same_credentials_cost_no_list(
    host: Host, api: LiveApi, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.cluster.SAME_CREDENTIALS_SECONDS", 0.2)
    write_credentials(host, api.server.url)
    api.say("one")
    cluster.follow(KUBELET)
    until(lambda: len([asked for asked in api.server.asked if "watch" in asked.target]) > 6, "watched on")
    assert (api.config_maps.lists, api.nodes.lists) == (1, 1)
    assert cluster.trouble is None


def test_a_kubelet_named_by_its_cloud_without_a_nodes_certificate(
    host: Host, api: LiveApi, cluster: Cluster
) -> None:
    write_credentials(host, api.server.url, own("somebody"))
    cluster.follow(Kubelet(CONF, (Argument("cloud-provider", "aws"),)))
    until(
        lambda: cluster.trouble == f"{CONF} has no certificate of a node's (system:node:NAME)", "it is told"
    )
    assert api.server.asked == []


def test_authorities_are_pinned_only_where_something_has_to_be_signed(
    host: Host, api: LiveApi, cluster: Cluster, signed: Cluster
) -> None:
    write_credentials(host, api.server.url)
    for each, pins in ((cluster, set()), (signed, {pinned(ROOT)})):
        each.follow(KUBELET)
        until(lambda each=each: each.config_map is not None, "it is seen")  # type: ignore[misc]
        assert each.pins == pins


def test_an_authority_whose_key_cannot_be_read_is_told_where_something_has_to_be_signed(
    host: Host, api: LiveApi, cluster: Cluster, signed: Cluster
) -> None:
    """OpenSSL loads it, and it vouches for nothing."""
    odd = issue("odd", authority=True).der.replace(EC_KEY, EC_KEY[:-1] + b"\x7f")
    authorities = ROOT.pem + ssl.DER_cert_to_PEM_cert(odd).encode()
    write_credentials(host, api.server.url, authorities=authorities)
    cluster.follow(KUBELET)
    signed.follow(KUBELET)
    until(lambda: cluster.config_map is not None, "it is followed")
    trouble = until(lambda: signed.trouble, "the authority is refused")
    assert trouble == (
        f"{CONF}: cluster.certificate-authority: the public key of a certificate there cannot be read, by "
        "which the cluster is known; put one there with an RSA, ECDSA or Ed25519 key"
    )


def test_a_kubeconfig_that_users_can_write_is_not_believed(
    host: Host, api: LiveApi, cluster: Cluster
) -> None:
    write_credentials(host, api.server.url)
    host.files.set_descriptor(CONF, SecurityDescriptor.parse("O:BAD:P(A;;FA;;;BA)(A;;FA;;;WD)"))
    cluster.follow(KUBELET)
    until(lambda: "can be changed by users" in (cluster.trouble or ""), "it is told")
    assert api.server.asked == []


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        pytest.param(
            CONFIG_MAPS,
            "; packaging/manifests/following, with its namespace and name in it, allows it",
            id="the ConfigMap",
        ),
        pytest.param(NODES, "", id="its own Node, which a node may read anyhow"),
    ],
)
def test_one_that_is_forbidden_is_told_with_what_allows_it_and_asked_for_again(
    host: Host, api: LiveApi, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, path: str, advice: str
) -> None:
    write_credentials(host, api.server.url)
    answers = {CONFIG_MAPS: api.config_maps.answer, NODES: api.nodes.answer}
    api.server.at(path, status(403, "Forbidden", "not for nodes"), answers[path])
    api.say("one")
    told: list[str | None] = []
    monkeypatch.setattr(cluster, "tell", lambda: told.append(cluster.trouble))
    cluster.follow(KUBELET)
    until(lambda: cluster.node is not None and text_of(cluster) == "one", "both are seen in the end")
    (refused,) = {text for text in told if text}
    assert refused.partition("not for nodes")[2] == advice
    assert cluster.trouble is None


def test_one_that_is_forbidden_when_its_server_is_back_is_told_anew(
    host: Host, api: LiveApi, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_credentials(host, api.server.url)
    api.server.at(CONFIG_MAPS, *[status(500)] * 2, status(403, "Forbidden", "not for nodes"))
    told: list[str] = []
    monkeypatch.setattr(cluster, "tell", lambda: told.append(cluster.trouble or ""))
    cluster.follow(KUBELET)
    until(lambda: any(text.endswith("in it, allows it") for text in told), "the remedy is told, too")
    assert any("500" in text for text in told)


def test_who_is_heard_again_is_asked_as_soon_as_at_first(host: Host, api: LiveApi, cluster: Cluster) -> None:
    write_credentials(host, api.server.url)
    refused = [status(403, "Forbidden", "not for nodes")] * 4
    api.server.at(CONFIG_MAPS, *refused, api.config_maps.answer)
    api.say("one")
    cluster.follow(KUBELET)
    until(lambda: text_of(cluster) == "one", "it is seen in the end")
    assert {watcher.backoff.pause for watcher in cluster._watchers} == {0.05}


def test_who_is_refused_again_and_again_asks_ever_more_seldom(
    host: Host, api: LiveApi, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.cluster._LONGEST_PAUSE_SECONDS", 0.3)
    write_credentials(host, api.server.url)
    api.server.at(CONFIG_MAPS, status(403, "Forbidden", "not for nodes"))
    cluster.follow(KUBELET)
    of_config_maps, of_nodes = cluster._watchers
    until(lambda: of_config_maps.backoff.pause == 0.3, "it does, up to a limit")
    assert of_nodes.backoff.pause == 0.05


def test_another_kubeconfig_is_another_cluster(host: Host, api: LiveApi, cluster: Cluster) -> None:
    write_credentials(host, api.server.url)
    api.say("one")
    cluster.follow(KUBELET)
    until(lambda: text_of(cluster) == "one", "it is seen")
    cluster.follow(Kubelet(PureWindowsPath(r"C:\elsewhere.conf")))
    assert (cluster.config_map, cluster.node) == (None, None)
    until(lambda: "elsewhere.conf is not there yet" in (cluster.trouble or ""), "it is told")


def test_what_was_on_its_way_when_another_is_followed_is_not_heard(
    host: Host, api: LiveApi, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_credentials(host, api.server.url)
    heard: list[threading.Thread] = []

    def another_is_followed(_: Following) -> None:
        cluster.follow(None)
        heard.append(threading.current_thread())

    monkeypatch.setattr(Following, "let_go", another_is_followed)
    cluster.follow(KUBELET)
    until(lambda: heard and not heard[0].is_alive(), "whoever heard of it is at an end")
    assert (cluster.config_map, cluster.node) == (None, None)


# What is told


@pytest.fixture
def reports(host: Host, api: LiveApi, cluster: Cluster) -> Reports:
    write_credentials(host, api.server.url)
    cluster.follow(KUBELET)
    until(lambda: cluster.node is not None, "the Node is seen")
    return Reports(cluster, host.clock)


def test_annotations_and_an_event_for_each_change(api: LiveApi, reports: Reports) -> None:
    reports.put(Report("ConfigMap nodes/windows", "refused", "key node.yaml: no"))
    until(lambda: len(api.events) == 1, "it is told")
    assert api.annotations() == {"wmcb/state": "refused", "wmcb/error": "key node.yaml: no"}
    (event,) = api.events
    assert (event["type"], event["reason"]) == ("Warning", "ConfigMapRefused")
    assert event["message"] == "ConfigMap nodes/windows: key node.yaml: no"
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "win1", "uid": "uid-1"}

    applied = Report("ConfigMap nodes/windows", "applied", "", "abc", "12", "0.1.0")
    reports.put(applied)
    until(lambda: len(api.events) == 2, "it is told")
    assert api.annotations() == {
        "wmcb/state": "applied",
        "wmcb/applied": "abc",
        "wmcb/applied-version": "12",
        "wmcb/release": "0.1.0",
    }
    asked = len(api.server.asked)
    reports.put(applied)
    assert len(api.server.asked) == asked


def test_an_error_is_told_as_far_as_a_server_takes_it(api: LiveApi, reports: Reports) -> None:
    reports.put(Report("ConfigMap nodes/windows", "refused", "key node.yaml: " + "no" * 5000))
    until(lambda: len(api.events) == 1, "it is told")
    for text in (api.annotations()["wmcb/error"], api.events[0]["message"]):
        assert "key node.yaml: nono" in text
        assert len(text) <= 1024


def test_what_the_node_says_already_is_not_told_again(
    host: Host, api: LiveApi, cluster: Cluster, reports: Reports
) -> None:
    first = Report("ConfigMap nodes/windows", "pending")
    reports.put(first)
    until(lambda: cluster.node is not None and "wmcb/state" in cluster.node.annotations, "it is seen")
    until(lambda: len(api.events) == 1, "it is told")
    after_restart = Reports(cluster, host.clock)
    after_restart.put(first)
    after_restart.put(Report("ConfigMap nodes/windows", "missing"))
    until(lambda: len(api.events) == 2, "the other is told")
    assert [event["reason"] for event in api.events] == ["ConfigMapPending", "ConfigMapMissing"]


def test_a_node_that_is_made_anew_is_told_what_the_one_before_it_was(
    api: LiveApi, cluster: Cluster, reports: Reports
) -> None:
    applied = Report("ConfigMap nodes/windows", "applied", "", "abc", "12")
    reports.put(applied)
    until(lambda: api.annotations().get("wmcb/state") == "applied", "it is told")
    api.nodes.remove("win1")
    api.nodes.put("win1", metadata={"uid": "uid-2"})
    until(lambda: cluster.node is not None and cluster.node.uid == "uid-2", "the new one is seen")
    assert api.annotations() == {}
    reports.put(applied)
    until(lambda: api.annotations().get("wmcb/applied") == "abc", "it is told, too")


def test_what_could_not_be_told_is_told_at_once_when_the_cluster_is_heard_again(
    api: LiveApi, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.reporting._FIRST_PAUSE_SECONDS", 1000.0)
    api.server.at(f"{NODES}/win1", status(500), api._patched)
    report = Report("ConfigMap nodes/windows", "pending")
    reports.put(report)
    until(lambda: any(each.target.startswith(f"{NODES}/win1") for each in api.server.asked), "it is tried")
    reports.put(report)
    assert api.annotations() == {}
    reports.again()
    until(lambda: api.annotations() == {"wmcb/state": "pending"}, "it is told")


def test_what_cannot_be_told_is_told_later_as_it_is_then(
    api: LiveApi, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.reporting._FIRST_PAUSE_SECONDS", 0.05)
    api.server.at(f"{NODES}/win1", status(500), status(403, "Forbidden"), api._patched)
    reports.put(Report("ConfigMap nodes/windows", "pending"))
    until(lambda: api.annotations() == {"wmcb/state": "pending"}, "it is told in the end")
