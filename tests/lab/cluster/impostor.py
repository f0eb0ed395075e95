"""Somebody between the nodes and the API server, at its address, with certificates of another authority."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.certificates import Authority
from lab.cluster.api import Api
from lab.cluster.control_plane import HOST
from lab.cluster.proxy import Proxy
from lab.web import Answer, Request, Web, answering

_CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"


@contextmanager
def standing_between(proxy: Proxy, api: Api, genuine: Authority, *, lying: bool) -> Iterator[Web]:
    """Passes everything on, and all answers back; one that lies gives out its own authority as the cluster's.

    What it was sent, a token among the headers too, is in `requests` of what this gives.
    """
    with tempfile.TemporaryDirectory() as folder:
        own = Authority.make(Path(folder), "kubernetes")
        pair = Path(folder) / "server.pem"
        pair.write_text(own.server([f"IP:{HOST}", "DNS:kubernetes"]))

        def answer(request: Request, body: bytes) -> Answer:
            passed = {"Accept": "application/json"}
            for name in ("Authorization", "Content-Type", "User-Agent"):
                if name in request.headers:
                    passed[name] = str(request.headers[name])
            status, kind, answered = api.pass_on(request.method, request.path, body, passed)
            if lying and request.path.partition("?")[0] == _CLUSTER_INFO:
                answered = _with_another_authority(answered, genuine, own)
            return Answer(status, kind, answered)

        with answering(pair, answer) as web, proxy.leading_to((HOST, web.port)):
            yield web


def _with_another_authority(cluster_info: bytes, genuine: Authority, own: Authority) -> bytes:
    one, other = (base64.b64encode(each.certificate.read_bytes()).decode() for each in (genuine, own))
    document = json.loads(cluster_info)
    assert one in document["data"]["kubeconfig"]
    document["data"]["kubeconfig"] = document["data"]["kubeconfig"].replace(one, other)
    return json.dumps(document).encode()
