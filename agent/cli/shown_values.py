"""Values of a resource's fields as a person sees them, and none that is a secret.

Who may do what with a file is told in words: few can read a security descriptor as Windows writes it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

from agent.engine.planning import Difference
from agent.engine.target import Target
from agent.host import sddl
from agent.host.commandline import quote
from agent.host.sddl import AceFlags, AceKind, BadSddl, SecurityDescriptor, specific
from agent.redaction import redacted, redacted_words
from agent.resources.kind import Value, field_in_words, veiled
from agent.sources.kubelet import flags

_DESCRIPTOR = "descriptor"
_OPEN = "open_to_users"
_RIGHTS = (_DESCRIPTOR, _OPEN)
_LABELS = {
    _DESCRIPTOR: "who may do what",
    _OPEN: "who may do what",
    "exposed": "what in it users could change",
    "open": "what in it users could read or change",
    "new_files": "what the kubelet writes there",
    "makes": "what it writes when it is admitted",
}
_NAMES = {
    sddl.SYSTEM: "SYSTEM",
    sddl.ADMINISTRATORS: "administrators",
    sddl.USERS: "users",
    sddl.AUTHENTICATED_USERS: "whoever has logged on",
    sddl.INTERACTIVE: "whoever sits at it",
    sddl.EVERYONE: "everybody",
    sddl.CREATOR_OWNER: "whoever makes something in it",
    "LA": "the account Administrator",
}
_USUAL_OWNERS = (sddl.SYSTEM, sddl.ADMINISTRATORS)
_DEEDS = {
    "read": 0x0001,
    "run": 0x0020,
    "write": 0x0002 | 0x0004,
    "delete": sddl.DELETE | sddl.FILE_DELETE_CHILD,
    "say who may": sddl.WRITE_DAC | sddl.WRITE_OWNER,
}
"""By any of the bits. For a folder the same bits list, pass through, and add."""


def lines(
    target: Target, differences: Iterable[Difference], *, is_there: bool, details: bool
) -> Iterator[str]:
    """`details` shows a security descriptor as Windows writes it."""
    for each in differences:
        label = field_in_words(each.field)
        label = label if details else _LABELS.get(each.field, label)
        if each.field in _RIGHTS and not details:
            yield f"{label}: {_rights(each)}"
        elif each.found is None and is_there:
            yield f"{label}: {target.kind.lacking(each.field, each.wanted, target.manner)}"
        elif each.found is None:
            yield f"{label}: {shown(target, each.field, each.wanted)}"
        elif (
            _are_words(each.found)
            and _are_words(each.wanted)
            and sorted(each.found) != sorted(each.wanted)
            and not target.manner.get("secret")
        ):
            yield f"{label}:"
            quoted = quote if each.field == "command" else str
            yield from (f"  {line}" for line in _other_words(each.found, each.wanted, quoted))
        else:
            yield f"{label}: {' -> '.join(both_shown(target, each))}"


def shown(target: Target, field: str, value: Value) -> str:
    """In one line, for people and programs."""
    without = _without_secrets(value) if _are_words(value) else value
    return target.kind.shown(field, without, target.manner)


def both_shown(target: Target, difference: Difference) -> tuple[str, str]:
    """Return the value that was found and the wanted one, with marks where a hidden part alone differs."""
    field, found, wanted = difference.field, difference.found, difference.wanted
    before, after = shown(target, field, found), shown(target, field, wanted)
    is_hidden = redacted(before) != before or (_are_words(found) and _without_secrets(found) != list(found))
    if is_hidden and redacted(before) == redacted(after):
        return f"{before} {veiled(found)}", f"{after} {veiled(wanted)}"
    return before, after


def _rights(difference: Difference) -> str:
    if difference.field == _OPEN:
        before = f"{in_words(str(difference.found))} -> " if difference.found else ""
        return f"{before}none but SYSTEM and administrators may change it"
    wanted = in_words(str(difference.wanted))
    if difference.found is None:
        return wanted
    found = in_words(str(difference.found))
    if found == wanted:
        return f"{wanted}, but set otherwise ({difference.found} -> {difference.wanted})"
    return f"{found} -> {wanted}"


def _other_words(found: Sequence[str], wanted: Sequence[str], quoted: Callable[[str], str]) -> Iterator[str]:
    """Of a command line with fifty flags the one that differs."""
    before, after = (Counter(zip(words, _without_secrets(words), strict=True)) for words in (found, wanted))
    gone, new = before - after, after - before
    alike = {hidden for _, hidden in gone} & {hidden for _, hidden in new}
    for sign, words in (("-", gone), ("+", new)):
        for word, hidden in words.elements():
            yield f"{sign} {quoted(hidden)}" + (f" {veiled(word)}" if hidden in alike else "")


def _are_words(value: Value) -> TypeGuard[Sequence[str]]:
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def _without_secrets(words: Sequence[str]) -> list[str]:
    """Return a command line, the values of flags that are called a token, a password or a key veiled."""
    known = []
    is_secret = False
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            is_secret = flags.is_secret(name[2:])
            known.append(f"{name}={veiled(value)}" if is_secret and equals else word)
            is_secret = is_secret and not equals
        else:
            known.append(veiled(word) if is_secret else word)
            is_secret = False
    return list(redacted_words(known, veiled))


def in_words(text: str) -> str:
    """Of the object itself, without what it hands down. Not all that is different shows in it."""
    try:
        descriptor = SecurityDescriptor.parse(text)
    except BadSddl:
        return text
    owner = descriptor.owner
    told = [] if owner in _USUAL_OWNERS or owner is None else [f"owned by {_NAMES.get(owner, owner)}"]
    return "; ".join([*told, *_clauses(descriptor)])


def _clauses(descriptor: SecurityDescriptor) -> Iterator[str]:
    if descriptor.aces is None:
        yield "everybody: everything"
        return
    said = False
    for kind, form in ((AceKind.ALLOW, "{}: {}"), (AceKind.DENY, "{}: never {}")):
        whom: dict[str, list[str]] = {}
        for sid, mask in _masks(descriptor, kind).items():
            whom.setdefault(_deeds(mask), []).append(_NAMES.get(sid, sid))
        for deeds, names in whom.items():
            said = True
            yield form.format(_listed(names), deeds)
    if any(ace.kind is AceKind.OTHER for ace in descriptor.aces):
        yield "and conditions"
    elif not said:
        yield "nobody: anything"


def _masks(descriptor: SecurityDescriptor, kind: AceKind) -> Mapping[str, int]:
    masks: dict[str, int] = {}
    for ace in descriptor.aces or ():
        if ace.kind is kind and not ace.flags & AceFlags.INHERIT_ONLY:
            masks[ace.sid] = masks.get(ace.sid, 0) | specific(ace.mask)
    return masks


def _deeds(mask: int) -> str:
    if mask & sddl.FILE_ALL == sddl.FILE_ALL:
        return "everything"
    return _listed([deed for deed, bits in _DEEDS.items() if mask & bits]) or "next to nothing"


def _listed(words: list[str]) -> str:
    *most, last = words or [""]
    return f"{', '.join(most)} and {last}" if most else last
