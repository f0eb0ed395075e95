"""The wmcb.exe that the cluster wants of a node: `self` of a NodeConfiguration in a ConfigMap.

Nothing else of such a document counts here, and no rollout: whoever starts a playbook says when.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.wmcb.windows.plugins.module_utils import minisign
from ansible_collections.wmcb.windows.plugins.module_utils.cluster import Cluster
from ansible_collections.wmcb.windows.plugins.module_utils.joining import pins_of
from ansible_collections.wmcb.windows.plugins.module_utils.sources import Unusable

_KEY = "node.yaml"
_SIGNATURE = f"{_KEY}.minisig"
_KNOWN = ("wmcb.internal/v1beta1", "NodeConfiguration")
_LABELS = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64"}
"""Of a Node that is still to come: every kubelet on such a machine gives it these."""


def place_of(where: Mapping[str, str], node_name: str, cluster: Cluster) -> dict[str, str]:
    """Its `url` and `sha256`, as of any other source."""
    name = f"the ConfigMap {where['namespace']}/{where['name']}"
    found = cluster.find("configmap", where["name"], where["namespace"])
    if found is None:
        raise Unusable(f"there is no {name.removeprefix('the ')}")
    data = found.get("data") or {}
    text = _text(data, where.get("public_key"), name)
    if where.get("public_key"):
        _check_place(data[_SIGNATURE], f"{where['namespace']}/{where['name']}", cluster, name)
    node = cluster.find("node", node_name)
    labels = _LABELS if node is None else node["metadata"].get("labels", {})
    try:
        programs = {(each["source"], each["sha256"].lower()) for each in _programs(text, node_name, labels)}
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):
        raise Unusable(f"{_KEY} of {name} is no NodeConfiguration: see wmcb plan --node-config") from None
    if len({sha256 for _, sha256 in programs}) != 1:
        which = "another wmcb.exe in each of several documents" if programs else "no wmcb.exe (self)"
        raise Unusable(f"{name} names {which} for the node {node_name}")
    url, sha256 = sorted(programs)[0]
    # A file is named after it here.
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise Unusable(f"{name} has no sha256 of its wmcb.exe")
    if not re.match("https?://", url):
        raise Unusable(f"{name} has its wmcb.exe on a share or a machine, not at a URL: give a file")
    return {"url": url, "sha256": sha256}


def _text(data: Mapping[str, str], public_key: str | None, name: str) -> str:
    if _KEY not in data:
        raise Unusable(f"{name} has no key {_KEY}")
    if public_key:
        if _SIGNATURE not in data:
            raise Unusable(f"{name} is not signed: it has no key {_SIGNATURE}")
        try:
            key = Path(public_key).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise Unusable(f"{public_key} cannot be read") from None
        if fault := minisign.fault_of(data[_KEY], data[_SIGNATURE], key):
            raise Unusable(f"the signature of {name} by {public_key}: {fault}")
    return data[_KEY]


def _check_place(signature: str, place: str, cluster: Cluster, name: str) -> None:
    authorities = cluster.authorities()
    pins = pins_of(authorities) if authorities else []
    if fault := minisign.misplaced(signature, place, pins, time.time()):
        raise Unusable(f"the signature of {name}: {fault}")


def _programs(text: str, node_name: str, labels: Mapping[str, str]) -> Iterator[dict[str, str]]:
    # Of scalars it makes texts and nothing else, as a time that there is not would end it.
    for document in yaml.load_all(text, Loader=yaml.BaseLoader):
        if not document:
            continue
        if (document["apiVersion"], document["kind"]) != _KNOWN:
            raise TypeError
        if "self" in document and _is_for(document.get("nodes", {}), node_name, labels):
            yield document["self"]


def _is_for(nodes: Mapping[str, Any], node_name: str, labels: Mapping[str, str]) -> bool:
    """As wmcb has it."""
    is_named = node_name in {*nodes.get("names", [node_name])}
    return is_named and all(labels.get(name) == value for name, value in nodes.get("labels", {}).items())
