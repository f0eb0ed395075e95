"""The exe's own `typing` beside Python's: what our modules make of it is the same."""

from __future__ import annotations

import importlib.util
import sys
import typing
from typing import Any

import pytest

from exebuild.sources import CARRIED

if typing.TYPE_CHECKING:
    import types


def _of_the_exe() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("wmcb_typing", CARRIED / "wmcb_typing.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BOTH = pytest.mark.parametrize("kind", [typing, _of_the_exe()], ids=["Python's", "the exe's"])


def _made(kind: types.ModuleType, code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"typing": kind, "__name__": "made"}
    exec(f"from __future__ import annotations\n{code}", names)  # noqa: S102 - ours, below
    return names


@BOTH
def test_a_class_with_named_fields(kind: types.ModuleType) -> None:
    code = """
class Place(typing.NamedTuple):
    'Where it is.'
    host: str
    port: int = 443
    @property
    def shown(self): return f'{self.host}:{self.port}'
"""
    place = _made(kind, code)["Place"]
    assert repr(place("a")) == "Place(host='a', port=443)"
    assert place("a", 1)._replace(host="b").shown == "b:1"
    assert place.__doc__ == "Where it is."
    assert (place.__module__, place._fields, place.__mro__[1]) == ("made", ("host", "port"), tuple)
    with pytest.raises(TypeError):
        place()


@BOTH
def test_what_is_for_type_checkers_alone(kind: types.ModuleType) -> None:
    code = """
T = typing.TypeVar('T', bound=int)
Many = dict[str, T] | typing.Any | None
class Watch(typing.Protocol[T]):
    limit: typing.ClassVar[int] = 5
    def wait(self) -> T: ...
class One(Watch[int], typing.Generic[T]):
    def wait(self) -> typing.Self: return typing.cast('One', self)
@typing.dataclass_transform(field_specifiers=(int,))
def same(it): return it
"""
    names = _made(kind, code)
    one = names["One"]()
    assert one.wait() is one
    assert (one.limit, names["same"](one)) == (5, one)


def test_for_anything_else_it_is_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wmcb_whole_typing", typing)
    assert _of_the_exe().overload is typing.overload
    assert not hasattr(_of_the_exe(), "__path__"), "each import from it asks for that"
