"""kubeadm-flags.env, read again: what a kubelet was given when it joined, and what people have added."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.sources.kubeadm.kubelet_arguments import VARIABLE
from agent.sources.kubeadm.model import Argument
from agent.sources.systemd import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


def arguments_in(path: str, contents: bytes) -> tuple[Argument, ...]:
    """As the log runner reads them: a backslash is one, and quotes hold a word together."""
    variables, _ = environment.read_file(path, contents)
    values = [variable.value for variable in variables if variable.name == VARIABLE]
    return tuple(_arguments(values[-1])) if values else ()


def _arguments(value: str) -> Iterator[Argument]:
    for word in _WORD.findall(value):
        plain = _QUOTED.sub(lambda found: found[1] or found[2] or "", word)
        name, _, given = plain.lstrip("-").partition("=")
        yield Argument(name, given)
