"""What one field of a document says of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from agent.documents import Value
from agent.sources.forms import Checking, Form, ListOf, items, mapping, texts
from agent.sources.node_configuration.model import RemoteFile
from agent.sources.report import Place
from agent.spec import Want

Fields = dict[str, Value]
Wanted = Want | RemoteFile


class Kind(Protocol):
    @property
    def form(self) -> Form: ...

    def wanted(self, checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
        """Of a value that has its form; what else is wrong goes into `checking`. With its place each."""


@dataclass(frozen=True, slots=True)
class Several:
    """A list, each item of which is a resource."""

    form: ListOf
    of_one: Callable[[Checking, Fields, Place], Wanted]

    def wanted(self, checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
        for number, item in enumerate(items(value)):
            here = (*place, number)
            yield self.of_one(checking, mapping(item), here), here


@dataclass(frozen=True, slots=True)
class SeveralTexts:
    """A list of texts, each of which is a resource."""

    form: ListOf
    of_one: Callable[[Checking, str, Place], Wanted]

    def wanted(self, checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
        for number, item in enumerate(texts(value)):
            here = (*place, number)
            yield self.of_one(checking, item, here), here


@dataclass(frozen=True, slots=True)
class Single:
    """A value that is there once in a document."""

    form: Form
    of_it: Callable[[Checking, Value, Place], Iterable[Wanted]]

    def wanted(self, checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
        for wanted in self.of_it(checking, value, place):
            yield wanted, place
