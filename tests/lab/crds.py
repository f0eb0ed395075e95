"""Cluster API's CustomResourceDefinitions, as released: out of Go modules, known by their sums."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from lab import cache, toolchains


class Published(NamedTuple):
    module: str
    sum: str
    files: tuple[str, ...]


_CLUSTER_API = (
    Published(
        "sigs.k8s.io/cluster-api@v1.14.2",
        "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=",
        (
            "core/config/crd/bases/cluster.x-k8s.io_machinedeployments.yaml",
            "bootstrap/kubeadm/config/crd/bases/bootstrap.cluster.x-k8s.io_kubeadmconfigtemplates.yaml",
        ),
    ),
    Published(
        "sigs.k8s.io/cluster-api-provider-vsphere@v1.14.0",
        "h1:MR3Ry1DvFeeLHH4ldFi1kChpkkB5HPOWHP0viURbL8c=",
        ("config/default/crd/bases/infrastructure.cluster.x-k8s.io_vspheremachinetemplates.yaml",),
    ),
    Published(
        "sigs.k8s.io/cluster-api-provider-aws/v2@v2.10.0",
        "h1:E28NopVRAtnenHsfh54VwS2uEpGAkW0bv6Y19bqAwCg=",
        ("config/crd/bases/infrastructure.cluster.x-k8s.io_awsmachinetemplates.yaml",),
    ),
)


def cluster_api() -> Path:
    """A folder with a file of each kind."""

    def build(into: Path) -> None:
        for published in _CLUSTER_API:
            folder = _folder(published)
            for file in published.files:
                shutil.copyfile(folder / file, into / Path(file).name)

    return cache.built("cluster-api-crds", cache.digest(repr(_CLUSTER_API), build), build)


def _folder(published: Published) -> Path:
    told = subprocess.run(
        [toolchains.go(), "mod", "download", "-json", published.module],
        env=toolchains.go_environment({}),
        capture_output=True,
        check=True,
    )
    module = json.loads(told.stdout)
    if module["Sum"] != published.sum:
        raise RuntimeError(f"{published.module} is not what it was: {module['Sum']}")
    return Path(module["Dir"])
