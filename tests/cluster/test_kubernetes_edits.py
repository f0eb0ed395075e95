"""The kubelet's edits: refused where the code is not what was looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import kubernetes, means
from lab.kubernetes import Edit


@pytest.mark.parametrize(
    ("text", "times", "expected"),
    [
        pytest.param("a listen b", 1, "a dial b", id="found"),
        pytest.param("listen, listen", 2, "dial, dial", id="found twice as expected"),
        pytest.param("a b", 1, None, id="gone"),
        pytest.param("listen, listen", 1, None, id="found twice"),
    ],
)
def test_an_edit(tmp_path: Path, text: str, times: int, expected: str | None) -> None:
    file = tmp_path / "server.go"
    file.write_text(text)
    edit = Edit("example.org/module", "server.go", "listen", "dial", "for a test", times)
    if expected is None:
        with pytest.raises(means.Missing, match=r"example.org/module/server.go has 'listen' \d times"):
            kubernetes.apply(edit, tmp_path)
        assert file.read_text() == text
    else:
        kubernetes.apply(edit, tmp_path)
        assert file.read_text() == expected
