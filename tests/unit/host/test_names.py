from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.host.errors import BadName
from agent.host.names import check_path


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("k\\x", 161, id="relative"),
        pytest.param("C:x", 161, id="relative-to-a-drive"),
        pytest.param("\\k", 161, id="without-a-drive"),
        pytest.param("\\\\server\\share\\x", 161, id="network"),
        pytest.param("\\\\?\\C:\\x", 161, id="device-namespace"),
        pytest.param("C:\\a\\..\\b", 123, id="dot-dot"),
        pytest.param("C:\\a.", 123, id="dot-at-the-end"),
        pytest.param("C:\\a \\b", 123, id="blank-at-the-end-of-a-folder"),
        pytest.param("C:\\a:b", 123, id="stream"),
        pytest.param("C:\\a*", 123, id="star"),
        pytest.param("C:\\a\x1f", 123, id="control-character"),
        pytest.param("C:\\nul", 123, id="device"),
        pytest.param("C:\\k\\Com1.log", 123, id="device-with-an-extension"),
        pytest.param("C:\\LPT².x.y", 123, id="device-with-a-raised-digit"),
        pytest.param("C:\\aux .txt", 123, id="device-and-a-blank"),
        pytest.param("C:\\" + "a" * 256, 123, id="element-too-long"),
        pytest.param("C:\\" + "\U0001f600" * 128, 123, id="element-too-long-in-utf-16"),
        pytest.param("C:\\" + "a\\" * 16_000, 206, id="path-too-long"),
    ],
)
def test_refused(path: str, code: int) -> None:
    with pytest.raises(BadName, match="cannot read") as refused:
        check_path("read", PureWindowsPath(path))
    assert refused.value.code == code


@pytest.mark.parametrize(
    "path",
    ["C:\\", "d:\\x", "C:\\com0", "C:\\console", "C:\\.x", "C:\\ x", "C:\\a.b.c", "C:\\" + "é" * 255],
    ids=ascii,
)
def test_taken(path: str) -> None:
    check_path("read", PureWindowsPath(path))
