from __future__ import annotations

import pytest

from agent.sources.kubelet.command_line import (
    Given,
    NotAKubelet,
    Unusable,
    kubelet_words,
    parse,
    value_of,
)
from agent.sources.kubelet.flags import Kind
from agent.sources.systemd.environment import Word


def words(*texts: str) -> list[Word]:
    return [Word(text) for text in texts]


@pytest.mark.parametrize(
    ("command", "left"),
    [
        (["/usr/bin/kubelet", "--a"], ["--a"]),
        (["kubelet"], []),
        (["/usr/bin/hyperkube", "kubelet", "--a"], ["--a"]),
        (["hyperkube", "kubelet"], []),
        (["/usr/local/bin/kubenswrapper", "/usr/bin/kubelet", "--a"], ["--a"]),
        (["kubensenter", "kubelet"], []),
        (["/usr/local/bin/kubenswrapper", "/usr/bin/hyperkube", "kubelet", "--a"], ["--a"]),
    ],
)
def test_each_way_to_start_a_kubelet(command: list[str], left: list[str]) -> None:
    assert [word.text for word in kubelet_words(command[0], words(*command[1:]))] == left


@pytest.mark.parametrize(
    "command",
    [
        ["/bin/bash", "-c", "kubelet --a"],
        ["/usr/bin/hyperkube"],
        ["hyperkube", "proxy"],
        ["kubenswrapper"],
        ["kubenswrapper", "/bin/true"],
        ["/usr/bin/podman", "run", "kubelet"],
    ],
)
def test_something_else(command: list[str]) -> None:
    with pytest.raises(NotAKubelet):
        kubelet_words(command[0], words(*command[1:]))


def given(*texts: str) -> list[tuple[str, str | None]]:
    found = []
    for flag in parse(words(*texts)):
        assert isinstance(flag, Given)
        found.append((flag.name, flag.value))
    return found


@pytest.mark.parametrize(
    ("texts", "flags"),
    [
        pytest.param(["--max-pods=5"], [("max-pods", "5")], id="equals"),
        pytest.param(["--max-pods", "5"], [("max-pods", "5")], id="next-word"),
        pytest.param(["--max_pods=5"], [("max-pods", "5")], id="underscore"),
        pytest.param(["--node-ip="], [("node-ip", "")], id="empty"),
        pytest.param(["--node-labels=a=b,c=d"], [("node-labels", "a=b,c=d")], id="equals-in-the-value"),
        pytest.param(["--runonce"], [("runonce", None)], id="switch"),
        pytest.param(["--runonce=false"], [("runonce", "false")], id="switch-off"),
        pytest.param(["--node-ip", "--v"], [("node-ip", "--v")], id="a-value-that-looks-like-a-flag"),
        pytest.param(["-v=2"], [("v", "2")], id="short-equals"),
        pytest.param(["-v2"], [("v", "2")], id="short-joined"),
        pytest.param(["-v", "2"], [("v", "2")], id="short-next-word"),
        pytest.param(["-h"], [("help", None)], id="short-switch"),
        pytest.param(["-hv2"], [("help", None), ("v", "2")], id="short-together"),
        pytest.param(["--new=1"], [("new", "1")], id="unknown"),
        pytest.param(["--new", "1"], [("new", "1")], id="unknown-with-a-value"),
        pytest.param(["--new", "--v=2"], [("new", None), ("v", "2")], id="unknown-switch"),
        pytest.param(["--new"], [("new", None)], id="unknown-at-the-end"),
        pytest.param(["--v=1", "--v=2"], [("v", "1"), ("v", "2")], id="repeated"),
    ],
)
def test_flags(texts: list[str], flags: list[tuple[str, str | None]]) -> None:
    assert given(*texts) == flags


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        pytest.param(["stray"], "no word outside", id="word"),
        pytest.param(["-"], "no word outside", id="hyphen"),
        pytest.param([""], "no word outside", id="empty-word"),
        pytest.param(["--", "--v=2"], "no word outside", id="after-the-end-of-flags"),
        pytest.param(["--runonce", "true"], "no word outside", id="a-switch-takes-no-word"),
        pytest.param(["--max-pods"], "wants a value", id="no-value"),
        pytest.param(["-v"], "wants a value", id="short-without-a-value"),
        pytest.param(["-x"], "no flag -x", id="unknown-short"),
        pytest.param(["---v"], "is no flag", id="three-hyphens"),
        pytest.param(["--=2"], "is no flag", id="no-name"),
    ],
)
def test_what_the_kubelet_would_not_start_over(texts: list[str], fault: str) -> None:
    faults = [str(found) for found in parse(words(*texts)) if isinstance(found, Unusable)]
    assert len(faults) == 1
    assert fault in faults[0]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.TEXT, "x", "x"),
        (Kind.SWITCH, "T", True),
        (Kind.SWITCH, "0", False),
        (Kind.NUMBER, "250", 250),
        (Kind.NUMBER, "-0x10", -16),
        (Kind.NUMBER, "010", 8),
        (Kind.NUMBER, "0", 0),
        (Kind.FRACTION, "0.5", "0.5"),
        (Kind.DURATION, "1h2m3.5s", "1h2m3.5s"),
        (Kind.DURATION, "0", "0"),
        (Kind.LIST, "a,b", ["a", "b"]),
        (Kind.LIST, '"a,b",c', ["a,b", "c"]),
        (Kind.LIST, "", []),
        (Kind.PAIRS, "a=1, b = x=y,", {"a": "1", "b": "x=y"}),
        (Kind.SWITCHES, "A=true,B=f", {"A": True, "B": False}),
        (Kind.THRESHOLDS, "memory.available<1Gi", {"memory.available": "1Gi"}),
        (
            Kind.TAINTS,
            "a=b:NoSchedule,c:NoExecute",
            [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}],
        ),
        (
            Kind.RESERVATIONS,
            "0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi",
            [
                {"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": "2Gi"}},
                {"numaNode": 1, "limits": {"memory": "2Gi"}},
            ],
        ),
    ],
)
def test_values(kind: Kind, text: str, value: object) -> None:
    assert value_of(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.SWITCH, "yes"),
        (Kind.SWITCH, ""),
        (Kind.NUMBER, "1.5"),
        (Kind.NUMBER, ""),
        (Kind.NUMBER, "9" * 5000),
        (Kind.NUMBER, "08"),
        (Kind.FRACTION, "x"),
        (Kind.DURATION, "10"),
        (Kind.DURATION, "5 minutes"),
        (Kind.LIST, '"a'),
        (Kind.PAIRS, "a"),
        (Kind.SWITCHES, "a=maybe"),
        (Kind.THRESHOLDS, "a=1"),
        (Kind.TAINTS, "a=b"),
        (Kind.TAINTS, "a=b:Never"),
        (Kind.RESERVATIONS, "memory=1Gi"),
        (Kind.RESERVATIONS, "a:memory=1Gi"),
        (Kind.RESERVATIONS, "0:memory"),
    ],
)
def test_bad_values(kind: Kind, text: str) -> None:
    with pytest.raises(Unusable):
        value_of(kind, text)
