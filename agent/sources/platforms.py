"""What a node has to be called on each platform, so that the platform's own controller finds its machine.

Where a controller goes by the name that the machine has anyway, nothing is asked. Elsewhere the platform
has a metadata service, at an address that only its machines reach; a function of the caller's asks it.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from agent.sources.report import quoted

Headers = tuple[tuple[str, str], ...]

_SERVICE = "http://169.254.169.254"
_AWS_TOKEN = f"{_SERVICE}/latest/api/token"
_AWS_DATA = f"{_SERVICE}/latest/meta-data"
_AWS_TOKEN_FOR: tuple[tuple[str, str], ...] = (("X-aws-ec2-metadata-token-ttl-seconds", "300"),)
_GCP_NAME = f"{_SERVICE}/computeMetadata/v1/instance/hostname"
_GCP_ASKS = (("Metadata-Flavor", "Google"),)
_LONGEST_ON_GCP = 63

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_LONGEST_NAME = 253
_PROVIDER_ID_PART = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Ask(Protocol):
    def __call__(self, url: str, headers: Headers, method: str) -> bytes:
        """The body of the answer. What it raises for none is its own, and goes through."""


class UnknownPlatform(ValueError):
    """The text names those that are known."""


class BadAnswer(Exception):
    """What a metadata service answered is not what was asked for. The text says so."""


@dataclass(frozen=True, slots=True)
class Identity:
    name: str = ""
    """Empty for the machine's own."""
    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    host_name: str
    domain: str = ""
    """Its primary DNS suffix, if it has one."""


def identity(platform: str, machine: Machine, ask: Ask) -> Identity:
    """Of a platform as OpenShift calls it, in any case. Raises UnknownPlatform, BadAnswer."""
    wanted = platform.strip().lower()
    if wanted in _OWN_NAME:
        return Identity()
    if wanted not in _RULES:
        known = sorted({*_RULES, *_OWN_NAME} - {""})
        close = difflib.get_close_matches(wanted[:40], known, 1)
        advice = f"maybe {close[0]} is meant" if close else f"use one of {', '.join(known)}"
        raise UnknownPlatform(f"{quoted(platform)} is no platform that is known; {advice}")
    return _RULES[wanted](machine, ask)


def _aws(machine: Machine, ask: Ask) -> Identity:  # noqa: ARG001 - its own name is another
    """By a session, as version 2 of the service wants it: instances may refuse all else."""
    token = _text(ask(_AWS_TOKEN, _AWS_TOKEN_FOR, "PUT"), "a token")
    session = (("X-aws-ec2-metadata-token", token),)

    def known(what: str) -> str:
        return _text(ask(f"{_AWS_DATA}/{what}", session, "GET"), what)

    # With several domains in its DHCP options, an instance has a name in each; the first is the one.
    name = _name(known("local-hostname").split()[0])
    zone, instance = (_part(known(what)) for what in ("placement/availability-zone", "instance-id"))
    return Identity(name, f"aws:///{zone}/{instance}")


def _gcp(machine: Machine, ask: Ask) -> Identity:  # noqa: ARG001 - Windows cuts its own name to 15 characters
    name = _text(ask(_GCP_NAME, _GCP_ASKS, "GET"), "instance/hostname")
    if len(name) > _LONGEST_ON_GCP:
        # As on Linux workers: what does not fit a label of the node loses its domain first.
        name = name.partition(".")[0][:_LONGEST_ON_GCP]
    return Identity(_name(name))


def _vsphere(machine: Machine, ask: Ask) -> Identity:  # noqa: ARG001 - there is no such service
    """With its domain: the controller finds the machine by the name that VMware's tools report."""
    return Identity(_name(f"{machine.host_name}.{machine.domain}")) if machine.domain else Identity()


_RULES: Mapping[str, Callable[[Machine, Ask], Identity]] = {"aws": _aws, "gcp": _gcp, "vsphere": _vsphere}
_OWN_NAME = frozenset({
    "", "alibabacloud", "azure", "baremetal", "equinixmetal", "external", "ibmcloud", "kubevirt", "libvirt",
    "none", "nutanix", "openstack", "ovirt", "powervs",
})  # fmt: skip


def _text(answer: bytes, what: str) -> str:
    try:
        text = answer.decode("ascii").strip()
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isprintable() or len(text) > 1000:
        raise BadAnswer(f"the metadata service's answer to {what} is no text of one line")
    return text


def _name(text: str) -> str:
    name = text.lower()
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise BadAnswer(f"{quoted(text)} cannot be the name of a node")
    return name


def _part(text: str) -> str:
    if not _PROVIDER_ID_PART.fullmatch(text):
        raise BadAnswer(f"{quoted(text)} cannot be part of a machine's id")
    return text
