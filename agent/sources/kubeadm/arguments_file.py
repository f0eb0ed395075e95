"""kubeadm-flags.env, read again: what a kubelet was given when it joined, and what people have added; and the
same words on a command line.
"""

import codecs
import re
from collections.abc import Iterable, Iterator

from agent.sources.kubeadm.model import Argument
from agent.sources.kubelet import flags
from agent.sources.systemd import environment

VARIABLE = "KUBELET_KUBEADM_ARGS"

_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_LAST = "THE_LAST_LINE"
_LAST_LINE = f"\n\n{_LAST}=\n".encode()
"""An open quote swallows it; the end of a line that goes on, only its first end of a line."""
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


class NoArguments(Exception):
    """Not even that there are none is said there."""


class OpenQuote(Exception):
    """A quote is never closed: with half a file of arguments no kubelet is started."""


def arguments_in(path: str, contents: bytes) -> tuple[Argument, ...]:
    """As the log runner reads them: a backslash is one, quotes hold a word together.

    Raises NoArguments and OpenQuote.
    """
    variables, _ = environment.read_file(path, contents.removeprefix(codecs.BOM_UTF8) + _LAST_LINE)
    known = {variable.name: variable.value for variable in variables}
    if known and _LAST not in known:
        raise OpenQuote
    if VARIABLE not in known:
        raise NoArguments
    if _WORD.sub("", known[VARIABLE]).strip():
        raise OpenQuote
    words = _WORD.findall(known[VARIABLE])
    return tuple(arguments_of(_QUOTED.sub(lambda found: found[1] or found[2] or "", word) for word in words))


def arguments_of(words: Iterable[str]) -> Iterator[Argument]:
    """Yield what a kubelet takes these words of its command line for: a value may stand after its name, and
    an underscore in a name is a hyphen.
    """
    left = [*words][::-1]
    while left:
        name, equals, given = left.pop().lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not equals:
            given = left.pop() if left and _takes_next(name, left[-1]) else "true"
        yield Argument(name, given)


def _takes_next(name: str, word: str) -> bool:
    known = flags.by_name().get(name)
    return known.kind is not flags.Kind.SWITCH if known else not word.startswith("-")
