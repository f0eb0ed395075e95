"""The Kubernetes API, as far as a node needs it: pure network, which knows no host.

What a kubeconfig names by path is read by a callable that the caller gives.

    from agent.kube import kubeconfig
    from agent.kube.client import Client, config_map, node
    from agent.kube.discovery import Discovery
    from agent.kube.failure import Failed, Forbidden, ...

    cluster = Discovery(300.0, proxies=..., notice=print).by_token("10.0.0.1:6443", token, hashes)
    config = kubeconfig.with_token(cluster, token)
    with Client(config.access(read_file), proxies=..., notice=print) as client:
        text = text_at(client.get(config_map("kube-system", "kubelet-config")), "data", "kubelet")
        there = client.find(node("win1"))                   # None where there is none
        client.patch(node("win1"), {"metadata": {"annotations": {...}}})

- `kubeconfig`: `read(contents, name)` and `with_token`; `.cluster()`, `.user()`, `.access(read_file)`
- `client`: `Client` with `get`, `find`, `list`, `watch`, `create`, `patch`, `delete`
- `draining`: `cordon`, `pods_to_evict`, `Draining`, `uncordon`: what kubectl drain does, on one node
- `client`, too: `Following(client, "/api/v1/nodes", fields="metadata.name=win1").states()` is what there is
  now and from now on; `until(following, satisfied, seconds, failing)` waits for one of these states
- `answers`: `at`, `text_at`, `items_at`: what stands somewhere in an object, whatever else there is
- `discovery`: `Discovery` with `by_token`, `by_kubeconfig` and `by_url`: whom to trust, and as whom to ask
- `failure`: `Failed` and its kinds; each is one line for a person, without a secret

Everything is imported where it is used: ssl and all that it needs take longer than many a command.
"""
