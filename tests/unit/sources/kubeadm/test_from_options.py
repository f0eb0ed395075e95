from __future__ import annotations

from dataclasses import replace

import pytest

from agent.sources.kubeadm.model import BootstrapToken, Discovery, JoinConfiguration, NodeRegistration
from agent.sources.kubeadm.reading import JoinOptions, from_options, with_options

HASH = "sha256:" + "0123456789abcdef" * 4
TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - of no cluster
OTHER = "fedcba.0123456789abcdef"
GIVEN = JoinOptions(endpoint="10.0.0.1:6443", token=TOKEN, ca_cert_hashes=(HASH,))
OF_FILE = JoinConfiguration(
    Discovery(None, "C:\\a", ""),
    NodeRegistration("a", ignore_preflight_errors=("Swap",)),
    skip_phases=("preflight",),
)


def test_a_command_line_as_kubeadm_prints_it() -> None:
    outcome = from_options(GIVEN)
    assert outcome.report.entries == ()
    assert outcome.configuration == JoinConfiguration(
        Discovery(BootstrapToken(TOKEN, "10.0.0.1:6443", (HASH,)), None, TOKEN)
    )


def test_all_options() -> None:
    outcome = from_options(
        replace(
            GIVEN,
            discovery_token=OTHER,
            ca_cert_hashes=(f"{HASH},{HASH.upper().replace('SHA', 'sha')}", HASH),
            unsafe_skip_ca_verification=True,
            node_name=" WIN1",
            cri_socket="npipe:////./pipe/cri-dockerd",
            patches_directory="C:\\patches",
            ignore_preflight_errors=("Swap, Hostname", "Mem"),
            skip_phases=("preflight",),
            dry_run=True,
        )
    )
    token = BootstrapToken(OTHER, "10.0.0.1:6443", (HASH, HASH.upper().replace("SHA", "sha"), HASH), True)
    assert outcome.configuration == JoinConfiguration(
        Discovery(token, None, TOKEN),
        NodeRegistration(
            "win1", "npipe:////./pipe/cri-dockerd", ignore_preflight_errors=("Swap", "Hostname", "Mem")
        ),
        patches_directory="C:\\patches",
        skip_phases=("preflight",),
        dry_run=True,
    )


def test_by_a_file_without_a_token() -> None:
    outcome = from_options(JoinOptions(discovery_file="C:\\discovery.conf"))
    assert outcome.configuration == JoinConfiguration(Discovery(None, "C:\\discovery.conf", ""))


def test_no_token_is_shown() -> None:
    shown = repr(replace(GIVEN, tls_bootstrap_token=OTHER, discovery_token=OTHER))
    assert TOKEN not in shown
    assert OTHER not in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            JoinOptions(),
            "HOST:PORT: it is missing; `kubeadm token create --print-join-command` on a control-plane "
            "machine prints it with --token and --discovery-token-ca-cert-hash; "
            "or give --discovery-file or --config",
        ),
        (
            replace(GIVEN, token=""),
            "--token: it is missing; `kubeadm token create` on a control-plane machine makes one",
        ),
        (
            replace(GIVEN, token="hush"),  # noqa: S106
            "--token: it is no bootstrap token: six characters, a dot and sixteen more, of a to z and "
            "digits; "
            "`kubeadm token create` on a control-plane machine makes one",
        ),
        (
            replace(GIVEN, ca_cert_hashes=()),
            "--discovery-token-ca-cert-hash: it is missing: anybody who knows the token could pass for the "
            "cluster. Give the hash of its CA (sha256:..., as `kubeadm token create --print-join-command` "
            "tells it), or do without it (unsafeSkipCAVerification, "
            "--discovery-token-unsafe-skip-ca-verification)",
        ),
        (
            replace(GIVEN, discovery_file="C:\\a"),
            "--discovery-file: it cannot stand beside HOST:PORT: the file says where the cluster is",
        ),
        (
            replace(GIVEN, endpoint="10.0.0.1"),
            'HOST:PORT: "10.0.0.1" is no HOST:PORT, such as 10.0.0.1:6443',
        ),
        (
            replace(GIVEN, endpoint="https://10.0.0.1:6443"),
            'HOST:PORT: "https://10.0.0.1:6443" is no HOST:PORT: leave https:// out',
        ),
        (
            replace(GIVEN, endpoint=TOKEN),
            "HOST:PORT: it is a bootstrap token, which goes behind --token; HOST:PORT was expected, as "
            "10.0.0.1:6443",
        ),
        (
            replace(GIVEN, skip_phases=("kubelet-start/all", "kubelet")),
            '--skip-phases: "kubelet": there is no such phase; kubeadm has preflight, control-plane-prepare, '
            "check-etcd, kubelet-start, etcd-join, kubelet-wait-bootstrap, control-plane-join, "
            "wait-control-plane",
        ),
        (
            replace(GIVEN, ignore_preflight_errors=("ALL", "Swap")),
            "--ignore-preflight-errors: all ignores every check: name it alone, or leave it out",
        ),
        (
            replace(GIVEN, node_name="a_b"),
            '--node-name: "a_b" cannot be the name of a node: only a to z, digits, hyphens and dots, '
            "and each "
            "part of it begins and ends with a letter or digit",
        ),
        (
            replace(GIVEN, cri_socket="containerd"),
            '--cri-socket: "containerd" is no named pipe such as npipe:////./pipe/containerd-containerd',
        ),
    ],
)
def test_what_is_wrong_is_told_by_the_option(options: JoinOptions, message: str) -> None:
    outcome = from_options(options)
    assert outcome.configuration is None
    assert [str(entry) for entry in outcome.report.entries] == [f"error: {message}"]


def test_options_beside_a_file() -> None:
    options = JoinOptions(
        node_name="B", ignore_preflight_errors=("Mem",), skip_phases=("kubelet-start",), dry_run=True
    )
    outcome = with_options(OF_FILE, options)
    assert outcome.configuration == JoinConfiguration(
        Discovery(None, "C:\\a", ""),
        NodeRegistration("b", ignore_preflight_errors=("Swap", "Mem")),
        skip_phases=("kubelet-start",),
        dry_run=True,
    )
    assert with_options(OF_FILE, JoinOptions()).configuration == OF_FILE


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        (
            JoinOptions(token=TOKEN, cri_socket="x"),
            [
                "--token: it cannot stand beside --config, whose file says this",
                "--cri-socket: it cannot stand beside --config, whose file says this",
            ],
        ),
        (
            JoinOptions(ignore_preflight_errors=("all",)),
            [
                "--ignore-preflight-errors: all ignores every check: name it alone, or leave it out",
            ],
        ),
        (
            JoinOptions(node_name="-"),
            [
                '--node-name: "-" cannot be the name of a node: only a to z, digits, hyphens and dots, '
                "and each "
                "part of it begins and ends with a letter or digit",
            ],
        ),
    ],
)
def test_options_that_cannot_stand_beside_a_file(options: JoinOptions, messages: list[str]) -> None:
    outcome = with_options(OF_FILE, options)
    assert outcome.configuration is None
    assert [str(entry) for entry in outcome.report.entries] == [f"error: {message}" for message in messages]
