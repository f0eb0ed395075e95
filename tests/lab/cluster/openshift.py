"""The account by which OpenShift's workers ask for their first certificate: nobody approves by himself."""

from __future__ import annotations

from lab.cluster.cluster import Cluster
from lab.waiting import until

NAMESPACE = "openshift-machine-config-operator"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
_ACCOUNT = "node-bootstrapper"
_PLACE = f"/api/v1/namespaces/{NAMESPACE}"


def bootstrappers_token(cluster: Cluster) -> str:
    """Of the account, which is made for it."""
    # A namespace goes in the background, and another test may have had this one.
    until(lambda: cluster.api.find(_PLACE) is None, f"{NAMESPACE} is gone", 60)
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    accounts = f"{_PLACE}/serviceaccounts"
    cluster.api.create(accounts, {"metadata": {"name": _ACCOUNT}})
    role = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "system:node-bootstrapper",
    }
    account = {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": NAMESPACE}
    cluster.api.create(BINDINGS, {"metadata": {"name": NAMESPACE}, "roleRef": role, "subjects": [account]})
    told = cluster.api.create(f"{accounts}/{_ACCOUNT}/token", {"spec": {"expirationSeconds": 3600}})
    token: str = told["status"]["token"]
    return token


def without_bootstrapper(cluster: Cluster) -> None:
    cluster.api.delete(f"{BINDINGS}/{NAMESPACE}")
    cluster.api.delete(_PLACE)
