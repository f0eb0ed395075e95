"""Whatever a document carries: an answer with reasons, no traceback, and soon."""

from __future__ import annotations

import functools
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.kubelet import fields
from agent.sources.kubelet.command_line import parse
from agent.sources.kubelet.configuration import for_windows, read_all
from agent.sources.kubelet.documents import NotReadable, read_document
from agent.sources.kubelet.flags import FLAGS, Treatment
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.kubelet.translation import WindowsKubelet, on_windows
from agent.sources.systemd.environment import Word
from agent.sources.systemd.service import gather, read_service
from unit.sources.kubelet.worked_examples import UNIT, carried, names

MINORS = st.integers(min_value=10, max_value=40)
YAML_TEXT = st.text(alphabet="ab:-[]{}&*!<>|'\"%#,? \n\t01.~yné\0", max_size=80)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = [field.name for field in fields.FIELDS if "." not in field.name]


def check(made: WindowsKubelet) -> None:
    for entry in made.report.entries:
        assert "\n" not in str(entry)
    for decision in made.decisions:
        assert decision.reason
    if made.report.fatal:
        return
    assert made.arguments[0].startswith("--config=C:\\") or made.arguments[0].startswith("--config=")
    for contents in made.files.values():
        json.loads(contents)
    assert not [word for word in made.arguments if word.startswith(("--config=/", "--kubeconfig=/"))]


def translated(files: dict[str, bytes], minor: int) -> WindowsKubelet:
    node = Node(host_name="h", found_addresses=("10.0.0.1",), credential_providers="C:\\k")
    service, _ = read_service(UNIT, gather(UNIT, None, {}, files), node.specifiers())
    return on_windows(service, files, node, Kubelet(minor))


@functools.cache
def example(name: str) -> dict[str, bytes]:
    return carried(name)


@given(
    st.sampled_from(names()),
    st.integers(min_value=0),
    st.lists(
        st.tuples(st.integers(min_value=0), st.integers(0, 6), st.binary(max_size=4)), min_size=1, max_size=4
    ),
    MINORS,
)
def test_mutated_examples(name: str, which: int, changes: list[tuple[int, int, bytes]], minor: int) -> None:
    files = dict(example(name))
    path = sorted(files)[which % len(files)]
    contents = files[path]
    for place, length, put in changes:
        at = place % (len(contents) + 1)
        contents = contents[:at] + put + contents[at + length :]
    files[path] = contents
    check(translated(files, minor))


WORDS = st.one_of(
    st.sampled_from([f"--{flag.name}" for flag in FLAGS]),
    st.tuples(
        st.sampled_from([f"--{flag.name}=" for flag in FLAGS]),
        st.sampled_from(
            ["", "1", "true", "a=b", "a=b,c", "a<b", "/x", "/x/../y", "10s", "::", "a=b:NoSchedule"]
        )
        | st.text(max_size=6),
    ).map("".join),
    st.text(alphabet="-=av2 h_", max_size=6),
    st.sampled_from(["-v2", "-h", "--", "-", "--new", "--new=1"]),
)


@given(st.lists(st.tuples(WORDS, st.booleans()), max_size=8))
def test_any_command_line(texts: list[tuple[str, bool]]) -> None:
    words = [Word(text, ("X",) if unanswered else ()) for text, unanswered in texts]
    assert len(list(parse(words))) <= sum(max(1, len(text)) for text, _ in texts)


@given(st.lists(WORDS.filter(lambda word: not set(word) & set("\n\r\0\\'\"%$;")), max_size=8), MINORS)
def test_any_flags_in_a_unit(words: list[str], minor: int) -> None:
    line = " ".join(f'"{word}"' for word in words)
    unit = f"[Service]\nExecStart=kubelet {line}\n"
    check(translated({f"/etc/systemd/system/{UNIT}": unit.encode(errors="surrogatepass")}, minor))


@given(st.binary(max_size=100) | YAML_TEXT.map(str.encode))
def test_any_document(contents: bytes) -> None:
    try:
        document = read_document("x", contents)
    except NotReadable as refusal:
        assert "\n" not in str(refusal)
        return
    assert isinstance(document.value, dict)


@given(st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=6), MINORS)
def test_any_configuration(values: dict[str, object], minor: int) -> None:
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    documents, report = read_all([("x", json.dumps({**values, **head}).encode())])
    if report.fatal:
        assert not documents
        return
    made = for_windows(documents, {}, Node(), Kubelet(minor), carries_client_ca=True)
    json.loads(made.contents)
    for name, value in made.value.items():
        known = fields.by_name()[name]
        assert fields.has_shape(value, known.shape)
        assert known.treatment is not Treatment.DROP


@given(JSON_VALUES)
def test_what_json_says_yaml_says(value: object) -> None:
    try:
        text = json.dumps({"a": value}, allow_nan=False)
        text.encode()
    except (ValueError, UnicodeEncodeError):
        return
    assert read_document("x", text.encode()).value == {"a": value}


LARGE = {
    "flags": b"[Service]\nExecStart=kubelet " + b"--node-labels=a=b " * 15_000,
    "labels": b"[Service]\nExecStart=kubelet --node-labels=" + b"a=b," * 100_000,
    "unknown-flags": b"[Service]\nExecStart=kubelet " + b"--x " * 30_000,
    "short-flags": b"[Service]\nExecStart=kubelet -" + b"h" * 30_000,
    "words": b"[Service]\nExecStart=kubelet " + b"x " * 30_000,
    "again": b"[Service]\nExecStart=kubelet " + b"--max-pods=1 " * 15_000,
}


@pytest.mark.parametrize("unit", LARGE.values(), ids=LARGE)
def test_a_large_command_line_takes_no_time_to_speak_of(unit: bytes) -> None:
    begun = time.process_time()
    check(translated({f"/etc/systemd/system/{UNIT}": unit}, 36))
    assert time.process_time() - begun < 20
