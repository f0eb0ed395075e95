"""Which names a node can have, and titles that say of which document or cluster a machine is a node."""

import re

from agent.sources.report import quoted

LONGEST_LABEL = 63
_LONGEST_NAME = 253
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)


def canonical(name: str) -> str:
    """As the kubelet takes a name that it is given."""
    # Letter by letter, since some have more than one in lower case.
    return "".join(letter.lower()[0] for letter in name.strip(_BLANKS))


def fault(name: str) -> str | None:
    """Why no node can be called so."""
    if not name:
        return "a node has to have a name"
    if len(name) > _LONGEST_NAME:
        return f"it is longer than {_LONGEST_NAME} characters"
    if not _NAME.fullmatch(name):
        return (
            f"{quoted(name)} cannot be the name of a node: only a to z, digits, hyphens and dots, and each "
            "part of it begins and ends with a letter or digit"
        )
    if len(name) > LONGEST_LABEL:
        return (
            f"it is longer than {LONGEST_LABEL} characters: the kubelet labels its node with its name, "
            "and no label is longer"
        )
    return None


USER_DATA = "user data"
"""The title of what user data made begins with this."""
THE_JOIN = ", of which the join is outstanding"
THE_REST = ", of which what comes last is outstanding"
"""How that title ends until all has been carried out."""


def title_of_node(name: str, server: str) -> str:
    """Return the title of a node that joins a cluster."""
    return f"node {name} of the cluster at {server}"


def name_in_title(title: str) -> str:
    """Return the name of the node that has this title; empty where it did not join a cluster."""
    found = re.fullmatch(title_of_node(r"([a-z0-9.-]+)", r"\S+"), title)
    return found[1] if found else ""


def outstanding(title: str) -> str | None:
    """Of all that this title stands for: "join", or "rest" for what comes last."""
    if title.endswith(THE_JOIN):
        return "join"
    return "rest" if title.endswith(THE_REST) else None
