"""Registers as secrets what a dataclass holds in the fields that its repr leaves out."""

from __future__ import annotations

from dataclasses import fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from agent.redaction import register_document

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


D = TypeVar("D", bound="DataclassInstance")


def registers_secrets(cls: type[D]) -> type[D]:
    """Have each new object of this dataclass register what its fields with repr=False hold.

    A subclass with an `__init__` of its own, as every dataclass has, needs this as well.
    """
    names = [each.name for each in fields(cls) if not each.repr]
    initialize = cls.__init__

    @wraps(initialize)
    def initialize_and_register(self: D, *values: Any, **named: Any) -> None:
        initialize(self, *values, **named)
        for name in names:
            register_document(getattr(self, name), name)

    cls.__init__ = initialize_and_register  # type: ignore[method-assign, assignment]
    return cls
