"""How somebody asked for a node, to be told when it is to be asked for once more. No secret is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli import join_options, options
from agent.cli.arguments import COMMON, OUTPUT

if TYPE_CHECKING:
    from agent.cli.arguments import Request

_OF_ONE_RUN = {each.name for each in (*COMMON, OUTPUT, options.IGNORE, join_options.KUBEADM_VERBOSITY)}
_SECRET = {
    each.name
    for each in (
        join_options.TOKEN,
        join_options.DISCOVERY_TOKEN,
        join_options.BOOTSTRAP_TOKEN,
        join_options.CERTIFICATE_KEY,
    )
}


def command_line(request: Request) -> str:
    """Under wmcb's own name, whatever it was called by. A URL may carry a password."""
    words = ["wmcb", *request.words]
    for name, value in request.values.items():
        if name not in _OF_ONE_RUN:
            is_secret = name in _SECRET or "@" in value
            words += [name, "***" if is_secret else value] if value else [name]
    return " ".join(f'"{word}"' if " " in word else word for word in words)
