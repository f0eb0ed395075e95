"""Certificates that Windows believes beside its own."""

from collections.abc import Iterator

from agent.documents import Value
from agent.sources.forms import Checking, ListOf, Text, texts
from agent.sources.node_configuration.kinds.kind import Kind, Wanted
from agent.sources.report import Place
from agent.sources.trusted_certificates import trusted

_PEM = "PEM, as in a block of text that begins with -----BEGIN CERTIFICATE-----,"


_BUNDLES = ListOf(
    Text("One, or several.", _PEM, pattern=r"[\s\S]*-----BEGIN CERTIFICATE-----[\s\S]*"),
    "Certificates of authorities, put into Windows' store of roots for the whole machine. A security"
    " decision: all its programs believe whom they vouch for.",
    most=500,
)


def _certificates(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
    """Of a list of texts, each with a certificate or several."""
    for number, text in enumerate(texts(value)):
        here = (*place, number)
        try:
            for certificate in trusted(text):
                yield certificate, here
        except ValueError as fault:
            checking.wrong(here, str(fault))


KIND = Kind(_BUNDLES, _certificates)
