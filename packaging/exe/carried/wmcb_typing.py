"""The exe's `typing`: what is for type checkers alone means nothing here, and costs nothing.

Python's own takes a megabyte of a process that stays, with the classes of a syntax tree that each NamedTuple
whose annotations are text brings about. It is there under another name, for whoever asks for more than this.
"""

from __future__ import annotations

from collections import namedtuple

_OF_THE_CLASS_ITSELF = ("__annotations__", "__classcell__", "__dict__", "__module__", "__weakref__")

TYPE_CHECKING = False


class _Form:
    """Stands where a type is only spoken of."""

    def __getitem__(self, parameters: object) -> _Form:
        return self

    def __or__(self, other: object) -> _Form:
        return self

    __ror__ = __or__


IO = Any = ClassVar = NoReturn = Self = TextIO = TypeAlias = TypeGuard = _Form()


class Generic:
    """A class that is one of many to a type checker."""

    def __class_getitem__(cls, parameters: object) -> type:
        return cls


class Protocol(Generic):
    """What others are like."""


class _OfFields(type):
    """Makes what `NamedTuple` stands above."""

    def __new__(cls, name: str, _: object, body: dict[str, object]) -> type:
        """A class of `collections.namedtuple`, with what else the body has."""
        fields = list(body["__annotations__"])  # type: ignore[call-overload]
        defaults = [body[field] for field in fields if field in body]
        made = namedtuple(name, fields, defaults=defaults, module=str(body["__module__"]))  # type: ignore[misc] # noqa: PYI024
        for key, value in body.items():
            if key not in (*fields, *_OF_THE_CLASS_ITSELF):
                setattr(made, key, value)
        return made


class _NamedTuple:
    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (_WITH_FIELDS,)


_WITH_FIELDS = type.__new__(_OfFields, "NamedTuple", (), {})
NamedTuple = _NamedTuple()


def TypeVar(_name: str, *_constraints: object, **_kind: object) -> _Form:  # noqa: N802 - it is a class, to others
    """A type that is not known yet."""
    return _Form()


def cast(_type: object, value: object) -> object:
    """The value: only a type checker learns something."""
    return value


def dataclass_transform(**_kind: object) -> object:
    """Of a decorator: says what it makes of a class."""
    return lambda decorator: decorator


def __getattr__(name: str) -> object:
    """What is not here."""
    if name.startswith("__"):  # each import from a module asks whether it has a __path__
        raise AttributeError(name)
    import wmcb_whole_typing

    return getattr(wmcb_whole_typing, name)
