"""The files of a join beside those that kubeadm.exe writes: what differs, and why ours are the better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

_CONTROL_GROUPS = "a kubelet on Windows has no control groups, and its defaults are those of Linux"

BETTER: Mapping[str, Mapping[str, str]] = {
    "etc/kubernetes/bootstrap-kubelet.conf": {},
    "etc/kubernetes/pki/ca.crt": {},
    "var/lib/kubelet/config.yaml": {
        "cgroupDriver": _CONTROL_GROUPS,
        "cgroupsPerQOS": _CONTROL_GROUPS,
        "enforceNodeAllocatable": _CONTROL_GROUPS,
        "systemReserved": "2 GiB is the least that Kubernetes recommends for Windows itself",
    },
    "var/lib/kubelet/instance-config.yaml": {},
    "var/lib/kubelet/kubeadm-flags.env": {
        "--node-ip": "a kubelet on Windows finds no default address by itself",
        "--pod-infra-container-image": "no kubelet takes it since 1.35, and this one would not start with it",
    },
}
"""Each file that both write, and what of it is different."""

_EMPTY: tuple[object, ...] = ("0s", 0, "0", {})
"""What kubeadm.exe writes for what is not set; to the kubelet it is as good as nothing."""


def differences(name: str, ours: str, theirs: str) -> set[str]:
    """Of one file: the names of the settings or arguments that are not the same."""
    mine, their = dict(_settings(name, ours)), dict(_settings(name, theirs))
    return {key for key in {*mine, *their} if mine.get(key) != their.get(key)}


def _settings(name: str, text: str) -> Iterator[tuple[str, object]]:
    if name.endswith(".crt"):
        yield "certificate", text
    elif name.endswith(".env"):
        variable, _, value = text.strip().partition("=")
        for argument in filter(None, value.strip('"').split(" --")):
            flag, _, given = argument.removeprefix("--").partition("=")
            yield f"--{flag}", given
        yield "variable", variable
    else:
        yield from _without_empty(yaml.safe_load(text)).items()


def _without_empty(given: Mapping[str, object]) -> dict[str, object]:
    made = {key: _without_empty(value) if isinstance(value, dict) else value for key, value in given.items()}
    return {key: value for key, value in made.items() if value is False or value not in _EMPTY}
