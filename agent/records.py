"""Classes made of named fields: what a dataclass with slots is, but quick to define.

For each dataclass Python writes and compiles the text of its functions, about a millisecond each time; with a
hundred of them that was two thirds of what a command needed to start. Here they are closures over the names.
"""

from __future__ import annotations

import sys
from operator import attrgetter

from agent.redaction import register_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar, dataclass_transform

    R = TypeVar("R")
else:

    def dataclass_transform(**_told: object) -> Callable[[R], R]:
        """Says something to a type checker alone."""
        return lambda function: function


_NOTHING = object()


class _Field:
    __slots__ = ("compared", "default", "default_factory", "shown")

    def __init__(
        self, default: object, default_factory: Callable[[], object] | None, *, shown: bool, compared: bool
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.shown = shown
        self.compared = compared


def field(
    *,
    default: Any = _NOTHING,
    default_factory: Callable[[], Any] | None = None,
    shown: bool = True,
    compared: bool = True,
) -> Any:
    """For a default that is made anew for each record, a secret, or what makes no two records different."""
    return _Field(default, default_factory, shown=shown, compared=compared)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[R]) -> type[R]:
    """Never changes, and can be a key."""
    return _made(cls, {"__setattr__": _refuse, "__delattr__": _refuse}, hashed=True)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[R]) -> type[R]:
    """Its fields may be set."""
    return _made(cls, {}, hashed=False)


def replaced(original: R, **changes: Any) -> R:
    """Another record, with some of its fields changed."""
    names: Sequence[str] = type(original).__match_args__  # type: ignore[attr-defined]
    return type(original)(**{name: getattr(original, name) for name in names} | changes)


def _made(cls: type[R], functions: Mapping[str, object], *, hashed: bool) -> type[R]:
    fields: dict[str, _Field] = dict(getattr(cls, "__record_fields__", {}))
    body = dict(cls.__dict__)
    own = [name for name, kind in _annotations(cls).items() if not str(kind).startswith("ClassVar")]
    for name in own:
        given = body.pop(name, _NOTHING)
        fields[name] = given if isinstance(given, _Field) else _Field(given, None, shown=True, compared=True)
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    made: type[R] = type(cls)(cls.__name__, cls.__bases__, body | {"__slots__": tuple(own)})  # type: ignore[misc]
    made.__qualname__ = cls.__qualname__
    compared = _values([name for name, each in fields.items() if each.compared])
    written = {
        "__record_fields__": fields,
        "__match_args__": tuple(fields),
        "__init__": _initializer(made, fields),
        "__repr__": _shown([name for name, each in fields.items() if each.shown]),
        "__eq__": _equal(compared),
        "__hash__": _hash(compared) if hashed else None,
        "__reduce__": _rebuilt(_values(list(fields))),
        **functions,
    }
    for name, value in written.items():
        # Python itself puts a `__hash__` of None where there is an `__eq__`.
        if body.get(name) is None or name in ("__record_fields__", "__match_args__"):
            setattr(made, name, value)
    return made


def _annotations(cls: type) -> Mapping[str, object]:
    if sys.version_info >= (3, 14):
        return cls.__annotations__
    # The attribute may be a base's; inspect knows better, and takes longer to import than all of this.
    found: Mapping[str, object] = cls.__dict__.get("__annotations__", {})  # noqa: RUF063
    return found


def _initializer(cls: type, fields: Mapping[str, _Field]) -> Callable[..., None]:
    setters = [getattr(cls, name).__set__ for name in fields]
    hidden = [(place, name) for place, (name, each) in enumerate(fields.items()) if not each.shown]

    def initialize(self: object, *values: object, **named: object) -> None:
        given = _completed(cls, fields, values, named) if named or len(values) != len(setters) else values
        for put, value in zip(setters, given, strict=True):
            put(self, value)
        for place, name in hidden:
            # What a record does not show, nothing else shows.
            register_document(given[place], name)

    return initialize


def _completed(
    cls: type, fields: Mapping[str, _Field], values: Sequence[object], named: dict[str, object]
) -> Sequence[object]:
    filled = list(values)
    for name in list(fields)[len(values) :]:
        if name in named:
            filled.append(named.pop(name))
        elif (factory := fields[name].default_factory) is not None:
            filled.append(factory())
        elif (default := fields[name].default) is not _NOTHING:
            filled.append(default)
        else:
            raise TypeError(f"{cls.__name__}: {name} is not given")
    if named or len(filled) > len(fields):
        raise TypeError(f"{cls.__name__}: too much is given: {', '.join(named) or 'values'}")
    return filled


def _values(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    if not names:
        return lambda _: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda it: (get(it),)


def _equal(values: Callable[[object], object]) -> Callable[[object, object], object]:
    def equal(self: object, other: object) -> object:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(values: Callable[[object], object]) -> Callable[[object], int]:
    return lambda self: hash(values(self))


def _shown(names: Sequence[str]) -> Callable[[object], str]:
    def shown(self: object) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({fields})"

    return shown


def _rebuilt(values: Callable[[object], tuple[object, ...]]) -> Callable[[object], object]:
    """For copies: without it they would be filled field by field, which a record refuses."""
    return lambda self: (type(self), values(self))


def _refuse(self: object, name: str, *_value: object) -> None:
    raise AttributeError(f"{name} of a {type(self).__name__} does not change")
