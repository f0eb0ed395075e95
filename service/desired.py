"""What a ConfigMap wants of one node, and whether it may: it is read, and proven, before anything is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.hashing import new_sha256
from agent.kube.answers import Object, at, text_at, texts_at
from agent.sources.node_configuration.compiling import chosen, maintenance
from agent.sources.node_configuration.model import NodeConfiguration
from agent.sources.node_configuration.reading import DATA_KEY, Outcome, read, read_data
from agent.sources.signatures import Binding, bound, public_key, signing_command, verified
from agent.sources.signatures import Refused as NotSigned
from agent.spec import HostName
from service.arguments import Followed
from service.errors import Refused, told
from service.standing import Standing

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Desired:
    content: str
    """A hash of all that the ConfigMap holds."""
    version: str
    documents: tuple[NodeConfiguration, ...]
    """Those that are for this node."""
    digest: str
    """Of what they want of it."""
    binding: Binding | None = None
    """None where it need not be signed."""
    signed_by: str = ""

    @property
    def hashes(self) -> tuple[str, ...]:
        return tuple(sorted(document.digest for document in self.documents))

    def only(self, documents: tuple[NodeConfiguration, ...]) -> Desired:
        """These of its documents."""
        return replace(self, documents=documents, digest=_digest(documents))

    @property
    def with_program(self) -> NodeConfiguration | None:
        """The document that says which wmcb.exe is to keep the node; None where none does."""
        return next((document for document in self.documents if document.program), None)

    @property
    def pause(self) -> str | None:
        """The reason that one of the documents gives for a pause; None for no pause."""
        wanted = maintenance(self.documents)
        return wanted.reason if wanted.paused else None


def content_of(config_map: Object) -> str:
    """A hash of all that it holds."""
    held = {name: at(config_map, name) for name in ("data", "binaryData")}
    return new_sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()


def desired(
    followed: Followed, config_map: Object, node: str, labels: Labels, pins: frozenset[str]
) -> Desired:
    """Of the node of that name, in the cluster whose authorities have these pins. Raises Refused; whether it
    is the time for it is left to the caller.
    """
    data = texts_at(config_map, "data")
    binding, signed_by = None, ""
    if followed.key:
        if not pins:
            raise Refused(
                f"{followed}: a signature is for a cluster by its authority, and the kubelet's kubeconfig "
                "names none: put certificate-authority-data there"
            )
        key = public_key(followed.key)
        try:
            signed = verified(data, DATA_KEY, key)
            binding = bound(signed.comment, followed.place, pins)
        except NotSigned as fault:
            command = signing_command(DATA_KEY, followed.place, pins)
            raise Refused(f"{followed}: {fault}; sign it by: {command}") from fault
        signed_by = str(key)
        outcome = read(f"{followed}, key {DATA_KEY}", signed.contents)
    else:
        outcome = read_data(str(followed), data)
    documents = chosen(_usable(outcome), node, labels)
    _check_programs(documents)
    return Desired(
        content_of(config_map),
        text_at(config_map, "metadata", "resourceVersion"),
        documents,
        _digest(documents),
        binding,
        signed_by,
    )


def check_time(followed: Followed, found: Desired, last: Standing, now: float) -> None:
    """Raises Refused for what is signed, and expired, or was signed before what `last` is about."""
    if found.binding is None:
        return
    try:
        found.binding.check_time(now)
        if last.signed_at is not None and last.signed_by == found.signed_by:
            found.binding.check_order(last.signed_at)
    except NotSigned as fault:
        raise Refused(f"{followed}: {fault}") from fault


def _digest(documents: tuple[NodeConfiguration, ...]) -> str:
    hashes = sorted(document.digest for document in documents)
    return new_sha256(json.dumps(hashes).encode()).hexdigest()


def _usable(outcome: Outcome) -> tuple[NodeConfiguration, ...]:
    if outcome.report.fatal:
        raise Refused(told(outcome.report.errors))
    for document in outcome.documents:
        for item in document.items:
            if isinstance(item.wanted, HostName) and not document.nodes.names:
                raise Refused(told([item.origin.error("a name is one machine's; say in nodes.names whose")]))
    return outcome.documents


def _check_programs(documents: tuple[NodeConfiguration, ...]) -> None:
    programs = [document.program for document in documents if document.program]
    for other in programs[1:]:
        if other.sha256 != programs[0].sha256:
            there = programs[0].origin.error("").where
            text = f"another wmcb.exe is wanted of the same node by {there}; keep one of them"
            raise Refused(told([other.origin.error(text)]))
