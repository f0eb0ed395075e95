from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host.commandline import join, quote, split
from agent.host.errors import BadName

hard = st.text(st.sampled_from(['"', "\\", " ", "\t", "a", "%", "\n", "é"]), max_size=12)
programs = hard.filter(lambda text: '"' not in text)


Split = Callable[[str], tuple[str, ...]]
SPLITTERS: dict[str, Split] = {"ours": split}

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    def windows_split(line: str) -> tuple[str, ...]:
        function = ctypes.WinDLL("shell32").CommandLineToArgvW
        function.restype = ctypes.POINTER(wintypes.LPWSTR)
        count = ctypes.c_int()
        words = function(ctypes.c_wchar_p(line), ctypes.byref(count))
        try:
            return tuple(words[: count.value])
        finally:
            ctypes.WinDLL("kernel32").LocalFree(words)

    SPLITTERS["Windows'"] = windows_split

    @given(hard.filter(bool))
    def test_any_line_is_split_as_windows_splits_it(line: str) -> None:
        assert split(line) == windows_split(line)


@pytest.mark.parametrize("split", SPLITTERS.values(), ids=SPLITTERS)
@given(program=programs, arguments=st.lists(hard, max_size=5))
def test_what_is_joined_is_split_into_the_same(split: Split, program: str, arguments: list[str]) -> None:
    assert split(join([program, *arguments])) == (program, *arguments)


@pytest.mark.parametrize(
    ("argument", "quoted"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("", '""', id="empty"),
        pytest.param("a b", '"a b"', id="blank"),
        pytest.param("a\tb", '"a\tb"', id="tab"),
        pytest.param("C:\\x\\", "C:\\x\\", id="backslash-at-the-end-needs-nothing"),
        pytest.param("C:\\a b\\", '"C:\\a b\\\\"', id="backslash-before-the-closing-quote"),
        pytest.param('say "x"', '"say \\"x\\""', id="quotes"),
        pytest.param('\\"', '"\\\\\\""', id="backslash-before-a-quote"),
        pytest.param("\\\\server\\a b", '"\\\\server\\a b"', id="backslashes-elsewhere"),
    ],
)
def test_quote(argument: str, quoted: str) -> None:
    assert quote(argument) == quoted


@pytest.mark.parametrize("split", SPLITTERS.values(), ids=SPLITTERS)
@pytest.mark.parametrize(
    ("line", "parts"),
    [
        pytest.param("x a b", ("x", "a", "b"), id="plain"),
        pytest.param("x  a \t b  ", ("x", "a", "b"), id="several-blanks"),
        pytest.param('"C:\\a b\\x.exe" c', ("C:\\a b\\x.exe", "c"), id="quoted-program"),
        pytest.param('"C:\\dir\\" c', ("C:\\dir\\", "c"), id="backslash-is-nothing-in-the-program"),
        pytest.param('a"b c" d', ('a"b', "c d"), id="quote-within-the-program-is-a-character"),
        pytest.param('"x"y z', ("x", "y", "z"), id="program-ends-at-its-quote"),
        pytest.param(" x", ("", "x"), id="blank-first-is-an-empty-program"),
        pytest.param('x "a b"c', ("x", "a bc"), id="quote-ends-within-an-argument"),
        pytest.param('x "a b', ("x", "a b"), id="quote-never-closed"),
        pytest.param("x a\\\\b", ("x", "a\\\\b"), id="backslashes-alone"),
        pytest.param('x a\\"b', ("x", 'a"b'), id="escaped-quote"),
        pytest.param('x "a\\\\" b', ("x", "a\\", "b"), id="even-backslashes-close"),
        pytest.param('x ""', ("x", ""), id="empty-argument"),
        pytest.param('x """a"""', ("x", '"a"'), id="three-quotes"),
        pytest.param('x "a""b c" d', ("x", 'a"b', "c d"), id="two-quotes-inside"),
        pytest.param('x a""""b c', ("x", 'a"b c'), id="four-quotes"),
    ],
)
def test_split(split: Split, line: str, parts: tuple[str, ...]) -> None:
    assert split(line) == parts


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(['C:\\a"b.exe'], id="quote-in-the-program"),
        pytest.param(["C:\\a\0b.exe"], id="nul-in-the-program"),
        pytest.param(["C:\\a.exe", "x\0y"], id="nul-in-an-argument"),
    ],
)
def test_what_no_command_line_can_carry(command: list[str]) -> None:
    with pytest.raises(BadName):
        join(command)
