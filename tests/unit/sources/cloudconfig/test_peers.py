"""What cloud-init, cloudbase-init and Cluster API answer in their own tests, and what wmcb answers."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.sources import cloudconfig, ignition
from agent.sources.cloudconfig import UserData, WrittenFile, instance_data
from agent.spec import Protection
from unit.sources.cloudconfig.loaded import files, notes, scripts

_TESTS = Path(__file__).resolve().parents[3]
_ROWS = yaml.safe_load((_TESTS / "data" / "peers" / "cloudinit.yaml").read_text())
_MIGRATION = (_TESTS.parent / "docs" / "migration.md").read_text()
_HEAD = b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="=="\n\n'


def _part(part: dict[str, Any]) -> bytes:
    text = part["text"] if isinstance(part["text"], bytes) else part["text"].encode()
    headers = {"Content-Type": part["type"], **part.get("headers", {})}
    if packed := part.get("packed"):
        headers["Content-Transfer-Encoding"] = "base64"
        text = base64.encodebytes(gzip.compress(text) if packed == "gzip" else text)
    said = "".join(f"{name}: {value}\n" for name, value in headers.items())
    return b"--==\n" + said.encode() + b"\n" + text + b"\n"


def _user_data(row: dict[str, Any]) -> bytes:
    if "parts" not in row:
        return str(row["user_data"]).encode()
    return _HEAD + b"".join(map(_part, row["parts"])) + (b"" if row.get("unclosed") else b"--==--\n")


def _fetch(row: dict[str, Any]) -> ignition.Fetch:
    def fetch(request: ignition.Request) -> Iterator[bytes]:
        if request.url not in row.get("fetched", {}):
            raise ignition.FetchFailed("the server answers 403")
        yield row["fetched"][request.url].encode()

    return fetch


def _answers(read: UserData, row: dict[str, Any]) -> dict[str, Any]:
    """What a row speaks of, as wmcb has it."""
    steps = (*read.before, *read.after)
    made = [step for step in steps if isinstance(step, WrittenFile)]
    answers = {
        "files": {name: content.decode() for name, content in files(steps).items()},
        "open_files": [str(step.path) for step in made if step.protection is Protection.PROGRAM],
        "scripts": {name: script.decode() for name, script in scripts(steps).items()},
        "host_name": read.host_name,
        "join": str(read.join.configuration) if read.join else None,
    }
    return {name: answer for name, answer in answers.items() if name in row}


@pytest.mark.parametrize("row", _ROWS, ids=[row["case"] for row in _ROWS])
def test_what_the_peers_answer(row: dict[str, Any]) -> None:
    metadata = instance_data(row.get("metadata", {}))
    outcome = cloudconfig.load("user data", _user_data(row), metadata, _fetch(row))
    if "refused" in row:
        assert outcome.user_data is None
        [entry] = outcome.report.errors
        assert row["refused"] in str(entry)
    else:
        assert outcome.user_data, outcome.report
        answers = _answers(outcome.user_data, row)
        assert answers == {name: row[name] for name in answers}
        found = notes(outcome.user_data)
        expected = row.get("notes")
        assert expected is None or len(expected) == len(found), found
        assert all(text in note for text, note in zip(expected or [], found, strict=False)), found
    if "differs" in row:
        assert f"| {row['differs']} |" in _MIGRATION
