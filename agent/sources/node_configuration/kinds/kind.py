"""What one field of a document says of a node."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from agent.documents import Value
from agent.sources.forms import Checking, Form, ListOf, items, mapping
from agent.sources.node_configuration.model import RemoteFile
from agent.sources.report import Place
from agent.spec import Want

Given = dict[str, Value]
Wanted = Want | RemoteFile


@dataclass(frozen=True, slots=True)
class Kind:
    form: Form
    wanted: Callable[[Checking, Value, Place], Iterator[tuple[Wanted, Place]]]
    """Of a value that has its form; what else is wrong goes into the checking. With its place each."""


def several(form: ListOf, of_one: Callable[[Checking, Given, Place], Wanted]) -> Kind:
    """A list, each item of which is a resource."""

    def wanted(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
        for number, item in enumerate(items(value)):
            here = (*place, number)
            yield of_one(checking, mapping(item), here), here

    return Kind(form, wanted)


def single(form: Form, of_it: Callable[[Checking, Value, Place], Iterable[Wanted]]) -> Kind:
    """A value that is there once in a document."""

    def wanted(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
        for each in of_it(checking, value, place):
            yield each, place

    return Kind(form, wanted)
