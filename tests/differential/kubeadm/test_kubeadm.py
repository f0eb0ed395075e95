"""A short run; `python -m differential kubeadm` does long ones."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from agent.sources.kubeadm.patches import patched, read_patches
from agent.sources.kubeadm.reading import read
from differential.kubeadm.comparing import (
    LENIENT,
    LENIENT_OF_VALIDATION,
    LENIENT_PATCHES,
    STRICTER,
    STRICTER_OF_VALIDATION,
    STRICTER_PATCHES,
    compare,
)
from differential.kubeadm.oracle import KubeadmOracle

HEAD = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
DISCOVERY = """discovery:
  bootstrapToken:
    token: abcdef.0123456789abcdef
    apiServerEndpoint: 10.0.0.1:6443
    caCertHashes: ["sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"]
"""
GOOD = HEAD + DISCOVERY
NETWORKS = {"serviceSubnet": "10.96.0.0/12", "dnsDomain": "cluster.local", "certificatesDir": "/pki"}
CONFIG = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.fixture(scope="module")
def oracle() -> Iterator[KubeadmOracle]:
    with KubeadmOracle() as process:
        yield process


def test_our_reading_is_kubeadms_own(oracle: KubeadmOracle) -> None:
    tally = compare(oracle, 1, 1000)
    assert not tally.disagreements, "\n".join(tally.disagreements[:5])
    # A comparison of documents that nobody takes, or everybody, would show little.
    for what in ("validation", "join", "kubelets"):
        assert tally.compared[what] == 1000
        assert 350 < tally.compared[f"{what} taken"] < 850
    assert tally.compared["kubeadm-flags.env"] > 250


STRICTER_THAN_KUBEADM = {
    "longer than 63 characters": f"{GOOD}nodeRegistration: {{name: {'a' * 64}}}\n",
    "is no named pipe": f"{GOOD}nodeRegistration: {{criSocket: npipe://a}}\n",
    "cannot be part of the control plane": f"{GOOD}controlPlane: {{localAPIEndpoint: {{bindPort: 6443}}}}\n",
    "it is no hash of a public key": GOOD.replace("sha256", "sha512"),
    "names a host that none can be called": GOOD.replace("10.0.0.1:6443", '"a/b:6443"'),
    "has no port between 1 and 65535": GOOD.replace("6443", "https"),
    "has to say its apiVersion": GOOD.replace("apiVersion", "APIVersion"),
}


@pytest.mark.parametrize("words", STRICTER)
def test_where_we_are_stricter_on_purpose(oracle: KubeadmOracle, words: str) -> None:
    text = STRICTER_THAN_KUBEADM[words]
    # On a machine of the lab an address for the API server may not be found.
    refused = oracle.join(text.replace("npipe", "unix").encode()).refused
    assert not refused or "unable to select an IP" in refused
    outcome = read("join.yaml", text.encode())
    assert outcome.configuration is None
    assert any(words in str(entry) for entry in outcome.report.errors)


STRICTER_VALIDATION_THAN_KUBEADMS = {
    "there is no such phase": f"{GOOD}skipPhases: [nonsense]\n",
    "all ignores every check": f"{GOOD}nodeRegistration: {{ignorePreflightErrors: [all, Swap]}}\n",
}


@pytest.mark.parametrize("words", STRICTER_OF_VALIDATION)
def test_where_validation_is_stricter_on_purpose(oracle: KubeadmOracle, words: str) -> None:
    text = STRICTER_VALIDATION_THAN_KUBEADMS[words].encode()
    assert oracle.join(text).invalid == ""
    outcome = read("join.yaml", text, strictly=True)
    assert any(words in str(entry) for entry in outcome.report.errors)
    assert read("join.yaml", text).configuration is not None


MORE_LENIENT_THAN_KUBEADM = {
    "Go struct field TypeMeta.": f"{GOOD}Kind: {{}}\n",
    "couldn't get version/kind": f"{GOOD}Kind: 1\n",
    'no kind "': json.dumps({**yaml.safe_load(GOOD), "Kind": "a"}),
    "not a valid HTTPS URL or a file on disk": f"{HEAD}discovery: {{file: {{kubeConfigPath: "
    f"/no/such/file}}}}\n",
    "if a URL is used, the scheme must be https": f"{HEAD}discovery: {{file: {{kubeConfigPath: 'C:\\a'}}}}\n",
}


@pytest.mark.parametrize("words", LENIENT)
def test_where_we_take_more_on_purpose(oracle: KubeadmOracle, words: str) -> None:
    text = MORE_LENIENT_THAN_KUBEADM[words].encode()
    assert words in oracle.join(text).refused
    assert read("join.yaml", text).configuration is not None


ELSEWHERE_IN_YAML: dict[str, tuple[str, bool]] = {
    "a tag that nobody knows, where kubeadm looks away": (
        f"{GOOD}nodeRegistration: {{name: !foo a}}\n",
        False,
    ),
    "a tag for what is no text": (f"{GOOD}nodeRegistration: {{name: !!binary YQ==}}\n", False),
    "what follows the end of a document": (f"{GOOD}...\na: b\n", False),
    "null as a key, which is ignored with a warning": (f"{GOOD}~: a\n", True),
    "a slash that JSON may escape": (json.dumps(yaml.safe_load(GOOD)).replace("/", "\\/"), True),
}
"""Where YAML is not read as Go's library reads it, and whether we take it."""


@pytest.mark.parametrize("case", ELSEWHERE_IN_YAML)
def test_where_yaml_is_read_otherwise(oracle: KubeadmOracle, case: str) -> None:
    text, taken = ELSEWHERE_IN_YAML[case]
    assert bool(oracle.join(text.encode()).refused) == taken
    assert (read("join.yaml", text.encode()).configuration is not None) == taken


def test_a_key_of_ones_own_goes_before_one_that_is_merged(oracle: KubeadmOracle) -> None:
    """As YAML has it. With Go's library the last one counts, and validation finds the key twice."""
    text = f"{GOOD}x: &x {{name: a}}\nnodeRegistration: {{name: b, <<: *x}}\n".encode()
    answer = oracle.join(text)
    assert answer.config["nodeRegistration"]["name"] == "a"
    assert "already set in map" in answer.invalid
    configuration = read("join.yaml", text).configuration
    assert configuration is not None
    assert configuration.node_registration.name == "b"


def test_other_documents_are_not_judged(oracle: KubeadmOracle) -> None:
    text = f"{GOOD}---\napiVersion: a/b\nkind: C\n".encode()
    (words,) = LENIENT_OF_VALIDATION
    assert words in oracle.join(text).invalid
    assert read("join.yaml", text, strictly=True).configuration is not None


@pytest.mark.parametrize(
    ("words", "name", "text"),
    [
        ("a merge patch is a mapping", "kubeletconfiguration+merge.yaml", b"- a\n"),
        (
            "it leaves no mapping of settings",
            "kubeletconfiguration+json.yaml",
            b"- {op: replace, path: '', value: [a]}\n",
        ),
        ("has an order to set", "kubeletconfiguration.yaml", b"$setElementOrder/clusterDNS: [a]\n"),
    ],
)
def test_patches_that_we_refuse_on_purpose(oracle: KubeadmOracle, words: str, name: str, text: bytes) -> None:
    assert words in STRICTER_PATCHES
    assert not oracle.kubelet(CONFIG, NETWORKS, {name: text}).refused
    _, report = patched({"clusterDNS": ["a"]}, read_patches({name: text}))
    assert any(words in str(entry) for entry in report.errors)


def test_a_patch_that_we_take_on_purpose(oracle: KubeadmOracle) -> None:
    (words,) = LENIENT_PATCHES
    files = {"kubeletconfiguration+merge.yaml": b"# why\n---\nmaxPods: 1\n"}
    assert words in oracle.kubelet(CONFIG, NETWORKS, files).refused
    assert patched({}, read_patches(files))[0] == {"maxPods": 1}
