"""Has a node remember the root certificates that somebody gives it.

Wine 10.0 takes what Linux does not have out of the machine's store ROOT when a program looks there for its
first time, unless another one is at it, who has a semaphore: that is held here for as long as the node is on.
Later versions leave alone what they have not put there.
"""

from __future__ import annotations

from lab import windows_python
from lab.node import Node
from lab.running import LASTING_SECONDS
from lab.waiting import until

KEY = r"HKLM\SOFTWARE\Microsoft\SystemCertificates\ROOT\Certificates"
"""What lies below it is called by certificates' thumbprints."""

_HELD = r"C:\standins\roots.held"
_HOLD = f"""
import ctypes, pathlib, ssl, time
ssl.enum_certificates("ROOT")  # whose key is made by the first look
held = ctypes.windll.kernel32.CreateSemaphoreW(None, 1, 1, "crypt32_root_semaphore")
pathlib.Path({_HELD!r}).write_text("held")
time.sleep(86400)
"""


def remember(node: Node) -> None:
    """From now on, until the node is off."""
    held = node.path(_HELD)
    held.parent.mkdir(parents=True, exist_ok=True)
    held.unlink(missing_ok=True)
    node.start(windows_python.PROGRAM, "-c", _HOLD, seconds=LASTING_SECONDS)
    until(held.exists, "somebody looks at the roots")
