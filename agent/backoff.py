"""Growing pauses between attempts at the same thing."""


class Backoff:
    """Each pause is twice as long as the one before, up to the longest."""

    def __init__(self, first: float, longest: float) -> None:
        """Both in seconds."""
        self._first = first
        self._longest = longest
        self.pause = first
        """Before the next attempt."""

    def next(self) -> float:
        """Return the pause before the next attempt; the one after that is longer."""
        pause, self.pause = self.pause, min(2 * self.pause, self._longest)
        return pause

    def reset(self) -> None:
        """An attempt has succeeded, or is about something else than those before."""
        self.pause = self._first
