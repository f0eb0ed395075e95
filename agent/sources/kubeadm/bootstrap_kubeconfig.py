"""bootstrap-kubelet.conf: with what the kubelet asks for its first certificate."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from agent.documents import Value
from agent.sources.kubeadm.yaml_text import dumped

_USER = "tls-bootstrap-token-user"


def bootstrap_kubeconfig(
    server: str, ca_certificate: bytes, cluster: str, user: Mapping[str, Value], also: Mapping[str, Value]
) -> bytes:
    """`user` are the credentials as a kubeconfig has them: {"token": ...}, mostly.

    `also` is what else it takes to reach the server, as a kubeconfig has it.
    """
    context = f"{_USER}@kubernetes"  # whatever the cluster is called
    authority = base64.b64encode(ca_certificate).decode()
    return dumped(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": cluster,
                    "cluster": {"certificate-authority-data": authority, "server": server, **also},
                }
            ],
            "contexts": [{"name": context, "context": {"cluster": cluster, "user": _USER}}],
            "current-context": context,
            "users": [{"name": _USER, "user": dict(user)}],
        }
    )
