"""The bill of a few parts, as CycloneDX' own library judges it; tests/windows has the exe's own judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from exebuild import materials
from judges.bills import faults
from unit.exe.test_materials import FILES, PARTS

BILL = materials.bill(PARTS, "0" * 40, FILES)


def test_nothing_is_wrong_with_it() -> None:
    assert faults(BILL) == []


def python(**changed: object) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["components"][0].update(changed)


@pytest.mark.parametrize(
    "change",
    [
        python(type="dll"),
        python(colour="blue"),
        python(licenses=[{"license": {"id": "BSD"}}]),
        python(hashes=[{"alg": "SHA-256", "content": "abc"}]),
        python(purl="openssl"),
        python(evidence={"occurrences": [{}]}),
        lambda document: document["dependencies"][-1]["dependsOn"].append("CPython"),
        lambda document: document["dependencies"][-1]["dependsOn"].append("nowhere"),
        lambda document: document["dependencies"].append({"ref": "nobody"}),
    ],
    ids=[
        "type",
        "a field that there is not",
        "licence",
        "hash",
        "package",
        "occurrence without a place",
        "depends on one thing twice",
        "depends on what is not there",
        "dependencies of what is not there",
    ],
)
def test_the_judge_notices(change: Callable[[dict[str, Any]], None]) -> None:
    """The control for the first test."""
    document = json.loads(BILL)
    change(document)
    assert faults(json.dumps(document).encode()) != []
