"""Word to the windows on the desktop (user32)."""

import ctypes
from ctypes import wintypes

from agent.host.windows.api.binding import dll, judged

_EVERYBODY = 0xFFFF
_SETTING_CHANGE = 0x001A
_GIVE_UP_ON_HUNG = 0x0002
_MILLISECONDS_A_WINDOW = 100

# fmt: off
_send = judged(
    dll("user32"), "SendMessageTimeoutW", ctypes.c_ssize_t, wintypes.HWND, wintypes.UINT, wintypes.WPARAM,
    wintypes.LPCWSTR, wintypes.UINT, wintypes.UINT, ctypes.c_void_p,
)
# fmt: on


def tell_of_environment() -> None:
    """The shell takes the machine's variables over for what it starts from now on.

    Without waiting for whom it doesn't reach: what is stored counts all the same.
    """
    _send(_EVERYBODY, _SETTING_CHANGE, 0, "Environment", _GIVE_UP_ON_HUNG, _MILLISECONDS_A_WINDOW, None)
