"""Whatever stands in a unit or an environment file: an answer, no traceback, and soon."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.systemd.environment import expand, load, names, read_file
from agent.sources.systemd.service import Service, UnitFile, gather, read_service, read_unit
from agent.sources.systemd.words import LENIENT, PLAIN, STRICT, VALUE, BadWord, Resolved, split

TELLING = st.text(alphabet="ab=[]\\\"'#;%$${}:-@+! \t\n\r\0é\ud800/*?xu01n", max_size=60)
LINES = st.lists(
    st.sampled_from(
        [
            "[Service]",
            "[Unit]",
            "ExecStart=",
            "ExecStart=/usr/bin/kubelet --a=${A} $B \\",
            "ExecStart=-@k n ; \\; ${X:-y}",
            "Environment=A=1 'B=x y' C=%n%%",
            "EnvironmentFile=-/e/*",
            "EnvironmentFile=/e/f",
            "UnsetEnvironment=A B=x",
            "# comment \\",
            "",
        ]
    )
    | TELLING,
    max_size=12,
)
UNITS = st.binary(max_size=200) | LINES.map(lambda lines: "\n".join(lines).encode(errors="surrogatepass"))


@given(UNITS)
def test_any_unit(contents: bytes) -> None:
    _, report = read_unit(UnitFile("x", contents))
    for entry in report.entries:
        assert "\n" not in str(entry)


@given(st.lists(UNITS, max_size=3), st.binary(max_size=80))
def test_any_service(contents: list[bytes], file: bytes) -> None:
    files = [UnitFile(f"{number}", data) for number, data in enumerate(contents)]
    service, report = read_service("x.service", files, {"H": "h"})
    loaded = load(service, {"/e/f": file, "/e/g": b"A=1"})
    values = {name: variable.value for name, variable in loaded.variables.items()}
    for commands in service.commands.values():
        for command in commands:
            assert command.program
            expanded = expand(command.arguments, values)
            missing = {name for word in expanded for name in word.unanswered if not name.startswith("%")}
            assert missing == names(command.arguments) - set(values)
    for entry in report.entries:
        assert "\n" not in str(entry)


@given(TELLING, st.sampled_from([STRICT, LENIENT, PLAIN, VALUE]))
def test_any_words(text: str, rules: object) -> None:
    assert isinstance(rules, type(STRICT))
    try:
        words = split(text, rules)
    except BadWord:
        return
    except UnicodeEncodeError:
        assert "\ud800" in text
        return
    assert all("\n" not in word or "\n" in text or "\\" in text for word in words)


@given(st.lists(st.text(alphabet="abc é=", min_size=1, max_size=8), max_size=6))
def test_quoted_words_come_back(words: list[str]) -> None:
    quoted = " ".join(f'"{word}"' for word in words)
    assert list(split(quoted, STRICT)) == words


@given(st.binary(max_size=200) | TELLING.map(lambda text: text.encode(errors="surrogatepass")))
def test_any_environment_file(contents: bytes) -> None:
    variables, _ = read_file("/e", contents)
    for variable in variables:
        assert variable.name.isidentifier()
        variable.value.encode()


@given(st.dictionaries(st.from_regex("[A-Z_]{1,5}", fullmatch=True), st.text(max_size=20), max_size=4))
def test_written_variables_come_back(variables: dict[str, str]) -> None:
    plain = {name: value for name, value in variables.items() if not set(value) & set("'\0\ud800")}
    try:
        contents = "".join(f"{name}='{value}'\n" for name, value in plain.items()).encode()
    except UnicodeEncodeError:
        return
    assert {variable.name: variable.value for variable in read_file("/e", contents)[0]} == plain


@given(TELLING)
def test_any_argument(text: str) -> None:
    for word in expand([Resolved(text)], {"a": "1 2", "b": "'"}):
        assert isinstance(word.text, str)


LARGE = {
    "continued": b"[Service]\nExecStart=k " + b"x \\\n" * 30_000,
    "escapes": b"[Service]\nExecStart=k " + b"\\n" * 200_000,
    "quotes": b"[Service]\nExecStart=k " + b'"\'"' * 30_000,
    "variables": b"[Service]\nExecStart=k " + b"${A}" * 30_000,
    "open-braces": b"[Service]\nExecStart=k " + b"${" * 200_000,
    "specifiers": b"[Service]\nExecStart=k " + b"%n" * 200_000,
    "words": b"[Service]\nEnvironment=" + b"A=1 " * 30_000,
    "settings": b"[Service]\n" + b"Environment=A=1\n" * 20_000,
    "lines": b"\n" * 300_000,
    "sections": b"[X]\n" * 200_000,
}


@pytest.mark.parametrize("contents", LARGE.values(), ids=LARGE)
def test_a_large_unit_takes_no_time_to_speak_of(contents: bytes) -> None:
    begun = time.process_time()
    service, _ = read_service("x.service", [UnitFile("x", contents)], {})
    assert isinstance(service, Service)
    for commands in service.commands.values():
        for command in commands:
            expand(command.arguments, {"A": "1"})
    assert time.process_time() - begun < 20


@pytest.mark.parametrize("contents", [b"A=1\n" * 30_000, b"A=" + b"\\\n" * 200_000, b'A="' + b"\\" * 300_000])
def test_a_large_environment_file_neither(contents: bytes) -> None:
    begun = time.process_time()
    read_file("/e", contents)
    assert time.process_time() - begun < 20


def test_half_a_character_from_a_document() -> None:
    (file,) = gather("x.service", "[Service]\nExecStart=k \ud800\n", {}, {})
    assert read_service("x.service", [file], {})[0].commands == {}
