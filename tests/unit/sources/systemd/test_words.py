from __future__ import annotations

import pytest

from agent.sources.systemd.words import LENIENT, PLAIN, STRICT, VALUE, BadWord, Rules, split


@pytest.mark.parametrize(
    ("text", "rules", "words"),
    [
        pytest.param("foobar waldo", STRICT, ["foobar", "waldo"], id="two"),
        pytest.param("   foobar \t\n ", STRICT, ["foobar"], id="blanks-around"),
        pytest.param("", STRICT, [], id="nothing"),
        pytest.param(" \t", STRICT, [], id="blanks-only"),
        pytest.param("\"foobar\" 'waldo'", STRICT, ["foobar", "waldo"], id="quotes"),
        pytest.param("yay'foo'bar", STRICT, ["yayfoobar"], id="quotes-inside"),
        pytest.param("\"a'b\" 'c\"d'", STRICT, ["a'b", 'c"d'], id="quote-in-quotes"),
        pytest.param("'' \"\" a", STRICT, ["", "", "a"], id="empty-ones"),
        pytest.param("'a b'\"c d\"e", STRICT, ["a bc de"], id="joined"),
        pytest.param('K="v \\"q\\""', STRICT, ['K=v "q"'], id="escaped-quotes"),
        pytest.param("foo\\ba\\x6ar", STRICT, ["foo\baj" + "r"], id="escapes"),
        pytest.param("foo\\ba\\x6ar", PLAIN, ["foobax6ar"], id="escapes-not-understood"),
        pytest.param('f\\u00f6o "pi\\U0001F4A9le"', STRICT, ["föo", "pi\U0001f4a9le"], id="unicode"),
        pytest.param("\\xc3\\xa9", STRICT, ["é"], id="two-bytes-one-character"),
        pytest.param("a\\sb\\tc\\\\d", STRICT, ["a b\tc\\d"], id="blanks-by-escape"),
        pytest.param("\\101\\x41", STRICT, ["AA"], id="octal-and-hex"),
        pytest.param("a\\ b", PLAIN, ["a b"], id="escaped-blank"),
        pytest.param("a\\db", LENIENT, ["a\\db"], id="unknown-escape-kept"),
        pytest.param("a\\400", LENIENT, ["a\\400"], id="octal-too-large-kept"),
        pytest.param("a\\x00b", LENIENT, ["a\\x00b"], id="nul-kept-as-written"),
        pytest.param("a\\ud800", LENIENT, ["a\\ud800"], id="half-a-character-kept-as-written"),
        pytest.param("fooo\\", LENIENT, ["fooo\\"], id="backslash-at-the-end-kept"),
        pytest.param("'fooo", VALUE, ["fooo"], id="open-quote-allowed"),
        pytest.param('"foo\\', VALUE, ["foo"], id="open-quote-and-backslash-allowed"),
        pytest.param("föö", STRICT, ["föö"], id="not-ascii"),
    ],
)
def test_split(text: str, rules: Rules, words: list[str]) -> None:
    assert list(split(text, rules)) == words


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        pytest.param('"', STRICT, id="lone-quote"),
        pytest.param("'fooo", STRICT, id="open-single"),
        pytest.param('a "b', PLAIN, id="open-double"),
        pytest.param("a\\db", STRICT, id="unknown-escape"),
        pytest.param("a\\x0", STRICT, id="half-a-hex"),
        pytest.param("a\\x00", STRICT, id="nul"),
        pytest.param("a\\u12", STRICT, id="short-unicode"),
        pytest.param("a\\ud800", STRICT, id="surrogate"),
        pytest.param("a\\U00110000", STRICT, id="beyond-unicode"),
        pytest.param("a\\400", STRICT, id="octal-too-large"),
        pytest.param("a\\18", STRICT, id="short-octal"),
        pytest.param("fooo\\", STRICT, id="backslash-at-the-end"),
        pytest.param('"foo\\', LENIENT, id="backslash-at-the-end-of-an-open-quote"),
        pytest.param("\\xff", STRICT, id="not-utf-8"),
    ],
)
def test_refused(text: str, rules: Rules) -> None:
    with pytest.raises(BadWord):
        split(text, rules)
