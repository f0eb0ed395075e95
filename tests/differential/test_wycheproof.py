"""Signatures that libraries of cryptography judged wrongly once."""

from __future__ import annotations

import json
from typing import Any

from agent.sources.signatures import verifies
from lab import wycheproof


def test_the_vectors_of_project_wycheproof() -> None:
    vectors = [
        (group["publicKey"]["pk"], vector)
        for group in json.loads(wycheproof.ed25519().read_bytes())["testGroups"]
        for vector in group["tests"]
    ]
    assert len(vectors) > 100
    assert [vector["comment"] for key, vector in vectors if _verified(key, vector) != _is_valid(vector)] == []
    assert {_is_valid(vector) for _, vector in vectors} == {True, False}


def _verified(key: str, vector: dict[str, Any]) -> bool:
    return verifies(*map(bytes.fromhex, (key, vector["msg"], vector["sig"])))


def _is_valid(vector: dict[str, Any]) -> bool:
    return {"valid": True, "invalid": False}[vector["result"]]
