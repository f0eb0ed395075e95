"""Titles of nodes: a title says of which document or cluster a machine is a node."""

import re

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
