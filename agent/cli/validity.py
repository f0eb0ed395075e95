"""When the certificates of a node's cluster are valid, for a look at the machine's clock."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.certificates import load_pem
from agent.preflight import Validity
from agent.release import NOT_BEFORE, RELEASE
from agent.sources.kubelet.documents import NotReadable, read_document
from agent.spec import File, Key, Service, Specification, Want

_LARGEST = 4 << 20
_FLAG = "--bootstrap-kubeconfig="


def validities(specification: Specification | None) -> Sequence[Validity]:
    """Of this release, and of the cluster's authorities by which the kubelet first goes."""
    known = [Validity(f"this release, {RELEASE},", NOT_BEFORE)]
    spans = list(_spans(specification)) if specification else []
    if spans:
        first, last = min(first for first, _ in spans), max(last for _, last in spans)
        known.append(Validity("the cluster's certificate authority", first, last))
    return known


def _spans(specification: Specification) -> Iterator[tuple[float, float]]:
    """What cannot be read here is the kubelet's to judge."""
    wants = specification.by_key()
    for cluster in _clusters(wants):
        inline = str(cluster.get("certificate-authority-data", ""))
        path = str(cluster.get("certificate-authority", ""))
        try:
            text = base64.b64decode(inline) if inline else _content(wants, path)
            for certificate in load_pem(text):
                yield (
                    certificate.not_valid_before_utc.timestamp(),
                    certificate.not_valid_after_utc.timestamp(),
                )
        except ValueError:
            continue


def _clusters(wants: Mapping[Key, Want]) -> Iterator[Mapping[str, Any]]:
    for want in wants.values():
        if not isinstance(want, Service):
            continue
        for path in (word.removeprefix(_FLAG) for word in want.arguments if word.startswith(_FLAG)):
            try:
                document: Any = read_document(path, _content(wants, path)).value
            except NotReadable:
                continue
            listed = document.get("clusters")
            for item in listed if isinstance(listed, list) else ():
                cluster = item.get("cluster") if isinstance(item, dict) else None
                if isinstance(cluster, dict):
                    yield cluster


def _content(wants: Mapping[Key, Want], path: str) -> bytes:
    """Empty for what the specification does not carry."""
    file = wants.get(Key(File.kind, path))
    if not isinstance(file, File) or file.content is None or file.content.size > _LARGEST:
        return b""
    return b"".join(file.content.blocks())
