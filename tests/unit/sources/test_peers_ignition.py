"""What Ignition's own tests state of documents, data URLs and units: the answers here are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.sources import ignition
from agent.sources.ignition import rules, unitfile

PEERS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parents[2] / "data" / "peers" / "ignition.yaml").read_bytes()
)


def answered(document: str) -> str:
    report = ignition.load("document", document.encode()).report
    if report.fatal:
        return "refused"
    return "warned" if report.warnings else "accepted"


@pytest.mark.parametrize("row", PEERS["versions"], ids=lambda row: row["document"] or "nothing")
def test_versions(row: dict[str, Any]) -> None:
    assert answered(row["document"]) == row.get("here", row["answer"])


@pytest.mark.parametrize("row", PEERS["documents"], ids=lambda row: row["name"])
def test_documents(row: dict[str, Any]) -> None:
    given = row["document"]
    document = {**given, "ignition": {"version": "3.6.0", **given.get("ignition", {})}}
    assert answered(json.dumps(document)) == row.get("here", row["answer"])


@pytest.mark.parametrize("row", PEERS["data_urls"], ids=lambda row: row["url"])
def test_data_urls(row: dict[str, Any]) -> None:
    if row["answer"] is None:
        with pytest.raises(rules.NotDecodable):
            rules.decode_data_url(row["url"])
    else:
        assert rules.decode_data_url(row["url"]) == row["answer"].encode()


@pytest.mark.parametrize("row", PEERS["units"], ids=lambda row: row["text"])
def test_units(row: dict[str, Any]) -> None:
    if row["answer"] is None:
        with pytest.raises(unitfile.NotAUnit):
            unitfile.sections(row["text"])
    else:
        assert sorted(unitfile.sections(row["text"])) == row["answer"]
