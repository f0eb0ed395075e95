"""Whether the Containers feature is there, by WMI: that needs no administrator, as DISM does."""

from agent.host.windows.api.com import ask, management
from agent.host.windows.failure import Win32Error

_ENABLED = 1
_DISABLED_OR_ABSENT = {2, 3}
_QUESTION = "SELECT InstallState FROM Win32_OptionalFeature WHERE Name = 'Containers'"


def is_installed() -> bool | None:
    """None where this Windows doesn't know the feature, or WMI cannot tell."""

    def read() -> list[int]:
        return [feature.InstallState for feature in management("root\\cimv2").query(_QUESTION)]

    try:
        states = ask(read)
    except Win32Error:
        return None
    if states == [_ENABLED]:
        return True
    return False if states and states[0] in _DISABLED_OR_ABSENT else None
