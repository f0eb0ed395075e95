"""`wmcb version`."""

import os
import sys

from agent.cli.arguments import Request
from agent.cli.failure import DONE
from agent.cli.options import LICENSES
from agent.cli.streams import document, say
from agent.release import RELEASE, build, licenses

FROM_SOURCE = """\
This is wmcb from source (Apache-2.0, its LICENSE), which carries no parts of others:
Python and each package that it imports have their licences where they are installed."""


def show(request: Request) -> int:
    if request.has(LICENSES) and not request.wants_json:
        say(licenses() or FROM_SOURCE)
        return DONE
    built = build()
    facts = {
        "release": RELEASE,
        "commit": built.commit,
        "python": sys.version.split(maxsplit=1)[0],
        "openssl": built.openssl,
        "platform": _platform(),
    }
    if request.wants_json:
        say(document(**facts, **({"licenses": licenses()} if request.has(LICENSES) else {})))
    else:
        commit = f"commit {built.commit}" if built.commit else "from source"
        say(f"wmcb {RELEASE} ({commit})\nPython {facts['python']}, {facts['openssl']}\n{facts['platform']}")
    return DONE


def _platform() -> str:
    if sys.platform == "win32":
        version = sys.getwindowsversion()
        return f"Windows {version.major}.{version.minor}.{version.build} amd64"
    else:  # noqa: RET505 - or the type checker finds it unreachable on Windows
        system = os.uname()
        return f"{system.sysname} {system.release} {system.machine}"
