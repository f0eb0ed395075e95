"""packaging/cluster-api, by the schemas that Cluster API and its providers publish."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import crds, repository
from lab.cluster.cluster import Cluster
from lab.waiting import until

TEMPLATES = sorted((repository.ROOT / "packaging" / "cluster-api").glob("*.yaml"))


@pytest.fixture
def cluster_api(cluster: Cluster) -> Iterator[Cluster]:
    folder = str(crds.cluster_api())
    cluster.kubectl("apply", "--server-side", "-f", folder)
    cluster.kubectl("wait", "--for=condition=established", "--timeout=60s", "-f", folder)
    until(lambda: _are_told_of(cluster), "clients are told of them")
    yield cluster
    cluster.kubectl("delete", "-f", folder)


def _are_told_of(cluster: Cluster) -> bool:
    """A moment after they are established."""
    for each in cluster.api.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"):
        group, plural = each["spec"]["group"], each["spec"]["names"]["plural"]
        for version in (one["name"] for one in each["spec"]["versions"] if one["served"]):
            told = cluster.api.find(f"/apis/{group}/{version}") or {"resources": []}
            if plural not in (one["name"] for one in told["resources"]):
                return False
    return True


def _apply(cluster: Cluster, text: str) -> str:
    return cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=text)


def test_the_api_server_takes_each_as_it_stands(cluster_api: Cluster) -> None:
    assert [path.stem for path in TEMPLATES] == ["aws", "vsphere"]
    for path in TEMPLATES:
        text = path.read_text()
        assert _apply(cluster_api, text).count("serverside-applied") == 3
        cluster_api.kubectl("delete", "-f", "-", stdin=text)
        with pytest.raises(RuntimeError, match="preKubeadmCommand"):
            _apply(cluster_api, text.replace("preKubeadmCommands:", "preKubeadmCommand:"))
