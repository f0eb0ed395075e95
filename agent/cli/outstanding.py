"""What user data has still to do on a machine: the title of what it made there tells."""

THE_JOIN = ", of which the join is outstanding"
THE_REST = ", of which what comes last is outstanding"
"""How that title ends until all has been carried out."""


def outstanding(title: str) -> str | None:
    """Of all that this title stands for: "join", or "rest" for what comes last."""
    if title.endswith(THE_JOIN):
        return "join"
    return "rest" if title.endswith(THE_REST) else None
