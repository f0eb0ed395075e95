"""Against what minisign 0.11 made."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.node_configuration import reading as node_configuration
from agent.sources.signatures import NoKey, Refused, public_key, verified

DATA = Path(__file__).parents[3] / "data" / "signatures"
NAME = node_configuration.DATA_KEY


def _text(name: str) -> str:
    return (DATA / name).read_bytes().decode()


KEY = public_key(_text("key.pub"))
SIGNED = {NAME: _text("node.yaml"), f"{NAME}.minisig": _text("node.yaml.minisig")}


def test_what_the_tool_signed() -> None:
    signed = verified(SIGNED, NAME, KEY)
    assert signed.contents == (DATA / "node.yaml").read_bytes()
    assert signed.comment == "fleet 7, build 12"
    assert node_configuration.read("node.yaml", signed.contents).documents


def test_nothing_can_be_signed_too() -> None:
    signed = verified({NAME: "", f"{NAME}.minisig": _text("empty.minisig")}, NAME, KEY)
    assert (signed.contents, signed.comment) == (b"", "timestamp:1795042552\tfile:empty\thashed")


def test_lines_may_end_as_on_windows() -> None:
    ended = SIGNED[f"{NAME}.minisig"].replace("\n", "\r\n")
    assert verified({**SIGNED, f"{NAME}.minisig": ended}, NAME, KEY)


@pytest.mark.parametrize(
    "text", [_text("key.pub"), _text("key.pub").splitlines()[1], _text("key.pub") + "\n\n"]
)
def test_a_key_is_its_file_or_its_last_line(text: str) -> None:
    assert public_key(text) == KEY
    assert str(KEY) == _text("key.pub").split()[-2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "untrusted comment: minisign public key",
        "RWQ=",
        _text("key.pub")[:-6],
        "a\n" + _text("key.pub"),
        _text("node.yaml.minisig").splitlines()[1],
        "x" * 100_000,
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(
        NoKey, match=r"it is no public key of minisign's; give the file that minisign -G made"
    ):
        public_key(text)


def _changed(line: int, new: str) -> str:
    lines = SIGNED[f"{NAME}.minisig"].splitlines()
    return "\n".join([*lines[:line], new, *lines[line + 1 :]])


_OTHER = _text("other.minisig")


@pytest.mark.parametrize(
    ("signature", "told"),
    [
        ("", "it is no signature of minisign's"),
        ("x" * 5000, "it is no signature of minisign's"),
        (_changed(0, "comment"), "it is no signature of minisign's"),
        (_changed(1, "RUQ="), "it is no signature of minisign's"),
        (_changed(1, "!" + SIGNED[f"{NAME}.minisig"].splitlines()[1]), "it is no signature of minisign's"),
        (_changed(1, "ü"), "it is no signature of minisign's"),
        (_changed(2, "comment"), "it is no signature of minisign's"),
        (_changed(3, "RUQ="), "it is no signature of minisign's"),
        (_text("legacy.minisig"), "it is of the old kind; sign it without -l"),
        (
            _OTHER,
            f"it is by key {public_key(_text('other.pub'))}, and key {KEY} is the one that is trusted here",
        ),
        (_text("empty.minisig"), "it does not fit: what is signed was changed"),
        (
            _changed(2, "trusted comment: fleet 7, build 13"),
            "it does not fit: its trusted comment was changed",
        ),
        # Half a character, which JSON can carry.
        (
            _changed(2, "trusted comment: \ud800"),
            "it does not fit: its trusted comment was changed",
        ),
        (_changed(1, "\ud800"), "it is no signature of minisign's"),
    ],
)
def test_a_signature_that_is_none_here_is_refused(signature: str, told: str) -> None:
    with pytest.raises(Refused) as raised:
        verified({**SIGNED, f"{NAME}.minisig": signature}, NAME, KEY)
    assert str(raised.value) == f"its signature is refused: {told}"


def test_what_is_not_signed_is_refused() -> None:
    with pytest.raises(
        Refused, match=f"it is not signed: there is no key node.yaml.minisig in it, by key {KEY}"
    ):
        verified({NAME: SIGNED[NAME]}, NAME, KEY)
    with pytest.raises(Refused, match=r"there is no key node.yaml in it"):
        verified({}, NAME, KEY)


@given(st.integers(0, len(SIGNED[NAME]) - 1), st.characters())
def test_no_character_can_be_another(at: int, character: str) -> None:
    text = SIGNED[NAME]
    changed = text[:at] + character + text[at + 1 :]
    if changed == text:
        return
    with pytest.raises(Refused, match="what is signed was changed"):
        verified({**SIGNED, NAME: changed}, NAME, KEY)


@given(st.text(max_size=300))
def test_any_text_is_a_signature_or_none(text: str) -> None:
    with pytest.raises(Refused):
        verified({**SIGNED, f"{NAME}.minisig": text}, NAME, KEY)
    with pytest.raises(NoKey):
        public_key(text)
