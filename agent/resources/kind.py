"""What the engine asks of every kind of resource.

A resource's state is a plain document: fields by name, fit for JSON. So the engine can compare, journal and
show the states of kinds that it knows nothing of.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from agent.host.errors import NotFound
from agent.host.port import Host

if TYPE_CHECKING:
    from agent.spec import Key, Want


Value = str | int | bool | None | Sequence["Value"] | Mapping[str, "Value"]
State = Mapping[str, Value]
W = TypeVar("W", bound="Want")

_KEY_OF_VEILS = os.urandom(32)

_USER_IN_URL = re.compile(r"://[^/@\s]+@")


def holds_secret(value: Value) -> bool:
    """A user's part in a URL is a password, more often than not."""
    return _USER_IN_URL.search(str(value)) is not None


def veiled(value: Value) -> str:
    """A secret, shown: two of them can be told apart, and no more."""
    import hmac  # noqa: PLC0415 - hmac, 3.9 MB with OpenSSL's hashes, and few runs show a secret

    # From a plain digest a short secret could be guessed.
    digest = hmac.new(_KEY_OF_VEILS, str(value).encode(), "sha256").hexdigest()
    return f"(hidden, {digest[:12]})"


_WORDS = {"sid_type": "SID type"}


def mapping_in(value: Value) -> Mapping[str, Value]:
    """Return a state's value that is a mapping; an empty one in place of all else."""
    return value if isinstance(value, dict) else {}


def without_none(fields: State) -> State:
    """Return the fields that have a value: what is not asked for is in no state."""
    return {name: value for name, value in fields.items() if value is not None}


def field_in_words(field: str) -> str:
    """A field of a state, for a person; programs are told the field itself."""
    return _WORDS.get(field) or field.replace("_", " ")


class CannotBeSo(Exception):
    """Something stands in the way of what is wanted. One line: what, and what to do."""

    def __init__(self, text: str, faults: Mapping[Key, str] = {}) -> None:
        """`faults` are the same by the resource that each is about, where that is known."""
        super().__init__(text)
        self.faults = faults


class NotWell(Exception):
    """It was made so, and then did not work. `details` are lines of its own log."""

    def __init__(self, text: str, details: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.details = tuple(details)


class Kept(Protocol):
    """Where contents are kept that may have to come back."""

    def keep(self, sha256: str, blocks: Iterable[bytes]) -> None: ...
    def has(self, sha256: str) -> bool: ...
    def blocks(self, sha256: str) -> Iterable[bytes]: ...
    def place(self, sha256: str) -> PureWindowsPath:
        """Where it is kept, to be told to a person."""

    def take(self, sha256: str, path: PureWindowsPath) -> bool:
        """Keeps a file's content by moving the file: on a full disk. False if it is on another volume."""

    def give(self, sha256: str, path: PureWindowsPath) -> bool:
        """The other way, to where nothing is; it is kept no longer."""

    def aside(self, folder: PureWindowsPath) -> PureWindowsPath:
        """Where this step may move a folder to; it is removed with all in it when the run is over."""


class Kind(Generic[W]):
    """One kind of resource. What most kinds have no need of has an answer here."""

    firm: frozenset[str]
    """Fields that have to read back as they were set. Of others a machine may make its own (a file system
    without Windows' descriptors, an SCM without recovery actions), which is remembered and not drift."""
    kept_by: str | None = None
    """A service of Windows without which these are lost: when it starts anew they are looked at."""
    is_routing = False
    """Whether Windows tells of it with its routes and interfaces."""
    common_keys: tuple[str, ...] = ()
    """`registry_keys` of all alike."""
    comes_later = False
    """Whether it is made by what comes after its own step, so that how it is is known at the run's end."""
    wanted_of_all: ClassVar[State]
    """`wanted` of all alike."""

    def wanted(self, want: W) -> State:  # noqa: ARG002 - of some kinds all are alike
        """How it is to be. What is not asked for is not in it."""
        return self.wanted_of_all

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        """How it is; None if it is not there. Of costly fields only those that are in `wanted`."""
        raise NotImplementedError

    def observe_all(self, host: Host) -> Mapping[str, State] | None:  # noqa: ARG002 - most are looked at by name
        """The same by name of all there are, where that takes no longer than to look at a few; else None."""
        return None

    def apply(self, host: Host, want: W, found: State | None, kept: Kept) -> None:
        """Makes it so, but for what `finish` waits for. Raises HostError, NotWell."""
        raise NotImplementedError

    def finish(self, host: Host, want: W) -> None:
        """Waits for what comes about by itself once it is applied. Raises HostError, NotWell."""

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:
        """Makes it as it was before, None for not there. A line about what had to be left, if anything."""
        raise NotImplementedError

    def manner(self, want: W) -> State:  # noqa: ARG002 - most have none
        """What taking it back, or ending it, needs to know, and no look at the machine tells."""
        return {}

    def same(self, field: str, wanted: Value, found: Value) -> bool:  # noqa: ARG002 - of all fields alike
        """Whether the two mean the same to Windows."""
        return wanted == found

    def registry_keys(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - most lie in the same, or elsewhere
        """In which it shows that somebody has changed it, for whoever watches."""
        return self.common_keys

    def services(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - most are about none
        """The same of others' services, which are told when they start and stop."""
        return ()

    def is_over(self, host: Host, manner: State) -> bool:  # noqa: ARG002 - most are wanted for good
        """Whether it has done its duty, and is not to be there any more, though it is still asked for."""
        return False

    def is_content(self, manner: State) -> bool:  # noqa: ARG002 - most have a will of their own
        """Whether it is enough that somebody wants it, however that is."""
        return False

    def hidden(self, found: State) -> Collection[str]:  # noqa: ARG002 - of most all can be seen, or nothing
        """Fields that whoever asks may not see: how they are nobody can tell him."""
        return ()

    def shown(self, field: str, value: Value, manner: State) -> str:  # noqa: ARG002 - nothing to hide
        """For a person. Of a secret no more than lets two of them be told apart."""
        return "nothing" if value is None else str(value)

    def lacking(self, field: str, wanted: Value, manner: State) -> str:
        """For a person, of a resource that is there, and has nothing of this."""
        return f"nothing -> {self.shown(field, wanted, manner)}"

    def awaits_restart(self, host: Host, name: str) -> str | None:  # noqa: ARG002 - most never do
        """Why it is in effect only when Windows has been restarted, in a line; None where it is by now.

        `observe` tells of such a one how it will be then: it is as wanted, and waits.
        """
        return None

    def obstacle(self, want: W, found: State | None) -> str | None:  # noqa: ARG002 - nothing is in the way
        """Why it cannot be made so, in a line that says what to do."""
        return None

    def keep(self, host: Host, name: str, found: State, becomes: State | None, kept: Kept) -> None:
        """Puts by what `restore` will need besides the state. A content is kept by the state's `sha256`.

        The journal has its line by now: what is put by may be gone from its place.
        """

    def tidy(self, host: Host, names: Iterable[str]) -> None:
        """Removes what an interrupted run left beside these resources."""


class Setting(Kind[W]):
    """A kind whose resources are set whatever they were, and given back the same way."""

    def put(self, host: Host, name: str, state: State) -> None:
        """Sets it to a state as `wanted` or `observe` has it. Raises HostError."""
        raise NotImplementedError

    def remove(self, host: Host, name: str) -> None:
        """Raises HostError; NotFound where it is not there."""
        raise NotImplementedError

    def apply(self, host: Host, want: W, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - set whatever it was
        self.put(host, want.key.name, self.wanted(want))

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is None:
            return self.take_away(host, name)
        self.put(host, name, before)
        return None

    def take_away(self, host: Host, name: str) -> str | None:
        """Returns a line about what had to be left, if anything."""
        with suppress(NotFound):
            self.remove(host, name)
        return None


class Pausable(Protocol):
    """A kind whose resources run, and hold on to what they use."""

    def is_active(self, found: State) -> bool: ...

    def disturbed(self, fields: Iterable[str]) -> bool:
        """Whether a change of these of its own fields needs a pause."""

    def pause(self, host: Host, name: str, manner: State) -> None:
        """Nothing happens to one that is paused already, or is not there."""

    def hurried(self, manner: State) -> State:
        """For a pause of one that has not answered for long: it need not hear that it is to stop either."""

    def with_what_a_pause_took(self, found: State, before: State) -> State | None:
        """`found`, as it is to be restored before it runs again; None where nothing was taken. All else that
        is not as before was changed by somebody meanwhile.
        """

    def resume(self, host: Host, name: str, before: State) -> str | None:
        """As it was before. A line about what did not come up; that is no reason to undo anything."""


def pausable(kind: Kind[Any]) -> Pausable | None:
    return kind if hasattr(kind, "pause") else None  # type: ignore[return-value]
