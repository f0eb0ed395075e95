"""Which kind of document somebody gave, by how it begins: one option's is easily given to another."""

import re

from agent.cli import options
from agent.cli.arguments import Option
from agent.cli.given import GivenFile
from agent.host.port import Host

_LOOKED_AT = 1 << 16
_USER_DATA = re.compile(
    rb"#cloud-|##\s*template:|#ps1|#!|#include\b|#part-handler|<powershell>|<script>|rem\s+cmd\s|"
    # A message's headers, one of which is MIME's.
    rb"(?:[!-9;-~]+:.*\n|[ \t].*\n|From .*\n)*?(?:content-type|mime-version)[ \t]*:",
    re.I,
)
"""What may hold other documents is known before these are looked for."""
_SIGNS_IN_JSON = {
    options.IGNITION: re.compile(rb'"ignition"\s*:'),
    options.KUBEADM_CONFIG: re.compile(rb'"kind"\s*:\s*"JoinConfiguration"'),
    options.NODE_CONFIG: re.compile(rb'"kind"\s*:\s*"NodeConfiguration"'),
}
_KIND = rb"""^["']?kind["']?[ \t]*:[ \t]*["']?"""
_SIGNS = {
    options.KUBEADM_CONFIG: re.compile(_KIND + rb"JoinConfiguration\b", re.MULTILINE),
    options.NODE_CONFIG: re.compile(_KIND + rb"NodeConfiguration\b", re.MULTILINE),
}
_OF_A_CLUSTER = re.compile(
    rb"""^["']?kind["']?[ \t]*:[ \t]*["']?(Secret|ConfigMap)\b|"kind"\s*:\s*"(Secret|ConfigMap)\"""",
    re.MULTILINE,
)
_IN_BASE64 = re.compile(rb"[A-Za-z0-9+/\r\n]{40,}+={0,2}\s*")
_PROGRAM = b"MZ"
_CALLED = {
    options.IGNITION: "an Ignition",
    options.KUBEADM_CONFIG: "a JoinConfiguration",
    options.USER_DATA: "cloud-init user data",
    options.NODE_CONFIG: "a NodeConfiguration",
}


def refuse_another_kind(file: GivenFile, wanted: Option, host: Host) -> None:
    """Raises BadInput where it is plainly one that another option takes."""
    found = _kind(file.head(_LOOKED_AT).removeprefix(b"\xef\xbb\xbf").lstrip())
    # User data may be an Ignition: Cluster API writes it in that format, too.
    is_meant = found is wanted or (found is options.IGNITION and wanted is options.USER_DATA)
    if found is None:
        _refuse_what_none_takes(file, wanted)
    if found is None or is_meant:
        return
    command = f"{host.called} prepare" if found is options.NODE_CONFIG else host.called
    raise file.objection(f"it is {_CALLED[found]}; {command} {found.name} {found.placeholder} takes that")


def _refuse_what_none_takes(file: GivenFile, wanted: Option) -> None:
    """What a document was to be taken out of, and a file that was mixed up with it."""
    head = file.head(_LOOKED_AT)
    if head.startswith(_PROGRAM):
        raise file.objection(f"it is a Windows program; {_CALLED[wanted]} is expected")
    if found := _OF_A_CLUSTER.search(head):
        kind = (found[1] or found[2]).decode()
        base64 = ", in base64" if kind == "Secret" else ""
        raise file.objection(
            f"it is a {kind} of a cluster; {_CALLED[wanted]} is expected, "
            f"which may be a value of its data{base64}: write that alone into a file"
        )
    # User data may come so: clouds take it in that form.
    if wanted is not options.USER_DATA and _IN_BASE64.fullmatch(head):
        raise file.objection("it is base64; decode it first")


def _kind(beginning: bytes) -> Option | None:
    is_json = beginning.startswith(b"{")
    if not is_json and _USER_DATA.match(beginning):
        return options.USER_DATA
    signs = _SIGNS_IN_JSON if is_json else _SIGNS
    return next((option for option, sign in signs.items() if sign.search(beginning)), None)
