"""docs/security.md: each statement is a claim with tests that are there, or says why it is none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from documentation.blocks import ROOT
from documentation.claims import CLAIMS

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
MARK = re.compile(r"<!-- (claim|context): (.+?) -->")
ID = re.compile("[a-z]+(-[a-z]+)*")


def statements(page: str) -> Iterator[str]:
    """Each paragraph, each item of a list, and each row of a table below its head."""
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n", prose):
        lines = [line for line in block.strip().splitlines() if not line.startswith("#")]
        if lines and lines[0].startswith("|"):
            yield from lines[2:]
        elif lines and lines[0].startswith("- "):
            yield from re.split(r"\n(?=- )", "\n".join(lines))
        elif lines:
            yield "\n".join(lines)


def claimed(page: str) -> list[str]:
    return [found[2] for found in MARK.finditer(page) if found[1] == "claim"]


@cache
def named_in(path: str) -> frozenset[str]:
    """The tests of a module, those of a class by both names."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return frozenset(_tests("", tree.body)).union(*(_tests(f"{one.name}::", one.body) for one in classes))


def _tests(prefix: str, body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield f"{prefix}{node.name}"


def unfounded(page: str, claims: dict[str, tuple[str, ...]]) -> list[str]:
    """What is wrong with a page and the tests that it goes by."""
    ids = claimed(page)
    faults = [f"no comment: {each[:60]}" for each in statements(page) if not MARK.search(each)]
    faults += [f"no id: {each}" for each in ids if not ID.fullmatch(each)]
    faults += [f"twice on the page: {each}" for each in sorted({each for each in ids if ids.count(each) > 1})]
    faults += [f"no test: {each}" for each in ids if not claims.get(each)]
    faults += [f"not on the page: {each}" for each in claims if each not in ids]
    return faults


def test_each_statement_is_a_claim_with_tests_or_says_why_it_is_none() -> None:
    assert unfounded(PAGE, dict(CLAIMS)) == []
    assert len(list(statements(PAGE))) > 50


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_tests_of_a_claim_are_there(claim: str) -> None:
    for node in CLAIMS[claim]:
        path, _, name = node.partition("::")
        assert (ROOT / path).is_file(), path
        assert name in named_in(path), node


PAGES = {
    "a statement without a comment": ("All is well.", "no comment: All is well."),
    "an item without one": ("- One. <!-- claim: one -->\n- Two.", "no comment: - Two."),
    "a row without one": ("| a |\n|---|\n| One. <!-- claim: one --> |\n| Two. |", "no comment: | Two. |"),
    "a claim without a test": ("One. <!-- claim: other -->", "no test: other"),
    "a claim that is there twice": (
        "One. <!-- claim: one -->\n\nTwo. <!-- claim: one -->",
        "twice on the page: one",
    ),
    "a claim that is gone": ("One. <!-- context: a limit -->", "not on the page: one"),
}


@pytest.mark.parametrize(("page", "fault"), PAGES.values(), ids=PAGES)
def test_a_page_that_says_more_than_is_proven_is_noticed(page: str, fault: str) -> None:
    assert fault in unfounded(f"# Security\n\n{page}\n", {"one": ("tests/x.py::test_x",)})
