"""One configuration out of two, as each major version defines it. Records are in the newest minor's shape."""

from agent.sources.ignition.schema import Field, Many, Record, Struct, Value, layout


def append(parent: Record, child: Record, struct: Struct, minor: int) -> Record:
    """Version 2: lists grow; what the child says goes before the parent's word, and often its silence too."""
    result = Record()
    for name, field in layout(struct, minor).fields.items():
        value = _appended(name, field, parent, child, minor)
        if value is not None:
            result[name] = value
    return result


def _appended(name: str, field: Field, parent: Record, child: Record, minor: int) -> Value | None:
    ours, theirs = parent.get(name), child.get(name)
    if name == "version":
        return ours
    # The child's references are those to follow next; the parent's have been.
    if name == "config":
        return theirs
    if isinstance(field.kind, Many):
        both = _items(ours) + _items(theirs)
        return both or None
    if isinstance(field.kind, Struct) and not field.optional:
        return append(parent.record(name), child.record(name), field.kind, minor)
    return theirs if theirs is not None or not field.optional else ours


def merge(parent: Record, child: Record, struct: Struct, minor: int) -> Record:
    """Version 3: items of lists are merged by their keys; what the child says goes before the parent's."""
    result = Record()
    # Where both say something it is the child that counts, and where to look first.
    result.origin = child.origin or parent.origin
    known = layout(struct, minor).fields
    taken = _keys_by_list(child, struct, known)
    for name, field in known.items():
        value: Value | None = child.get(name)
        if isinstance(field.kind, Many):
            elsewhere = {key for other in taken if name in taken and other != name for key in taken[other]}
            value = _merged_lists(name, field.kind, _items(parent.get(name)), _items(value), elsewhere, minor)
        elif isinstance(field.kind, Struct):
            value = merge(parent.record(name), child.record(name), field.kind, minor)
        elif value is None and field.optional:
            value = parent.get(name)
        if value is not None and value != [] and value != {}:
            result[name] = value
    return result


def _keys_by_list(child: Record, struct: Struct, known: dict[str, Field]) -> dict[str, set[str]]:
    """Of the child's lists that share one name space: a file of the child removes the parent's link there."""
    return {
        name: {field.kind.key_of(item) for item in _items(child.get(name))}
        for name, field in known.items()
        if name in struct.one_name_space and isinstance(field.kind, Many)
    }


def _merged_lists(
    name: str, kind: Many, parent: list[Value], child: list[Value], elsewhere: set[str], minor: int
) -> list[Value]:
    if not kind.keyed:
        return parent + child
    news = {kind.key_of(item): item for item in child}
    result: list[Value] = []
    for item in parent:
        key = kind.key_of(item)
        if key not in news:
            if key not in elsewhere:
                result.append(item)
            continue
        new = news[key]
        if isinstance(item, Record) and isinstance(new, Record) and isinstance(kind.of, Struct):
            # A header without a value takes the parent's away.
            if name != "httpHeaders" or "value" in new:
                result.append(merge(item, new, kind.of, minor))
        else:
            result.append(new)
    had = {kind.key_of(item) for item in parent}
    return result + [item for item in child if kind.key_of(item) not in had]


def _items(value: Value | None) -> list[Value]:
    return value if isinstance(value, list) else []
