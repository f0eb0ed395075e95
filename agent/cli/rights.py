"""Who may do what with a file, in words: few can read a security descriptor as Windows writes it."""

from collections.abc import Iterator, Mapping

from agent.host import sddl
from agent.host.sddl import AceFlags, AceKind, BadSddl, SecurityDescriptor, specific

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
