"""Records are what dataclasses with slots are; where a case has both, they are compared."""

from __future__ import annotations

import copy
import subprocess
import sys
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import ClassVar

import pytest

from agent.records import field, frozen, mutable, replaced


class Base:
    __slots__ = ()

    kind: ClassVar[str] = ""

    @property
    def name(self) -> str:
        return f"{self.kind}!"


@frozen
class Point(Base):
    kind: ClassVar[str] = "point"

    x: int
    y: int = 2
    names: list[str] = field(default_factory=list, compared=False)
    secret: str = field(default="", shown=False)

    def sum(self) -> int:
        return self.x + self.y


@dataclass(frozen=True, slots=True)
class Like(Base):
    kind: ClassVar[str] = "point"

    x: int
    y: int = 2
    names: list[str] = dataclass_field(default_factory=list, compare=False)
    secret: str = dataclass_field(default="", repr=False)

    def sum(self) -> int:
        return self.x + self.y


@frozen
class Deep(Point):
    z: int = 3


@mutable
class Counted:
    count: int = 0


@frozen
class Caseless:
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Caseless) and self.text.upper() == other.text.upper()

    def __hash__(self) -> int:
        return hash(self.text.upper())


ARGUMENTS: list[tuple[tuple[object, ...], dict[str, object]]] = [
    ((1,), {}),
    ((1, 5), {}),
    ((), {"x": 1}),
    ((1,), {"secret": "s", "y": 7}),
    ((1, 2, ["a"], "s"), {}),
    ((), {}),
    ((1, 2), {"y": 3}),
    ((1,), {"w": 3}),
    ((1, 2, [], "", 5), {}),
]


def _made(kind: type, values: tuple[object, ...], named: dict[str, object]) -> object:
    try:
        made = kind(*values, **named)
    except TypeError:
        return TypeError
    return made.x, made.y, made.names, made.secret, made.sum(), made.name, repr(made).partition("(")[2]


@pytest.mark.parametrize(("values", "named"), ARGUMENTS, ids=str)
def test_one_is_made_as_a_dataclass_is(values: tuple[object, ...], named: dict[str, object]) -> None:
    assert _made(Point, values, named) == _made(Like, values, named)


def test_it_is_its_values() -> None:
    assert Point(1) == Point(1, 2, ["other"])
    assert hash(Point(1)) == hash(Point(1, 2, ["other"]))
    assert Point(1) != Point(2)
    assert Point(1) != object()
    assert Point(1) != Deep(1)
    assert Caseless("a") == Caseless("A")
    assert len({Caseless("a"), Caseless("A")}) == 1


def test_it_does_not_change() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="x of a Point does not change"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(AttributeError):
        point.other = 1  # type: ignore[attr-defined]
    assert not hasattr(point, "__dict__")
    assert point == Point(1)


def test_one_that_may_change() -> None:
    counted = Counted()
    counted.count += 1
    assert counted == Counted(1)
    with pytest.raises(TypeError):
        hash(counted)


def test_defaults_are_made_anew() -> None:
    assert Point(1).names is not Point(1).names


def test_fields_of_a_base_come_first() -> None:
    deep = Deep(1, z=4)
    assert (deep.x, deep.y, deep.z, deep.sum()) == (1, 2, 4, 3)
    assert Deep.__match_args__ == ("x", "y", "names", "secret", "z")


def test_another_with_changes() -> None:
    assert replaced(Point(1, 2, [], "s"), y=9) == Point(1, 9, [], "s")
    with pytest.raises(TypeError):
        replaced(Point(1), w=1)


def test_copies() -> None:
    assert copy.copy(Point(1, 5)) == Point(1, 5)
    assert copy.deepcopy(Point(1, 5, ["a"])).names == ["a"]


def test_patterns() -> None:
    match Point(1, 5):
        case Point(x, 5):
            assert x == 1
        case _:
            pytest.fail("it should have matched")


def test_nothing_slow_is_imported() -> None:
    program = "print(*sorted({'dataclasses', 'inspect', 'typing'} & set(sys.modules)))"
    with_paths = f"import sys; sys.path[:0] = {sys.path!r}; import agent.records; {program}"
    asked = subprocess.run(
        [sys.executable, "-I", "-S", "-c", with_paths], capture_output=True, text=True, check=True
    )
    assert asked.stdout.split() == []
