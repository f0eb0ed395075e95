"""What to do about an API server that is not trusted, or that does not accept who asks."""

import re
from datetime import UTC, datetime

from agent.certificates import is_valid_at, load_pem, printable_name
from agent.fetch.deadline import Clock
from agent.fetch.failure import Doubt
from agent.kube.access import Access
from agent.kube.failure import NotTrusted, Unauthorized

_BOOTSTRAP_TOKEN = re.compile(r"([a-z0-9]{6})\.[a-z0-9]{16}")
NEW_TOKEN = "`kubeadm token create --print-join-command` on a control-plane node makes a new one"  # noqa: S105


def of_mistrust(fault: NotTrusted, access: Access, place: str) -> NotTrusted:
    if fault.doubt is not Doubt.AUTHORITY or not fault.signer or fault.place != place:
        return fault
    trusted = _subjects(access.authorities)
    known = f"{access.name} trusts {trusted} alone" if trusted else "this machine does not trust that one"
    if fault.signer in trusted:
        known = f"{access.name} trusts one of that name, with another key"
    why = (
        f"the certificate of {place} is signed by {fault.signer}; {known}: another machine may be answering "
        "at that address, or its certificates were made anew since"
    )
    return NotTrusted(why, fault.doubt, place, fault.signer)


def of_unauthorized(fault: Unauthorized, access: Access, place: str, clock: Clock) -> Unauthorized:
    text = f"{place} does not accept who asks (401): {_why(access, clock)}"
    return Unauthorized(text, fault.status, fault.reason)


def _why(access: Access, clock: Clock) -> str:
    if token := _BOOTSTRAP_TOKEN.fullmatch(access.token):
        return (
            f"it does not know the bootstrap token {token[1]}, or no longer, since tokens expire; {NEW_TOKEN}"
        )
    if access.token:
        return f"the token of {access.name} has expired, or is another cluster's"
    if access.user:
        return f"the user or the password of {access.name} is wrong"
    if not access.certificate:
        return f"it wants credentials, and {access.name} has none"
    own = access.own_certificate()
    now = datetime.fromtimestamp(clock.time(), UTC)
    if own is None or is_valid_at(own, now):
        return f"the client certificate of {access.name} was not signed by the cluster's authority"
    here = f"this machine's clock says {now:%Y-%m-%d %H:%M} UTC"
    if now < own.not_valid_before_utc:
        first = f"{own.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        return f"the client certificate of {access.name} is not valid before {first}; {here}: is that right?"
    last = f"{own.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    return (
        f"the client certificate of {access.name} expired at {last}; "
        f"{here}: if that is right, the node has to join again"
    )


def _subjects(pem: bytes) -> str:
    """Of the authorities in it, for people."""
    try:
        names = [printable_name(one.subject) for one in load_pem(pem)]
    except ValueError:
        return ""
    return " or ".join(dict.fromkeys(names))
