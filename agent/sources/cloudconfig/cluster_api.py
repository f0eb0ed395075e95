"""What Cluster API's kubeadm provider writes into user data, in all its releases since 1.0.

The join is the program's own work: what stands before it and after it are commands of the user.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.secret_fields import registers_secrets
from agent.sources.cloudconfig.model import Findings, Join, Refused, WrittenFile
from agent.sources.cloudconfig.scripts import Line
from agent.sources.cloudconfig.written_files import windows_path
from agent.sources.report import Origin
from agent.sources.windows_paths import NotOnWindows
from agent.spec import Inline, Protection

JOIN_CONFIGURATION = "/run/kubeadm/kubeadm-join-config.yaml"
RETRY_SCRIPT = "/usr/local/bin/kubeadm-bootstrap-script"
"""Until release 1.10, where useExperimentalRetryJoin was set: kubeadm's phases in bash, each tried again."""

_TOKEN = re.compile(
    r"\s*(?:(?P<operator>&&|\|\||[0-9]?>>?(?:&[0-9])?|<|[&|;])|(?P<word>(?:\"[^\"]*\"|'[^']*'|[^\s&|<>;\"'])+))"
)
_ECHO = re.compile(r"\s*echo\s+success\s*>\s*\"?(?P<path>[^\s\"]+)\"?\s*", re.IGNORECASE)
_SENTINEL_NAME = "bootstrap-success.complete"
_VERBOSITY = re.compile(r"(?<!\S)--config=\S+[ \t]+--v[ =]([0-9]{1,2})\b")
_LONGEST_SCRIPT = 1 << 14
_MENTIONED = re.compile(r"\bkubeadm(\.exe)?\"?\s+join\b", re.IGNORECASE)
_CONTROL_PLANE = re.compile(
    r"^\"?controlPlane\"?[ \t]*:(?![ \t]*+(?:null|~)?[ \t]*(?:#.*)?(?:\n(?![ \t])|\Z))", re.MULTILINE
)
_ONLY_WORKERS = "a Windows machine can only be a worker; this user data is for one of the control plane"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Split:
    before: tuple[Line, ...] = field(repr=False)
    join: Join | None
    after: tuple[Line, ...] = field(repr=False)
    entries_before: int = 0
    """How many entries there are before the one with the join."""
    retried: bool = False
    """It is called by the provider's own script."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class _Call:
    """A line that calls kubeadm join, taken apart."""

    arguments: tuple[str, ...] = field(repr=False)
    rest: str = field(repr=False)
    """What is to be done when it has joined."""
    retried: bool


def split(listed: Sequence[Line], findings: Findings) -> Split:
    """Raises Refused."""
    single = [part for line in listed for part in _single_lines(line)]
    calls = [(index, call) for index, line in enumerate(single) if (call := _call(line, findings))]
    if not calls:
        return Split(tuple(listed), None, ())
    if len(calls) > 1:
        raise Refused(
            single[calls[1][0]].origin, "kubeadm join is called a second time here; a machine joins once"
        )
    index, call = calls[0]
    before, origin = single[:index], single[index].origin
    _refuse_blocks(before, origin)
    path, rest = _sentinel(call.rest)
    after = [*([Line(rest, origin)] if rest.strip() else []), *single[index + 1 :]]
    entries_before = next(index for index, line in enumerate(listed) if line.origin == origin)
    return Split(tuple(before), _join(call, path, origin), tuple(after), entries_before, call.retried)


def refuse_control_plane(configuration: bytes, origin: Origin) -> None:
    """Raises Refused. Whatever else may be wrong with a JoinConfiguration, kubeadm's own source finds it."""
    if _CONTROL_PLANE.search(configuration.decode(errors="replace")):
        raise Refused(origin, _ONLY_WORKERS)


def sentinel(join: Join | None) -> list[WrittenFile]:
    """As `echo success` would leave it."""
    if join is None or join.sentinel is None:
        return []
    return [WrittenFile(join.sentinel, Inline(b"success\r\n"), Protection.PROGRAM)]


def is_retry_script(path: str, content: bytes) -> bool:
    return path == RETRY_SCRIPT and b"kubeadm join" in content


def with_verbosity_of(join: Join, script: bytes) -> Join:
    """What the retry script passes on to kubeadm."""
    found = _VERBOSITY.search(script[:_LONGEST_SCRIPT].decode(errors="replace"))
    more = ("--v", found[1]) if found else ()
    return Join((*join.arguments, *more), join.configuration, join.sentinel)


def _join(call: _Call, sentinel: str | None, origin: Origin) -> Join:
    try:
        given = _configuration(call.arguments)
        configuration = windows_path(given) if given else None
        path = windows_path(sentinel) if sentinel else None
    except NotOnWindows as fault:
        raise Refused(
            origin, f"a path in this call of kubeadm join is none on Windows: {fault.unquoted}"
        ) from None
    return Join(call.arguments, configuration, path)


def _configuration(arguments: Sequence[str]) -> str | None:
    for index, word in enumerate(arguments):
        if word == "--config" and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith("--config="):
            return word.partition("=")[2]
    return None


def _single_lines(line: Line) -> list[Line]:
    """An entry of several lines, in which one may be the join."""
    texts = line.text.rstrip("\n").split("\n")
    if len(texts) == 1 or not any(map(_words_of_join, texts)):
        return [line]
    return [Line(text, line.origin) for text in texts]


def _words_of_join(text: str) -> bool:
    words = _words(text)
    return words is not None and (_is_kubeadm(words[0]) and words[1:2] == ["join"])


def _words(text: str) -> list[str] | None:
    """The first two; None where there are none."""
    found = [_unquoted(word) for word in re.findall(r"\"[^\"]*\"|'[^']*'|\S+", text.lstrip()[:4096])[:2]]
    return found or None


def _unquoted(word: str) -> str:
    return word.replace('"', "").replace("'", "")


def _is_kubeadm(word: str) -> bool:
    return re.split(r"[\\/]", word.lstrip("@"))[-1].lower() in ("kubeadm", "kubeadm.exe")


def _call(line: Line, findings: Findings) -> _Call | None:
    words = _words(line.text)
    if words is None:
        return None
    if _is_kubeadm(words[0]) and words[1:2] == ["init"]:
        raise Refused(line.origin, _ONLY_WORKERS)
    retried = words[0] == RETRY_SCRIPT
    if not retried and not (_is_kubeadm(words[0]) and words[1:2] == ["join"]):
        warn_of_hidden(line.text, f"runcmd, {line.origin}", findings)
        return None
    call = _taken_apart(line, 1 if retried else 2, retried, findings)
    if call.arguments[:1] == ("phase",):
        warn_of_hidden(line.text, f"runcmd, {line.origin}", findings)
        return None
    return call


def warn_of_hidden(text: str, subject: str, findings: Findings) -> None:
    """A join that this program cannot see: kubeadm would be called while it is at work itself."""
    if _MENTIONED.search(text):
        why = "kubeadm join is called within it, which is not taken apart; let it begin an entry of runcmd"
        findings.warn(subject, why)


def _taken_apart(line: Line, skipped: int, retried: bool, findings: Findings) -> _Call:
    words: list[str] = []
    at = 0
    text = line.text.strip().rstrip(";")
    while at < len(text) and (found := _TOKEN.match(text, at)):
        operator = found["operator"]
        if operator is None:
            words.append(_unquoted(found["word"]))
            at = found.end()
        elif operator.lstrip("0123456789").startswith((">", "<")):
            at = _after_redirection(text, found.end(), line, findings)
        else:
            rest = text[found.end() :]
            return _call_of(words, skipped, retried, _rest(operator, rest, line, findings))
    if at < len(text):
        raise Refused(
            line.origin, "this call of kubeadm join cannot be taken apart: a quote in it never ends"
        )
    return _call_of(words, skipped, retried, "")


def _call_of(words: Sequence[str], skipped: int, retried: bool, rest: str) -> _Call:
    arguments = ("--config", JOIN_CONFIGURATION) if retried else tuple(words[skipped:])
    return _Call(arguments, rest, retried)


def _after_redirection(text: str, at: int, line: Line, findings: Findings) -> int:
    findings.ignore(
        f"runcmd, {line.origin}", "where the output of kubeadm join goes: it is in this program's own log"
    )
    target = _TOKEN.match(text, at)
    # 2>&1 has its target in itself.
    return target.end() if target and target["word"] and not text.endswith(("&1", "&2"), 0, at) else at


def _rest(operator: str, rest: str, line: Line, findings: Findings) -> str:
    if operator in ("&&", "&", ";"):
        return rest
    why = "what is to be done when kubeadm join fails: then nothing is left of it, and the run fails"
    if operator == "|":
        why = "where the output of kubeadm join goes: it is in this program's own log"
    findings.ignore(f"runcmd, {line.origin}", why)
    return ""


def _sentinel(rest: str) -> tuple[str | None, str]:
    """The file that the call writes at its end, and what is left to be done."""
    first, operator, more = rest.partition("&&")
    found = _ECHO.fullmatch(first)
    if found is None or not found["path"].endswith(_SENTINEL_NAME):
        return None, rest
    return found["path"], more if operator else ""


def _refuse_blocks(before: Sequence[Line], origin: Origin) -> None:
    text = "\n".join(line.text for line in before if line.origin == origin)
    if text.rstrip().endswith("^") or text.count("(") > text.count(")"):
        raise Refused(origin, "kubeadm join stands within another command; let it begin an entry of its own")
