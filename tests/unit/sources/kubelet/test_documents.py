from __future__ import annotations

import pytest
import yaml

from agent import documents, yaml_events
from agent.sources.kubelet.documents import NotReadable, read_document


def read(text: str) -> dict[str, object]:
    return dict(read_document("k.conf", text.encode()).value)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("1", 1),
        ("-17", -17),
        ("+3", 3),
        ("0x1F", 31),
        ("017", 15),
        ("0o17", 15),
        ("0b101", 5),
        ("1_000", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("99999999999999999999", 1e20),
        ("08", 8.0),
        ("on", True),
        ("y", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("1:30", "1:30"),
        ("2001-12-14", "2001-12-14"),
        ("10.0.0.1", "10.0.0.1"),
        ("5Gi", "5Gi"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("!!int 5", 5),
        ("|-\n  a\n  b", "a\nb"),
    ],
)
def test_scalars_are_what_the_kubelet_reads(scalar: str, value: object) -> None:
    found = read(f"a: {scalar}\n")["a"]
    assert found == value
    assert type(found) is type(value)


def test_anchors_and_merging() -> None:
    text = "a: &x {p: 1, q: 2}\nb: *x\nc:\n  q: 3\n  <<: *x\nd:\n  <<: [*x, {q: 5, r: 6}]\n"
    x = {"p": 1, "q": 2}
    assert read(text) == {"a": x, "b": x, "c": {"q": 3, "p": 1}, "d": {"p": 1, "q": 2, "r": 6}}


def test_json() -> None:
    assert read('\ufeff  {"a": [1, "x", null, true], "b": {"c": 1.5}}') == {
        "a": [1, "x", None, True],
        "b": {"c": 1.5},
    }


def test_each_value_has_its_line_and_column() -> None:
    document = read_document("k.conf", b"a:\n  b:\n    - x\n    - y: 1\n")
    assert document.positions[("a", "b", 1, "y")] == (4, 10)
    assert document.positions[("a", "b", 0)] == (3, 7)


@pytest.mark.parametrize(
    ("contents", "line"),
    [
        pytest.param(b"", "error: k.conf: a mapping of settings was expected", id="empty"),
        pytest.param(b"- a\n", "error: k.conf: a mapping of settings was expected", id="list"),
        pytest.param(
            b"a: \xff", "error: k.conf: it is not UTF-8: byte 4 is wrong; save it as UTF-8", id="not-utf-8"
        ),
        pytest.param(b"a: 1\na: 2\n", "error: k.conf line 2, column 1: this key is there twice", id="twice"),
        pytest.param(
            b"x:\n  a: 1\n  a: 2\n",
            "error: k.conf line 3, column 3 at $.x: this key is there twice",
            id="twice-inside",
        ),
        pytest.param(
            b'{"a": 1, "a": 2}',
            "error: k.conf line 1, column 10: this key is there twice",
            id="twice-in-json",
        ),
        pytest.param(b"a: [1\n", "error: k.conf line 2, column 1: it is not YAML", id="open-list"),
        pytest.param(b'{"a": }', "error: k.conf line 1, column 7: it is not JSON", id="not-json"),
        pytest.param(b'{"a": NaN}', "error: k.conf: NaN is no JSON number", id="nan-in-json"),
        pytest.param(b"a: .inf\n", "error: k.conf line 1, column 4: a number without a value", id="infinity"),
        pytest.param(b"--- {a: 1}\n--- {b: 1}\n", "more than one document", id="two-documents"),
        pytest.param(b"a: *b\n", "no finished value with this anchor", id="no-anchor"),
        pytest.param(b"a: &a [*a]\n", "no finished value with this anchor", id="inside-itself"),
        pytest.param(b"a: !!python/object:os.system x\n", "has no meaning here", id="strange-tag"),
        pytest.param(b"a: !!int x\n", "this is no int", id="wrong-tag"),
        pytest.param(b"[a]: 1\n", "a key has to be text", id="list-as-plain-key"),
        pytest.param(b"? [a]\n: 1\n", "a key has to be text", id="list-as-key"),
        pytest.param(b"a: 1\n<<: 2\n", "<< wants a mapping", id="merge-of-a-number"),
        pytest.param(b"a:\0b\n", "it is not YAML", id="nul"),
        pytest.param(b"a: " + b"[" * 60, "nested deeper than 50", id="deep"),
        pytest.param(b'{"a":' * 60 + b"1" + b"}" * 60, "nested deeper than 50", id="deep-json"),
        pytest.param(b'{"a":' * 100_000, "nested deeper than 50", id="very-deep-json"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", "thousands of digits", id="long-number"),
        pytest.param(b"#" * (1024 * 1024 + 1), "longer than 1024 KiB", id="large"),
        pytest.param(b"- 1\n" * 60_000, "expands to more than 50,000 values", id="many"),
        pytest.param(b'{"a": [' + b"1," * 60_000 + b"1]}", "more than 50,000 values", id="many-in-json"),
    ],
)
def test_one_clear_line(contents: bytes, line: str) -> None:
    with pytest.raises(NotReadable) as refusal:
        read_document("k.conf", contents)
    text = str(refusal.value)
    assert line in text
    assert "\n" not in text
    assert len(text) < 300


def test_a_billion_laughs() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefghi", "bcdefghij", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    with pytest.raises(NotReadable, match="expands to more than"):
        read_document("k.conf", "\n".join(lines).encode())


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param(b"token: !HIDDEN 1\n", id="a-tag"),
        pytest.param(b"token: !HIDDEN!x 1\n", id="a-tag-with-a-handle"),
        pytest.param(b"%TAG !HIDDEN\n", id="a-directive"),
        pytest.param(b"token: *HIDDEN\n", id="an-anchor"),
        pytest.param(b"token: &HIDDEN\n  - *HIDDEN\n", id="an-anchor-inside-itself"),
        pytest.param(b"token: !!int HIDDEN\n", id="a-value-that-is-no-number"),
        pytest.param(b"HIDDEN: 1\nHIDDEN: 2\n", id="a-key"),
        pytest.param(b'{"HIDDEN": 1, "HIDDEN": 2}', id="a-key-in-json"),
        pytest.param(b'{"token": HIDDEN}', id="without-quotes-in-json"),
        pytest.param(b"token: [HIDDEN\n", id="an-open-list"),
        pytest.param(b"token: HIDDEN: x\n", id="a-mapping-in-a-line"),
        pytest.param(b"token: @HIDDEN\n", id="a-character-that-starts-nothing"),
        pytest.param(b"token: HIDDEN\x01\n", id="a-control-character"),
    ],
)
@pytest.mark.parametrize("loader", [yaml.SafeLoader, yaml.CSafeLoader])
def test_no_contents_are_told(
    contents: bytes, loader: type[yaml.SafeLoader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_events, "_LOADER", loader)
    with pytest.raises(NotReadable) as refusal:
        read_document("/etc/kubernetes/kubeconfig", contents)
    assert "HIDDEN" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "value", "twice"),
    [
        ("a: 1\nb: {c: 1, c: 2}\na: 3\n", {"a": 3, "b": {"c": 2}}, (("b", "c"), ("a",))),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', {"a": 1, "b": {"c": 2}}, (("b", "c"),)),
        ("{a: [b]}", {"a": ["b"]}, ()),
        ('"<<": 1', {"<<": 1}, ()),
        ("- a\n- 1\n", ["a", 1], ()),
        ("", None, ()),
    ],
)
def test_any_value_is_read_leniently(text: str, value: object, twice: tuple[object, ...]) -> None:
    reading = documents.read_leniently(text.encode())
    assert reading.value == value
    assert reading.twice == twice
