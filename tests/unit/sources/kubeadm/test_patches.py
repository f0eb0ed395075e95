from __future__ import annotations

import pytest

from agent.documents import Value
from agent.sources.kubeadm.patches import patched, read_patches

BASE: dict[str, Value] = {
    "maxPods": 110,
    "clusterDNS": ["10.96.0.10"],
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
    "authentication": {"webhook": {"enabled": True, "cacheTTL": "0s"}},
}

CASES: dict[str, tuple[str, str, dict[str, Value]]] = {
    "strategic: maps are merged": (
        "kubeletconfiguration.yaml",
        "maxPods: 20\nevictionHard: {memory.available: 1Gi}\n",
        {**BASE, "maxPods": 20, "evictionHard": {"memory.available": "1Gi", "nodefs.available": "10%"}},
    ),
    "strategic: lists are replaced": (
        "kubeletconfiguration+strategic.yaml",
        "clusterDNS: [10.0.0.1, 10.0.0.2]\n",
        {**BASE, "clusterDNS": ["10.0.0.1", "10.0.0.2"]},
    ),
    "strategic: null takes away": (
        "kubeletconfiguration0.json",
        '{"maxPods": null, "evictionHard": {"nodefs.available": null, "x": null}, "new": {"a": null, '
        '"b": 1}}',
        {
            "clusterDNS": ["10.96.0.10"],
            "evictionHard": {"memory.available": "100Mi"},
            "authentication": BASE["authentication"],
            "new": {"b": 1},
        },
    ),
    "strategic: a mapping replaced": (
        "kubeletconfiguration.yaml",
        "evictionHard: {$patch: replace, a: b}\n",
        {**BASE, "evictionHard": {"a": "b"}},
    ),
    "strategic: a mapping emptied": (
        "kubeletconfiguration.yaml",
        "evictionHard: {$patch: delete}\n",
        {**BASE, "evictionHard": {}},
    ),
    "strategic: only some keys kept": (
        "kubeletconfiguration.yaml",
        "evictionHard: {$retainKeys: [memory.available], memory.available: 2Gi}\n",
        {**BASE, "evictionHard": {"memory.available": "2Gi"}},
    ),
    "strategic: taken out of a list": (
        "kubeletconfiguration.yaml",
        "$deleteFromPrimitiveList/clusterDNS: [10.96.0.10]\n",
        {**BASE, "clusterDNS": []},
    ),
    "merge": (
        "kubeletconfiguration1+merge.yaml",
        "maxPods: null\nevictionHard: {nodefs.available: null}\nclusterDNS: []\nnew: {a: null, b: [null]}\n",
        {
            "clusterDNS": [],
            "evictionHard": {"memory.available": "100Mi"},
            "authentication": BASE["authentication"],
            "new": {"b": [None]},
        },
    ),
    "merge: a mapping for a list": (
        "kubeletconfiguration+merge.yaml",
        "clusterDNS: {a: null}\n",
        {**BASE, "clusterDNS": {}},
    ),
    "json: all operations": (
        "kubeletconfiguration+json.json",
        """[{"op": "test", "path": "/maxPods", "value": 110},
        {"op": "add", "path": "/clusterDNS/0", "value": "a"},
        {"op": "add", "path": "/clusterDNS/-", "value": "z"},
        {"op": "replace", "path": "/maxPods", "value": 7}, {"op": "replace", "path": "/port", "value": 1},
        {"op": "copy", "from": "/maxPods", "path": "/podsPerCore"},
        {"op": "move", "from": "/evictionHard/memory.available", "path": "/evictionHard/x~1y~0z"},
        {"op": "remove", "path": "/authentication/webhook"}]""",
        {
            "maxPods": 7,
            "port": 1,
            "podsPerCore": 7,
            "clusterDNS": ["a", "10.96.0.10", "z"],
            "evictionHard": {"nodefs.available": "10%", "x/y~z": "100Mi"},
            "authentication": {},
        },
    ),
    "json: as YAML, counted from the end": (
        "kubeletconfiguration+json.yaml",
        "- {op: add, path: /clusterDNS/-1, value: z}\n- {op: remove, path: /clusterDNS/-2}\n",
        {**BASE, "clusterDNS": ["z"]},
    ),
    "two in one file": (
        "kubeletconfiguration.yaml",
        "---\n---\nmaxPods: 1\n--- # and\nmaxPods: 2\n---\n\n",
        {**BASE, "maxPods": 2},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_patches_are_applied_as_kubeadm_does(case: str) -> None:
    file, text, expected = CASES[case]
    patches = read_patches({file: text.encode()})
    assert patches.report.entries == ()
    before = repr(BASE)
    made, report = patched(BASE, patches)
    assert report.entries == ()
    assert made == expected
    assert repr(BASE) == before


def test_patches_are_applied_by_name_folder_by_folder() -> None:
    files = {
        "kubeletconfiguration1.yaml": b"maxPods: 3\n",
        "kubeletconfiguration0+merge.yaml": b"maxPods: 2\npodsPerCore: 2\n",
        "a/kubeletconfiguration.yaml": b"maxPods: 1\npodsPerCore: 1\nport: 1\n",
    }
    made, report = patched(BASE, read_patches(files))
    assert report.entries == ()
    assert made == {**BASE, "maxPods": 3, "podsPerCore": 2, "port": 1}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("README.md", "warning: README.md: it is left out: the name of a patch ends in .yaml or .json"),
        ("kubeletconfiguration.yml", "warning: kubeletconfiguration.yml: it is left out: the name of a patch "
         "ends in .yaml or .json"),
        ("kubelet.yaml", "warning: kubelet.yaml: it is left out: the name of a patch begins with etcd, "
         "kube-apiserver, kube-controller-manager, kube-scheduler, kubeletconfiguration, corednsdeployment, "
         "kubeproxydaemonset"),
        ("etcd+json.json", "warning: etcd+json.json: it is left out: etcd runs in the control plane, "
        "not on a "
         "Windows node"),
        ("kubeletconfiguration+jsn.yaml", "error: kubeletconfiguration+jsn.yaml: behind the + of a "
        "patch's name "
         'stands json, merge, strategic, not "jsn.yaml"'),
    ],
)  # fmt: skip
def test_files_that_are_no_patches_of_ours(name: str, message: str) -> None:
    patches = read_patches({name: b"maxPods: 1\n"})
    assert [str(entry) for entry in patches.report.entries] == [message]
    assert patches.found == ()


EMPTY_DOCUMENTS = {
    "blanks and tabs": (" \n\t\n", []),
    "blanks and tabs between two": ("a: 1\n---\n\t\n---\nb: 2\n", [(1, {"a": 1}), (5, {"b": 2})]),
    "kubeadm's own case, blanks before a second separator": (
        '{"foo":"bar"}\n---\n     ---\n{"foo":"baz"}',
        [(1, {"foo": "bar"}), (3, {"foo": "baz"})],
    ),
    "a separator at the end": ("a: 1\n---\n", [(1, {"a": 1})]),
    "a remark alone": ("# nothing yet\n", []),
}


@pytest.mark.parametrize("name", EMPTY_DOCUMENTS)
def test_empty_documents_are_left_out_as_by_kubeadm(name: str) -> None:
    text, expected = EMPTY_DOCUMENTS[name]
    patches = read_patches({"kubeletconfiguration.yaml": text.encode()})
    assert patches.report.entries == ()
    assert [(patch.line, patch.value) for patch in patches.found] == expected


def test_an_empty_file_is_no_patch() -> None:
    patches = read_patches({"kubeletconfiguration.yaml": b""})
    assert [str(entry) for entry in patches.report.entries] == [
        "warning: kubeletconfiguration.yaml: it is empty, and no patch"
    ]


BAD = {
    "no list": ("+json.yaml", "a: 1\n", "the json patch does not apply: a JSON patch is a list of "
    "operations"),
    "no mapping": ("+merge.yaml", "- 1\n", "the merge patch does not apply: a merge patch is a mapping"),
    "nor here": (".yaml", "- 1\n", "the strategic patch does not apply: a strategic patch is a mapping"),
    "an operation that is none": (
        "+json.yaml",
        "- {op: insert, path: /a}\n",
        'the json patch does not apply: operation 1 (insert "/a"): there is no such operation; a JSON '
        'patch has '
        "add, remove, replace, test, move, copy",
    ),
    "no path": (
        "+json.yaml",
        "- {op: add}\n",
        'the json patch does not apply: operation 1 (add ""): it has no path',
    ),
    "not there": (
        "+json.yaml",
        "- {op: test, path: /maxPods, value: 110}\n- {op: remove, path: /a}\n",
        'the json patch does not apply: operation 2 (remove "/a"): it is not there',
    ),
    "nothing around it": (
        "+json.yaml",
        "- {op: add, path: /a/b, value: 1}\n",
        'the json patch does not apply: operation 1 (add "/a/b"): there is nothing that could hold it',
    ),
    "an index too far": (
        "+json.yaml",
        "- {op: replace, path: /clusterDNS/1, value: a}\n",
        'the json patch does not apply: operation 1 (replace "/clusterDNS/1"): "1" is no index of a '
        'list of 1',
    ),
    "another value": (
        "+json.yaml",
        "- {op: test, path: /authentication/webhook/enabled, value: 1}\n",
        'the json patch does not apply: operation 1 (test "/authentication/webhook/enabled"): another '
        'value is '
        "there",
    ),
    "an unknown directive": (
        ".yaml",
        "evictionHard: {$patch: merge}\n",
        "the strategic patch does not apply: $patch can be replace or delete only",
    ),
    "an order": (
        ".yaml",
        "$setElementOrder/clusterDNS: [a]\n",
        'the strategic patch does not apply: "$setElementOrder/clusterDNS": no list of a '
        'KubeletConfiguration '
        "has an order to set",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_patch_that_does_not_apply(case: str) -> None:
    name, text, message = BAD[case]
    file = f"kubeletconfiguration{name}"
    made, report = patched(BASE, read_patches({file: text.encode()}))
    assert [str(entry) for entry in report.entries] == [f"error: {file} line 1: {message}"]
    assert made == BASE
