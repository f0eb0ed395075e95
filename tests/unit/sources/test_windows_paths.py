from __future__ import annotations

import pytest

from agent.sources.windows_paths import NotOnWindows, on_windows


@pytest.mark.parametrize(
    ("linux", "windows"),
    [
        ("/etc/kubernetes", "C:\\etc\\kubernetes"),
        ("/var/lib/kubelet/", "C:\\var\\lib\\kubelet"),
        ("//etc//./x", "C:\\etc\\x"),
        ("/x/Windows", "C:\\x\\Windows"),
        ("/etc/a~b", "C:\\etc\\a~b"),
        ("/etc/backup-of-it~1", "C:\\etc\\backup-of-it~1"),
        ("/a b/c.d", "C:\\a b\\c.d"),
        ("/.hidden", "C:\\.hidden"),
        ("/console", "C:\\console"),
    ],
)
def test_the_same_path_on_c(linux: str, windows: str) -> None:
    assert on_windows(linux) == windows


@pytest.mark.parametrize(
    ("linux", "reason"),
    [
        pytest.param("etc", "start at /", id="relative"),
        pytest.param("", "start at /", id="empty"),
        pytest.param("C:\\k", "start at /", id="drive"),
        pytest.param("/c:/k", "':'", id="drive-inside"),
        pytest.param("/a/../b", "leads back", id="dot-dot"),
        pytest.param("/a:stream", "':'", id="stream"),
        pytest.param("/a\\b", r"'a\b' contains '\', which", id="backslash"),
        pytest.param("/a\nb", "'\\n'", id="control-character"),
        pytest.param("/a?", "'?'", id="wildcard"),
        pytest.param("/a./b", "dot", id="dot-at-the-end"),
        pytest.param("/a /b", "blank", id="blank-at-the-end"),
        pytest.param("/x/nul", "device", id="device"),
        pytest.param("/x/Com1.log", "device", id="device-with-an-extension"),
        pytest.param("/", "whole drive", id="root"),
        pytest.param("//.", "whole drive", id="root-in-other-words"),
        pytest.param("/Windows/System32/x", "Windows' own", id="system-folder"),
        pytest.param("/program files", "Windows' own", id="program-files"),
        pytest.param("/PROGRA~1/x", "short name", id="short-name-of-a-folder"),
        pytest.param("/etc/KUBELE~1.CON", "short name", id="short-name-of-a-file"),
        pytest.param("/" + "a" * 256, "255", id="long-element"),
        pytest.param("/a" * 20_000, "32000", id="long-path"),
    ],
)
def test_refused(linux: str, reason: str) -> None:
    with pytest.raises(NotOnWindows) as refusal:
        on_windows(linux)
    assert reason in str(refusal.value)
