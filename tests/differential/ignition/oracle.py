"""Ignition's own parsers, as a program that answers questions (tests/lab/standins/ignition-oracle)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from differential.answering import Oracle
from lab import cache, toolchains
from lab.repository import LOCKS, STANDINS

_SOURCES = STANDINS / "ignition-oracle"
_NAME = "ignition-oracle"


def _program() -> Path:
    """The program, built if it isn't there yet."""

    def build(into: Path) -> None:
        toolchains.build_go(_SOURCES, into / _NAME, goos="linux")

    return cache.built(_NAME, cache.digest(LOCKS / "lab.txt", _SOURCES, build), build) / _NAME


@dataclass(frozen=True, slots=True)
class Answer:
    accepted: tuple[bool, ...]
    """Of each document, whether Ignition takes it."""
    reasons: tuple[str, ...]
    paths: frozenset[tuple[str, str]]
    """Severity and path of what is reported; version 2 has no paths."""
    sound: bool
    """Whether what was merged is a valid configuration."""
    config: Any


class IgnitionOracle(Oracle):
    def __init__(self) -> None:
        super().__init__(_program())

    def ask(self, major: int, documents: Sequence[bytes]) -> Answer:
        packed = [base64.b64encode(item).decode() for item in documents]
        answer = self.answer({"major": major, "documents": packed})
        entries = [entry for entries in answer["entries"] for entry in entries or ()]
        return Answer(
            tuple(answer["accepted"]),
            (answer.get("error", ""), *(entry["message"] for entry in entries)),
            frozenset(
                (entry["kind"], entry["path"])
                for entry in entries
                # A null where an object could be puzzles the part that looks for lines and columns only.
                if "path" in entry and not entry["message"].startswith("context tree does not match")
            ),
            answer["sound"],
            answer.get("config"),
        )
