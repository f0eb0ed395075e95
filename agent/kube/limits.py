"""How long an API server is waited for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds, but for the last four."""

    patience: float = 60.0
    """For all attempts at a request together; 0 to ask once."""
    attempt: float = 30.0
    """For one of them, from looking up the name until the last byte."""
    answer: float = 10.0
    """From a request until its answer begins; then it is asked again."""
    change: float = 35.0
    """The same for one that changes something. The API server first asks webhooks, for up to 30 seconds each,
    and does without one that is dead and may be ignored: whoever gives up before never gets it done."""
    silence: float = 10.0
    """Without a byte, once the answer has begun."""
    size: int = 64 << 20
    """Bytes of an answer."""
    line: int = 16 << 20
    """Bytes of an event. The API server stores no object larger than 1.5 MiB, in a shorter form than JSON."""
    pages: int = 1_000
    """Of a list: a server may always say that there is another one."""
    objects: int = 100_000
    """Of all pages together."""

    def answer_to(self, method: str) -> float:
        return self.answer if method == "GET" else self.change

    def attempt_at(self, method: str) -> float:
        """Once there is a connection."""
        return self.attempt - self.answer + self.answer_to(method)
