"""What a resource is called in a message."""

from __future__ import annotations

import pytest

from agent.spec import Key
from agent.spec.machine import RegistryType, RegistryValue

AGENT = r"SOFTWARE\Contoso\Agent"

SHOWN = {
    "a folder": (Key("directory", r"C:\k"), r"directory C:\k"),
    "a share": (Key("file", r"\\server\share\x"), r"file \\server\share\x"),
    "a value": (
        RegistryValue(AGENT, "Level", RegistryType.NUMBER, 1).key,
        r"registry value HKLM\SOFTWARE\Contoso\Agent\Level",
    ),
    "a value that is called like a path": (
        RegistryValue(AGENT, r"C:\k\tool.exe", None, None).key,
        r"registry value HKLM\SOFTWARE\Contoso\Agent\C:\k\tool.exe",
    ),
    "a value without a name": (
        RegistryValue(AGENT, "", RegistryType.STRING, "x").key,
        r"registry value HKLM\SOFTWARE\Contoso\Agent\(Default)",
    ),
}


@pytest.mark.parametrize(("key", "text"), SHOWN.values(), ids=SHOWN)
def test_a_resource_is_called_as_windows_own_tools_call_it(key: Key, text: str) -> None:
    assert str(key) == text
