from __future__ import annotations

import pytest

from agent.sources.ignition import unitfile


@pytest.mark.parametrize(
    ("contents", "sections"),
    [
        pytest.param("", set(), id="empty"),
        pytest.param("no section at all", set(), id="no-section"),
        pytest.param("[Unit]\nA=b\n[Install]\nWantedBy=x\n", {"Unit", "Install"}, id="two-sections"),
        pytest.param("[Install]\n", set(), id="section-without-options"),
        pytest.param("[S]\r\nA=b\r\n", {"S"}, id="crlf"),
        pytest.param("junk [S]\nA=b", {"S"}, id="junk-before-the-section"),
        pytest.param("# [No]\n[S]\nA=b", {"S"}, id="comment"),
        pytest.param("# x \\\n[No]\nA=b\n[S]\nA=b", {"S"}, id="comment-continued"),
        pytest.param("[S]\nA=b \\\n[T]\n", {"S"}, id="value-continued"),
        pytest.param("[S]\nA=b\\\n\n[T]\nB=c", {"S", "T"}, id="continuation-ended-by-blank-line"),
        pytest.param("[S]\nA=b\\", {"S"}, id="backslash-at-the-end"),
        pytest.param("[S]\n=\n", {"S"}, id="option-without-a-name"),
        pytest.param("[S]\n\u2003A=b", {"S"}, id="wide-blank"),
        pytest.param("[S\ud83d]\n\ud83dA=\ud83d", {"S?"}, id="half-a-character"),
        pytest.param("[S]\nA=" + "x" * 2040, {"S"}, id="long-line"),
        pytest.param("[S]\n" + "A=b\n" * 5000, {"S"}, id="many-lines"),
    ],
)
def test_unit(contents: str, sections: set[str]) -> None:
    assert unitfile.sections(contents) == sections


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        pytest.param("[S", "no closing bracket", id="open-section"),
        pytest.param("[S] x\n", "follows a section", id="text-after-section"),
        pytest.param("[S]\nA", "no equals sign", id="no-equals-sign"),
        pytest.param("[S]\nA\n=b", "no equals sign", id="newline-in-name"),
        pytest.param("[S]\n\x1fA", "no equals sign", id="separator-is-no-blank"),
        pytest.param("[S]\nA=" + "x" * 5000, "longer than the 2048", id="too-long-value"),
        pytest.param("[S]\n#" + "x" * 5000, "longer than the 2048", id="too-long-comment"),
        pytest.param("x" * 5000, "longer than the 2048", id="too-long-before-section"),
    ],
)
def test_no_unit(contents: str, why: str) -> None:
    with pytest.raises(unitfile.NotAUnit, match=why):
        unitfile.sections(contents)


def test_a_long_line_that_the_buffer_of_ignition_does_not_reach_is_taken() -> None:
    # 4096 bytes are read at once; of a long line that begins near their end too little is in sight.
    head = "[S]\n" + "A=b\n" * 600
    filler = "B=" + "c" * (4096 - len(head) - 3 - 1000) + "\n"
    assert len(head + filler) == 4096 - 1000
    assert unitfile.sections(head + filler + "D=" + "e" * 3000 + "\n") == {"S"}
    with pytest.raises(unitfile.NotAUnit):
        unitfile.sections("[S]\nD=" + "e" * 3000 + "\n")
