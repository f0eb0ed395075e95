"""Of a MIME message everything is counted before the email parser reads it."""

from __future__ import annotations

import email
from email.message import Message
from typing import Any

import pytest

from agent.sources.cloudconfig import parts
from unit.sources.cloudconfig.loaded import error, made, multipart, scripts

HEADS = b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
CONFIG = ("text/cloud-config", "runcmd: [a]")


def _nested(levels: int, line_end: str = "\n", parameter: str = 'boundary="@"') -> bytes:
    made = "MIME-Version: 1.0\n"
    for level in range(levels):
        named = parameter.replace("@", f"b{level}")
        made += f"Content-Type: multipart/mixed;\n {named}\n\n--b{level}\n"
    made += "Content-Type: text/cloud-config\n\nruncmd: [a]\n"
    made += "".join(f"--b{level}--\n" for level in reversed(range(levels)))
    return made.replace("\n", line_end).encode()


MANY = 200_000
TOO_MANY_PARTS = "error: user data: it has more than 100 parts"
TOO_DEEP = "error: user data: it nests more than 10 multipart messages"
HOSTILE = {
    "a part too many": (multipart(*[CONFIG] * 101), TOO_MANY_PARTS),
    "parts without headers": (HEADS + b"--b\n\n" * MANY, TOO_MANY_PARTS),
    "parts with the line ends of Windows": (
        (HEADS + b"--b \n\n" * MANY).replace(b"\n", b"\r\n"),
        TOO_MANY_PARTS,
    ),
    "parts with the line ends of the first Macintosh": (HEADS + b"--b\r\r" * MANY, TOO_MANY_PARTS),
    "a boundary in capitals, and in quotes": (
        HEADS.replace(b"boundary=b", b'BOUNDARY="b c"') + b"--b c\n\n" * MANY,
        TOO_MANY_PARTS,
    ),
    "a boundary in pieces": (
        HEADS.replace(b"boundary=b", b"boundary*0=b; boundary*1=c") + b"--bc\n\n" * MANY,
        TOO_MANY_PARTS,
    ),
    "a boundary of bytes that are no text": (
        HEADS.replace(b"boundary=b", b"boundary*=utf-7''%2B3IA-") + b"--\x80\n\n" * MANY,
        TOO_MANY_PARTS,
    ),
    "an empty boundary": (HEADS.replace(b"boundary=b", b'boundary=""') + b"--\n\n" * MANY, TOO_MANY_PARTS),
    "a multipart too many": (_nested(11), TOO_DEEP),
    "multiparts in one another": (_nested(5000), TOO_DEEP),
    "multiparts with a space before the value of the boundary": (
        _nested(11, parameter='BOUNDARY = "@"'),
        TOO_DEEP,
    ),
    "multiparts with a boundary in pieces": (_nested(11, parameter="boundary*0=@"), TOO_DEEP),
    "multiparts with a boundary of another encoding": (
        _nested(11, parameter="boundary*=utf-8''@"),
        TOO_DEEP,
    ),
    "messages in one another": (
        b"MIME-Version: 1.0\n" + b"Content-Type: message/rfc822\n\n" * MANY,
        TOO_DEEP,
    ),
    "a report of many paragraphs": (
        b"MIME-Version: 1.0\nContent-Type: message/delivery-status\n\n" + b"A: b\n\n" * MANY,
        "error: user data: a part of it is a report on the delivery of mail, which user data has no use for",
    ),
    "lines": (
        multipart(("text/cloud-config", "\n" * 500_001)),
        "error: user data: it is multipart MIME of more than 500,000 lines",
    ),
    "a header of many parameters": (
        b'MIME-Version: 1.0\nContent-Type: text/plain; name="' + b";" * MANY,
        "error: user data: its header in line 2 is longer than 8,192 bytes",
    ),
    "a header of many lines, in a part": (
        HEADS + b"--b\nContent-Disposition: attachment" + b";\n\ta=b" * MANY,
        "error: user data: its header in line 5 is longer than 8,192 bytes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_before_it_is_parsed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, expected = HOSTILE[name]
    parsed = _counted(monkeypatch)
    assert error(raw) == expected
    assert max(parsed, default=0) <= parts.LONGEST_HEADER


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of everything that the email parser is given."""
    parsed: list[int] = []
    parse = email.message_from_bytes

    def noted(raw: bytes, *rest: Any) -> Message:
        parsed.append(len(raw))
        return parse(raw, *rest)

    monkeypatch.setattr(email, "message_from_bytes", noted)
    return parsed


def test_the_largest_that_is_parsed_has_few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    made_of: list[Message] = []
    begin = Message.__init__

    def noted(message: Message, *rest: Any, **named: Any) -> None:
        made_of.append(message)
        begin(message, *rest, **named)

    monkeypatch.setattr(Message, "__init__", noted)
    read = made(multipart(*[CONFIG] * 100))
    assert scripts(read.before) == {"runcmd": b"a\r\n" * 100}
    # The whole and its parts, and the one header that names a boundary.
    assert len(made_of) == 102


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_as_many_as_may_nest(line_end: str) -> None:
    assert scripts(made(_nested(10, line_end)).before) == {"runcmd": b"a\r\n"}


def test_a_script_may_speak_of_boundaries() -> None:
    """Only headers count: a script that makes such messages itself names its boundary often."""
    text = "rem cmd\n" + "".join(f"rem boundary {number}\n--not-a-boundary\n" for number in range(300))
    read = made(multipart(("text/x-shellscript", text)))
    assert list(scripts(read.before)) == ["script"]


@pytest.mark.parametrize(
    "header", ["Content-Type: multipart/mixed", "Content-Type: multipart/form-data; a=b"]
)
def test_a_script_may_hold_headers_of_multiparts_without_a_boundary(header: str) -> None:
    """No message begins there; 11 are one more than may nest."""
    text = "rem cmd\n" + f"{header}\n" * 11
    read = made(multipart(("text/x-shellscript", text)))
    assert list(scripts(read.before)) == ["script"]
