"""`wmcb version`."""

from __future__ import annotations

import sys

from agent.cli.failure import DONE
from agent.cli.streams import say
from agent.release import RELEASE, build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.cli.arguments import Request


def show(request: Request) -> int:
    built = build()
    facts = {
        "release": RELEASE,
        "commit": built.commit,
        "python": sys.version.split(maxsplit=1)[0],
        "openssl": built.openssl,
        "platform": _platform(),
    }
    if request.wants_json:
        from agent.cli.documents import document

        say(document(**facts))
    else:
        commit = f"commit {built.commit}" if built.commit else "from source"
        say(f"wmcb {RELEASE} ({commit})\nPython {facts['python']}, {facts['openssl']}\n{facts['platform']}")
    return DONE


def _platform() -> str:
    if sys.platform == "win32":
        version = sys.getwindowsversion()
        return f"Windows {version.major}.{version.minor}.{version.build} amd64"
    else:  # noqa: RET505 - or the type checker finds it unreachable on Windows
        import os

        system = os.uname()
        return f"{system.sysname} {system.release} {system.machine}"
