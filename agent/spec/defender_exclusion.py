"""What Microsoft Defender does not look at."""

from dataclasses import dataclass

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class DefenderExclusion(Want):
    """Never wanted but where a document says so: whoever can write there is not watched."""

    kind = "defender_exclusion"

    what: str
    """path, and all below it; or process, and all files that it opens."""
    path: str

    @property
    def key(self) -> Key:
        return Key(self.kind, f"{self.what} {self.path}")

    @property
    def remark(self) -> str:
        seen = "what lies there" if self.what == "path" else "any file that this program opens"
        return f"a security decision: Microsoft Defender does not look at {seen}, whoever has put it there"
