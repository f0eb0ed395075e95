"""A program that does nothing, with the four modules of pywin32 that a node agent would want first."""

import win32api  # noqa: F401
import win32event  # noqa: F401
import win32service  # noqa: F401
import win32serviceutil  # noqa: F401
