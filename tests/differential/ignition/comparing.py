"""Whether our reading of Ignition documents and Ignition's own agree, and where they are meant not to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import unquote

from agent.sources.ignition.document import Document, Finding, Findings, NotReadable, decoded
from agent.sources.ignition.reading import SPECIFICATIONS, Reading, read
from agent.sources.ignition.schema import MergedCheck, Record, Source, recheck
from differential.ignition.documents import Documents
from differential.ignition.oracle import Answer, IgnitionOracle
from differential.tally import Tally

VERSIONS = [(2, minor) for minor in range(5)] + [(3, minor) for minor in range(7)]

STRICTER = {
    "is given twice": "a key twice in one object: Ignition takes the last, or parts of both",
    "it says the same as": "a key twice in two spellings: as above",
    "it is not UTF-8": "bytes that are no UTF-8: Ignition silently writes other characters",
    "half a character": "half of a surrogate pair: as above",
    "nested too deeply": "nesting that nobody needs; of what it ignores, Ignition takes 10,000 levels",
    "size cannot be negative": "a partition of negative size, which no disk can get",
    "it is for Ignition 1": "version 1 of the specification, long before any Windows node",
}
"""What we refuse and Ignition takes, by words of our message, and why."""

EXPERIMENTAL = (
    "shouldExist is false for a partition and other partition(s) has start or size 0",
    "unsupported clevis pin",
)
"""Reasons of the experimental 3.6 that the oracle has, and that the final 3.6 dropped."""
DROPPED = "a rule that the final 3.6 dropped"
_BEFORE_THE_FINAL = 5
"""The last minor version that has these rules."""


@dataclass(frozen=True, slots=True)
class Ours:
    reading: Reading | None
    messages: tuple[str, ...]
    paths: frozenset[tuple[str, str]]

    @property
    def accepted(self) -> bool:
        return self.reading is not None


def ours(raw: bytes) -> Ours:
    try:
        document = Document("document", decoded("document", raw))
        findings = Findings()
        reading = read(document, findings)
        report = document.report(findings)
    except NotReadable as fault:
        reading, report = None, fault.report
    paths = frozenset(
        (entry.severity.value, ".".join(["$", *map(str, entry.place)])) for entry in report.entries
    )
    messages = tuple(entry.message for entry in report.entries)
    return Ours(None if report.fatal else reading, messages, paths)


def compare(oracle: IgnitionOracle, seed: int, documents: int) -> Tally:
    """So many documents of each version, and half as many pairs."""
    tally = Tally()
    for major, minor in VERSIONS:
        make = Documents(Random(f"{seed} {major}.{minor}"))  # noqa: S311 - to be repeated, not to be secret
        comparison = _Comparison(oracle, tally, major, minor)
        for _ in range(documents):
            comparison.single(make.document(major, minor))
        for _ in range(documents // 2):
            comparison.pair(make.random)
    return tally


class _Comparison:
    def __init__(self, oracle: IgnitionOracle, tally: Tally, major: int, minor: int) -> None:
        self._oracle = oracle
        self._tally = tally
        self._major = major
        self._name = f"{major}.{minor}"
        self._version = (major, minor)
        self._newest = self._version == (3, 6)
        self._taken: list[tuple[bytes, Reading]] = []

    def single(self, raw: bytes) -> None:
        our = ours(raw)
        if our.reading and (our.reading.specification.major, our.reading.minor) != self._version:
            # Its version was made another on purpose; that one has documents of its own.
            return
        answer = self._ask(raw)
        self._tally.compared[f"{self._name} documents"] += 1
        if answer.accepted != (our.accepted,):
            self._judge(raw, our, answer)
            return
        if our.reading is None:
            return
        self._tally.compared[f"{self._name} documents taken"] += 1
        self._taken.append((raw, our.reading))
        self._same(our.reading.config, answer, [raw])
        self._same_warnings(raw, our, answer)

    def pair(self, random: Random) -> None:
        if len(self._taken) < 2:
            return
        parent, child = random.sample(self._taken, 2)
        answer = self._ask(parent[0], child[0])
        specification = SPECIFICATIONS[self._major]
        merged = specification.merged(parent[1].config, child[1].config)
        self._tally.compared[f"{self._name} pairs"] += 1
        self._same(merged, answer, [parent[0], child[0]])
        errors = self._errors_of(merged, specification.newest_minor)
        if bool(errors) != answer.sound:
            return
        if not errors and self._errors_of(merged, _BEFORE_THE_FINAL):
            self._tally.on_purpose[DROPPED] += 1
            return
        self._tell(f"merged soundness {errors}", answer, [parent[0], child[0]])

    def _errors_of(self, merged: Record, minor: int) -> Sequence[Finding]:
        findings = Findings()
        if self._major == 3:
            check = MergedCheck({"document": findings}, "document", minor)
            recheck(merged, SPECIFICATIONS[3].config, check)
        return findings.errors

    def _ask(self, *raw: bytes) -> Answer:
        if self._newest:
            # The oracle knows 3.6 before it was final only.
            raw = tuple(item.replace(b"3.6.0", b"3.6.0-experimental", 1) for item in raw)
        return self._oracle.ask(self._major, raw)

    def _judge(self, raw: bytes, our: Ours, answer: Answer) -> None:
        for words, why in STRICTER.items():
            if not our.accepted and any(words in message for message in our.messages):
                self._tally.on_purpose[why] += 1
                return
        if our.accepted and "the parser crashed" in answer.reasons:
            self._tally.on_purpose["Ignition 0.35.0 crashes over a user name in a URL of version 2.0"] += 1
            return
        if self._newest and our.accepted and any(reason in answer.reasons for reason in EXPERIMENTAL):
            self._tally.on_purpose[DROPPED] += 1
            return
        self._tell(f"verdict: we {'take' if our.accepted else 'refuse'}: {our.messages}", answer, [raw])

    def _same(self, config: Record, answer: Answer, raw: list[bytes]) -> None:
        mine, theirs = _plain(config, self._major), _plain(answer.config, self._major)
        if mine != theirs:
            self._tell("\n  ".join(["configuration", *_differences(mine, theirs, "$")][:6]), answer, raw)

    def _same_warnings(self, raw: bytes, our: Ours, answer: Answer) -> None:
        # Below a key in another letter case, or with half a character, Ignition loses its way.
        if any("letter case" in message for message in our.messages) or b"\\ud" in raw:
            return
        if self._major == 3 and (other := answer.paths ^ our.paths):
            self._tell(f"warnings that only one gives: {sorted(other)}", answer, [raw])

    def _tell(self, what: str, answer: Answer, raw: list[bytes]) -> None:
        documents = "\n  ".join(ascii(item)[:3000] for item in raw)
        theirs = f"takes {answer.accepted}, sound {answer.sound}, says {answer.reasons}"
        self._tally.disagreements.append(f"{self._name} {what}\n  Ignition {theirs}\n  {documents}")


_ALWAYS_WRITTEN = {
    2: {"device", "filesystem", "format", "level", "name", "path", "source", "target", "value", "version"},
    3: {"device", "name", "path", "version"},
}
"""Fields that Ignition writes also when they are empty."""


def _plain(value: Any, major: int) -> Any:
    """A configuration without what makes no difference."""
    if isinstance(value, Source):
        return value.url if value.data is None else f"sha256:{hashlib.sha256(value.data).hexdigest()}"
    if isinstance(value, int) and value >= 2**63:
        # Of 2.0, where sectors were unsigned, Ignition lets them overflow.
        return value - 2**64
    if isinstance(value, list):
        return [_plain(item, major) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: _plain(item, major) for key, item in value.items()}
    # Between 3.4 and 3.5 the oracle loses these (a slip in its translation).
    made.pop("advertisement", None)
    if major == 2 and isinstance(url := made.get("source"), str):
        # Of 2.0, Ignition writes URLs anew, with other capitals and escapes.
        made["source"] = "".join(filter(str.isalnum, unquote(url).lower()))
    if "version" in made:
        made["version"] = made["version"].removesuffix("-experimental")
    return {
        key: item
        for key, item in made.items()
        if item not in (None, {}, []) and not (item == "" and key in _ALWAYS_WRITTEN[major])
    }


def _differences(mine: Any, theirs: Any, path: str) -> Iterator[str]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in sorted({*mine, *theirs}):
            yield from _differences(mine.get(key), theirs.get(key), f"{path}.{key}")
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from _differences(one, other, f"{path}.{index}")
    elif mine != theirs:
        yield f"{path}: ours {mine!r:.300}, Ignition's {theirs!r:.300}"
