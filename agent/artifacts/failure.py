"""Why an artifact cannot be had."""


class Unusable(Exception):
    """It came, and is not what it is to be, or it does not come. One line for a person."""


def too_many(most: int) -> Unusable:
    """Return the refusal of an archive that has more members than `most`."""
    return Unusable(f"it has more than {most:,} members")
