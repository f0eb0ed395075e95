"""User data in a test, and what comes of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from agent.sources import cloudconfig
from agent.sources.cloudconfig import Command, Step, UserData, WrittenFile


def config(text: str) -> bytes:
    return b"#cloud-config\n" + textwrap.dedent(text).encode()


def multipart(*parts: tuple[str, str] | tuple[str, str, str], headers: str = "") -> bytes:
    """Of each part its type, its text and maybe its file name."""
    lines = ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="=="', headers.rstrip(), ""]
    made = "\n".join(line for line in lines[:-1] if line) + "\n\n"
    for kind, text, *name in parts:
        disposition = f'\nContent-Disposition: attachment; filename="{name[0]}"' if name else ""
        made += f"--==\nContent-Type: {kind}{disposition}\n\n{text}\n"
    return (made + "--==--\n").encode()


def made(raw: bytes, metadata: Mapping[str, object] | None = None) -> UserData:
    outcome = cloudconfig.load("user data", raw, metadata)
    assert outcome.user_data, outcome.report
    return outcome.user_data


def error(raw: bytes, metadata: Mapping[str, object] | None = None) -> str:
    """The only one."""
    outcome = cloudconfig.load("user data", raw, metadata)
    assert outcome.user_data is None
    [entry] = outcome.report.errors
    return str(entry)


def scripts(steps: Iterable[Step]) -> dict[str, bytes]:
    return {step.name: step.script for step in steps if isinstance(step, Command)}


def files(steps: Iterable[Step]) -> dict[str, bytes]:
    return {
        str(step.path): b"".join(step.content.blocks()) for step in steps if isinstance(step, WrittenFile)
    }


def notes(user_data: UserData) -> list[str]:
    return [f"{note.effect.value} {note.subject}: {note.reason}" for note in user_data.notes]
