"""Whatever a file, a cluster or a command line says: an answer on one line each, and no traceback."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent import documents
from agent.sources.durations import in_full, seconds
from agent.sources.kubeadm.arguments_file import VARIABLE
from agent.sources.kubeadm.cluster import Cluster, read_cluster
from agent.sources.kubeadm.compiling import Found, compile_join
from agent.sources.kubeadm.kubelet_arguments import KubeletArguments
from agent.sources.kubeadm.patches import read_patches
from agent.sources.kubeadm.reading import read
from agent.sources.kubeadm.yaml_text import dumped
from agent.sources.kubelet.node import Kubelet
from agent.sources.report import Report
from agent.sources.systemd.environment import read_file
from unit.sources.kubeadm.joins import CA, DATA, HOST, JOIN, KUBELET_CONFIG, PLACEMENT, SERVER, TOKEN

YAML_TEXT = st.text(alphabet="ab:-[]{}&*!<>|'\"%#,? \n\t01.~yné\0$", max_size=80)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
JOINS = [(DATA / name).read_text() for name in ("join-v1beta3.yaml", "join-v1beta4.yaml")]
SETTINGS: Any = yaml.safe_load(KUBELET_CONFIG)


def check(report: Report) -> None:
    for entry in report.entries:
        assert "\n" not in str(entry)
        assert str(entry).isprintable()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(steps):
        yield value, key
        yield from places(inner)


def mutated(value: Any, data: st.DataObject) -> Any:
    made = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(list(places(made))))
        if isinstance(holder, dict) and data.draw(st.booleans()):
            holder[data.draw(st.text(max_size=6))] = data.draw(VALUES)
        elif key in holder if isinstance(holder, dict) else key < len(holder):
            holder[key] = data.draw(VALUES)
    return made


@given(contents=st.binary(max_size=60) | YAML_TEXT.map(lambda text: text.encode()), strictly=st.booleans())
def test_any_file(contents: bytes, strictly: bool) -> None:
    outcome = read("join.yaml", contents, strictly=strictly)
    check(outcome.report)
    assert (outcome.configuration is None) == outcome.report.fatal
    check(read_cluster(contents).report)
    check(read_patches({"kubeletconfiguration.yaml": contents}).report)


@given(text=st.sampled_from(JOINS), place=st.integers(0, 1000), junk=YAML_TEXT, length=st.integers(0, 3))
def test_a_damaged_file(text: str, place: int, junk: str, length: int) -> None:
    place %= len(text)
    check(read("join.yaml", (text[:place] + junk + text[place + length :]).encode()).report)


@given(text=st.sampled_from(JOINS), data=st.data())
def test_a_file_with_other_values(text: str, data: st.DataObject) -> None:
    document = mutated(list(yaml.safe_load_all(text))[-1], data)
    outcome = read("join.yaml", json.dumps(document).encode())
    check(outcome.report)
    if outcome.configuration is not None:
        found = Found(SERVER, CA, KUBELET_CONFIG, Cluster(), {"token": TOKEN})
        join = compile_join(outcome.configuration, found, read_patches({}), HOST, Kubelet(36), PLACEMENT)
        check(join.report)
        assert (join.specification is None) == join.report.fatal


@given(minor=st.integers(16, 36), data=st.data())
def test_any_cluster(minor: int, data: st.DataObject) -> None:
    config = json.dumps(mutated(SETTINGS, data)).encode()
    kind = data.draw(st.sampled_from(["", "+merge", "+strategic", "+json"]))
    patch: Any = mutated({"maxPods": 1, "logging": {"format": "json"}}, data)
    if kind == "+json":
        operation = {"op": data.draw(st.sampled_from(["add", "remove", "replace", "move", "test"]))}
        names = st.sampled_from(["/" + name for name in SETTINGS]) | st.text(max_size=8)
        patch = [{**operation, "path": data.draw(names), "from": data.draw(names), "value": patch}]
    outcome = read("join.yaml", JOIN.encode())
    assert outcome.configuration
    patches = read_patches({f"kubeletconfiguration{kind}.json": json.dumps(patch).encode()})
    found = Found(SERVER, CA, config, Cluster(), {"token": TOKEN})
    join = compile_join(outcome.configuration, found, patches, HOST, Kubelet(minor), PLACEMENT)
    check(join.report)
    assert (join.specification is None) == join.report.fatal


@given(value=st.dictionaries(st.text(max_size=8), VALUES, max_size=4))
def test_what_is_written_as_yaml_is_read_as_it_was(value: dict[str, Any]) -> None:
    assert documents.read_document(dumped(value)).value == value


def split(text: str) -> Iterator[str]:
    """As the log runner does: at blanks, quotes hold a word together and go, a backslash is one."""
    for word in re.findall(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""", text):
        yield re.sub(r"""'([^']*)'|"([^"]*)\"""", lambda found: found[1] or found[2] or "", word)


@given(
    words=st.lists(
        st.text("ab\\'\" $`=-,é", min_size=1, max_size=12).map(lambda text: f"--{text}"), max_size=4
    )
)
def test_arguments_are_read_as_they_were_written(words: list[str]) -> None:
    contents = KubeletArguments(Report(), tuple(words), (), ()).contents
    variables, report = read_file("kubeadm-flags.env", contents)
    assert report.entries == ()
    assert [variable.name for variable in variables] == [VARIABLE]
    assert list(split(variables[0].value)) == words


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("0", "0s"),
        ("90m", "1h30m0s"),
        ("1.5s", "1.5s"),
        ("100h0.25s", "100h0m0.25s"),
        ("-90s", "-1m30s"),
        ("1500us", "1.5ms"),
        ("20ns", "20ns"),
        ("1us", "1µs"),
        ("60000ms", "1m0s"),
        ("1d", "1d"),
    ],
)
def test_spans_in_full(text: str, full: str) -> None:
    assert in_full(text) == full


@given(
    parts=st.lists(
        st.tuples(st.integers(0, 9999), st.sampled_from(["ns", "us", "ms", "s", "m", "h"])), min_size=1
    )
)
def test_a_span_in_full_is_as_long(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{number}{unit}" for number, unit in parts[:20])
    assert seconds(in_full(text)) == seconds(text)
    assert in_full(in_full(text)) == in_full(text)
