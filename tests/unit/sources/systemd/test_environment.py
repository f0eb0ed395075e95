from __future__ import annotations

import pytest

from agent.sources.systemd.environment import expand, load, read_file
from agent.sources.systemd.service import UnitFile, read_service
from agent.sources.systemd.words import Resolved


def read(text: str | bytes) -> dict[str, str]:
    contents = text.encode() if isinstance(text, str) else text
    return {variable.name: variable.value for variable in read_file("/e", contents)[0]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a=b\n", {"a": "b"}, id="plain"),
        pytest.param("a=b", {"a": "b"}, id="no-newline"),
        pytest.param("a=b\r\nc=d\r\n", {"a": "b", "c": "d"}, id="windows-line-ends"),
        pytest.param("  a =  b c \t\n", {"a": "b c"}, id="blanks"),
        pytest.param("a=\nb=", {"a": "", "b": ""}, id="empty"),
        pytest.param("a\nb=1", {"b": "1"}, id="line-without-equals"),
        pytest.param("a", {}, id="only-a-name"),
        pytest.param("a=b=c", {"a": "b=c"}, id="equals-in-the-value"),
        pytest.param("#a=1\n ;b=2\nc=3", {"c": "3"}, id="comments"),
        pytest.param("#x\\\na=1", {"a": "1"}, id="comment-is-not-continued"),
        pytest.param("a=1 # 2", {"a": "1 # 2"}, id="no-comment-behind-a-value"),
        pytest.param("a='x y'", {"a": "x y"}, id="single-quotes"),
        pytest.param("a='x\\n$y'", {"a": "x\\n$y"}, id="single-quotes-escape-nothing"),
        pytest.param('a="x \\" \\$ \\` \\\\ \\n"', {"a": 'x " $ ` \\ \\n'}, id="double-quotes"),
        pytest.param('a="x\\\ny"', {"a": "xy"}, id="continued-in-double-quotes"),
        pytest.param('a="x\ny"\nb=1', {"a": "x\ny", "b": "1"}, id="newline-in-quotes"),
        pytest.param('a="x" "y"', {"a": "xy"}, id="blanks-between-quoted-vanish"),
        pytest.param("a=\"x\"'y'z", {"a": "xyz"}, id="joined"),
        pytest.param('a=x"y"', {"a": 'x"y"'}, id="quotes-after-a-bare-start-stay"),
        pytest.param("a=x\\\ny", {"a": "xy"}, id="continued"),
        pytest.param("a=x\\yz", {"a": "xyz"}, id="backslash-goes"),
        pytest.param("a=x\\  \n", {"a": "x "}, id="escaped-blank-at-the-end-stays"),
        pytest.param("a=x \\\n", {"a": "x "}, id="blank-before-a-continuation-stays"),
        pytest.param("a=x\\", {"a": "x"}, id="backslash-at-the-end"),
        pytest.param('a="open', {"a": "open"}, id="open-quote"),
        pytest.param("a=1\na=2", {"a": "2"}, id="later-wins"),
        pytest.param("a=1\0b=2", {"a": "1"}, id="nul-ends-the-file"),
        pytest.param("1a=x\nb-c=x\nd=1", {"d": "1"}, id="bad-names"),
        pytest.param("export a=1\nb=2", {"b": "2"}, id="export-is-no-name"),
        pytest.param(b"a=1\nb=\xff\n", {}, id="not-utf-8"),
    ],
)
def test_files(text: str | bytes, expected: dict[str, str]) -> None:
    assert read(text) == expected


def test_a_bad_name_is_reported_with_its_line() -> None:
    report = read_file("/e", b"\n# x\na=1\nb.c=2\n")[1]
    assert [str(entry) for entry in report.entries] == [
        "warning: /e line 4: what is before the equals sign is no name of a variable; systemd ignores it"
    ]


def environment(unit: str, files: dict[str, bytes]) -> tuple[dict[str, str], list[str]]:
    service, _ = read_service("k.service", [UnitFile("k.service", unit.encode())], {})
    loaded = load(service, files)
    return {name: found.value for name, found in loaded.variables.items()}, [
        file.path for file in loaded.missing
    ]


@pytest.mark.parametrize(
    ("body", "files", "expected", "missing"),
    [
        pytest.param("Environment=a=1\nEnvironmentFile=/e", {"/e": b"a=2"}, {"a": "2"}, [], id="file-wins"),
        pytest.param(
            "EnvironmentFile=/e\nEnvironment=a=1", {"/e": b"a=2"}, {"a": "2"}, [], id="in-any-order"
        ),
        pytest.param(
            "EnvironmentFile=/e\nEnvironmentFile=/f", {"/e": b"a=1", "/f": b"a=2"}, {"a": "2"}, [], id="later"
        ),
        pytest.param("EnvironmentFile=-/e", {}, {}, [], id="optional"),
        pytest.param("EnvironmentFile=/e", {}, {}, ["/e"], id="missing"),
        pytest.param("EnvironmentFile=/e\nEnvironmentFile=", {}, {}, [], id="emptied"),
        pytest.param("EnvironmentFile=e", {"e": b"a=1"}, {}, [], id="not-absolute"),
        pytest.param("EnvironmentFile=//e/./f", {"/e/f": b"a=1"}, {"a": "1"}, [], id="simplified"),
        pytest.param(
            "EnvironmentFile=/d/*.env",
            {"/d/b.env": b"a=2", "/d/a.env": b"a=1", "/d/.c.env": b"a=3", "/d/e/f.env": b"a=4"},
            {"a": "2"},
            [],
            id="pattern",
        ),
        pytest.param("EnvironmentFile=/d/*.env", {}, {}, ["/d/*.env"], id="pattern-without-a-match"),
        pytest.param("EnvironmentFile=/etc/%N.env", {"/etc/k.env": b"a=1"}, {"a": "1"}, [], id="specifier"),
        pytest.param("Environment=a=1 b=2\nUnsetEnvironment=a", {}, {"b": "2"}, [], id="unset"),
        pytest.param("Environment=a=1 b=2\nUnsetEnvironment=a=2 b=2", {}, {"a": "1"}, [], id="unset-a-value"),
        pytest.param(
            "EnvironmentFile=/e\nUnsetEnvironment=a", {"/e": b"a=1"}, {}, [], id="unset-what-a-file-sets"
        ),
        pytest.param(
            "Environment=a=1\nUnsetEnvironment=a\nUnsetEnvironment=", {}, {"a": "1"}, [], id="un-unset"
        ),
    ],
)
def test_load(body: str, files: dict[str, bytes], expected: dict[str, str], missing: list[str]) -> None:
    assert environment("[Service]\n" + body, files) == (expected, missing)


VARIABLES = {"FOO": "BAR BAR", "BAR": "waldo", "QUOTED": "'two two' too", "EMPTY": ""}


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("FOO$FOO", ["FOO$FOO"]),
        ("FOO${FOO}$FOO", ["FOOBAR BAR$FOO"]),
        ("${FOO}", ["BAR BAR"]),
        ("$FOO", ["BAR", "BAR"]),
        ("$QUOTED", ["two two", "too"]),
        ("${QUOTED}", ["'two two' too"]),
        ("$EMPTY", []),
        ("${EMPTY}", [""]),
        ("${FOO}${BAR}", ["BAR BARwaldo"]),
        ("${FOO", ["${FOO"]),
        ("FOO$$${FOO}", ["FOO$BAR BAR"]),
        ("$$FOO${FOO}", ["$FOOBAR BAR"]),
        ("${FOO:-${BAR}}", ["${FOO:-waldo}"]),
        ("${FOO:+|${BAR}{|}", ["${FOO:+|waldo{|}"]),
        ("a$", ["a$"]),
        ("$", None),
        ("$FOO$FOO", None),
        ("$NONE", None),
        ("$1", None),
    ],
)
def test_expand(argument: str, words: list[str] | None) -> None:
    """None: no word on Linux, and reported as having no value."""
    found = expand([Resolved(argument)], VARIABLES)
    if words is None:
        assert [word.text for word in found] == [""]
        assert found[0].unanswered == (argument[1:],)
    else:
        assert [word.text for word in found] == words
        assert not any(word.unanswered for word in found)


def test_a_variable_without_a_value_is_told() -> None:
    (word,) = expand([Resolved("--a=${NONE},${BAR}", ("%m",))], VARIABLES)
    assert word.text == "--a=,waldo"
    assert word.unanswered == ("%m", "NONE")
