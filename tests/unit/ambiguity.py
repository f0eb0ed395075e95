"""Finds the regular expressions whose time grows faster than the text that they read.

Python's `re` tries every way to read a text before it gives up, and a search tries them from every character.
Where a repeated part of a text can be read in two ways, this takes quadratic time or worse. A pattern is
therefore made an automaton whose states are the pattern's positions (Glushkov), and such a part is searched
for in it: a word that leads from a state both back to it and to another one from which it leads back to that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser
from typing import Any

_Steps = Mapping[int, Mapping[int, int]]
# By state the characters that lead to each other one.

_ALPHABET = [*map(chr, range(128)), "\x85", "\xa0", "é", "µ", "٣", "\u2028"]
"""Of those beyond ASCII a blank, a letter and a digit."""
_ANY = (1 << len(_ALPHABET)) - 1
_MANY = 1000
"""A repetition that is bounded by more than this counts as unbounded."""
_START = -1
_MARKED = -2
"""The search has not begun, behind a character after which the pattern cannot begin."""
_CATEGORIES = {
    c.CATEGORY_DIGIT: r"\d",
    c.CATEGORY_NOT_DIGIT: r"\D",
    c.CATEGORY_SPACE: r"\s",
    c.CATEGORY_NOT_SPACE: r"\S",
    c.CATEGORY_WORD: r"\w",
    c.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS = (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT)


@dataclass
class _Part:
    """What a part of a pattern can begin and end with, and whether it can be empty."""

    empty: bool
    first: Counter[int]
    last: frozenset[int]


@dataclass
class _Automaton:
    flags: int
    read: list[int] = field(default_factory=list)
    """The characters of a position, as bits of the alphabet."""
    edges: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How many ways lead from one position to the next."""
    held: dict[int, tuple[int, frozenset[int]]] = field(default_factory=dict)
    """What a possessive repetition never leaves to what follows it, and its positions."""

    def sequence(self, nodes: Iterable[tuple[Any, Any]]) -> _Part:
        whole = _Part(True, Counter(), frozenset())
        for op, argument in nodes:
            part = self._node(op, argument)
            if part is None:
                continue
            self._join(whole.last, part.first)
            first = whole.first + part.first if whole.empty else whole.first
            last = whole.last | part.last if part.empty else part.last
            whole = _Part(whole.empty and part.empty, first, last)
        return whole

    def _node(self, op: Any, argument: Any) -> _Part | None:
        if op in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
            self.read.append(_characters(op, argument, self.flags))
            position = len(self.read) - 1
            return _Part(False, Counter([position]), frozenset([position]))
        if op is c.SUBPATTERN:
            return self.sequence(argument[3])
        if op is c.ATOMIC_GROUP:
            return self.sequence(argument)
        if op is c.BRANCH:
            parts = [self.sequence(each) for each in argument[1]]
            first = sum((each.first for each in parts), Counter[int]())
            last = frozenset[int]().union(*(each.last for each in parts))
            return _Part(any(each.empty for each in parts), first, last)
        if op in _REPEATS:
            return self._repeated(op, *argument)
        if op in (c.ASSERT, c.ASSERT_NOT) and argument[0] > 0:
            # It reads ahead, and what it has read leads nowhere.
            return _Part(True, self.sequence(argument[1]).first, frozenset())
        return None  # an anchor, a look behind or a reference: none reads what it could read twice

    def _repeated(self, op: Any, least: int, most: int, body: Any) -> _Part:
        before = len(self.read)
        part = self.sequence(body)
        if most > _MANY:
            self._join(part.last, part.first)
        if op is c.POSSESSIVE_REPEAT:
            begins = 0
            for position in part.first:
                begins |= self.read[position]
            own = frozenset(range(before, len(self.read)))
            self.held.update(dict.fromkeys(part.last, (begins, own)))
        return _Part(part.empty or least == 0, part.first, part.last)

    def _join(self, last: Iterable[int], first: Counter[int]) -> None:
        for position in last:
            for after, ways in first.items():
                self.edges[position, after] += ways


def ambiguity(pattern: str | bytes, flags: int, how: str) -> str | None:
    """Return what can be read in two ways when the pattern is used `how`: match, fullmatch, search or all.

    None where the time grows with the text. "all" stands for each method that goes on after a match.
    """
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    tree = _parser.parse(text, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags)
    flags, nodes = tree.state.flags, list(tree)
    automaton = _Automaton(flags)
    whole = automaton.sequence(nodes)
    steps = _steps(automaton, whole, nodes, how)
    doubled = _doubled(automaton, steps)
    return doubled or _ambiguous(steps)


def _steps(automaton: _Automaton, whole: _Part, nodes: list[tuple[Any, Any]], how: str) -> _Steps:
    """Return by state the characters that lead to each other one."""
    steps: dict[int, dict[int, int]] = {_START: {}, _MARKED: {}}
    for position, characters in enumerate(automaton.read):
        steps[position] = {}
        if position in whole.first:
            steps[_START][position] = characters
    for before, after in automaton.edges:
        begins, own = automaton.held.get(before, (0, frozenset()))
        characters = automaton.read[after]
        steps[before][after] = characters if after in own else characters & ~begins
    if how in ("search", "all"):
        barred = _barred(nodes, automaton.flags)
        for state in (_START, _MARKED):
            steps[state][_START], steps[state][_MARKED] = _ANY & ~barred, barred
    for matched in whole.last if _ends_anywhere(nodes) else ():
        # A state in which the pattern has matched already, and will whatever follows, never fails.
        if how in ("match", "search") or (how == "fullmatch" and steps[matched].get(matched) == _ANY):
            steps[matched] = {}
        elif how == "all":
            steps[matched] = {to: read for to, read in steps[matched].items() if to != matched}
    return {state: {to: read for to, read in ways.items() if read} for state, ways in steps.items()}


def _doubled(automaton: _Automaton, steps: _Steps) -> str | None:
    """Return a step of a repetition that two repetitions within each other take, if there is one."""
    for (before, after), ways in automaton.edges.items():
        if ways > 1 and after in steps[before] and before in _reachable(steps, after):
            return f"{_shown(automaton.read[after])} is repeated within a repetition"
    return None


def _ambiguous(steps: _Steps) -> str | None:
    """Return how a word begins that leads from a state to itself and to another one that repeats it."""
    reach = {state: _reachable(steps, state) for state in steps}
    repeating = [state for state in steps if state in reach[state]]
    for one in repeating:
        for other in repeating:
            if one != other and other in reach[one]:
                found = _repeated_by_both(steps, reach, one, other)
                if found:
                    return f"what begins with {_shown(found)} can be read in two ways"
    return None


def _repeated_by_both(steps: _Steps, reach: Mapping[int, set[int]], one: int, other: int) -> int:
    """Return how a word begins that leads from `one` to both, and from `other` to itself; 0 for none."""
    start, end = (one, one, other), (one, other, other)
    begun, waiting = {start: 0}, [start]
    while waiting:
        first, second, third = state = waiting.pop()
        for a, reads_a in steps[first].items():
            if one not in reach[a] and one != a:
                continue
            for b, reads_b in steps[second].items():
                both = reads_a & reads_b
                if not both or (other not in reach[b] and other != b):
                    continue
                for d, reads_d in steps[third].items():
                    if not both & reads_d or (other not in reach[d] and other != d):
                        continue
                    word = begun[state] or both & reads_d
                    if (a, b, d) == end:
                        return word
                    if (a, b, d) not in begun:
                        begun[a, b, d] = word
                        waiting.append((a, b, d))
    return 0


def _reachable(steps: _Steps, state: int) -> set[int]:
    found, waiting = set[int](), [state]
    while waiting:
        for after in steps[waiting.pop()]:
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found


def _barred(nodes: list[tuple[Any, Any]], flags: int) -> int:
    """Return the characters behind which a search does not begin."""
    op, argument = nodes[0]
    if op is c.ASSERT_NOT and argument[0] < 0 and len(argument[1]) == 1:
        before, characters = argument[1][0]
        return _characters(before, characters, flags)
    if op is c.AT and argument is c.AT_BOUNDARY:
        return _characters(c.IN, [(c.CATEGORY, c.CATEGORY_WORD)], flags)
    if op is c.AT and argument in (c.AT_BEGINNING, c.AT_BEGINNING_STRING):
        line = flags & re.MULTILINE and argument is c.AT_BEGINNING
        return _ANY & ~_bits("\n") if line else _ANY
    return 0


def _ends_anywhere(nodes: Iterable[tuple[Any, Any]]) -> bool:
    """Return whether nothing is asked of what follows the pattern."""
    *_, (op, argument) = [(None, None), *nodes]
    if op is c.SUBPATTERN:
        return _ends_anywhere(argument[3])
    if op is c.BRANCH:
        return all(map(_ends_anywhere, argument[1]))
    if op in _REPEATS:
        return _ends_anywhere(argument[2])
    return op not in (c.AT, c.ASSERT, c.ASSERT_NOT, c.GROUPREF)


def _characters(op: Any, argument: Any, flags: int) -> int:
    if op is c.ANY:
        return _ANY if flags & re.DOTALL else _ANY & ~_bits("\n")
    if op is c.LITERAL:
        return _cased(_bits(chr(argument)), flags)
    if op is c.NOT_LITERAL:
        return _ANY & ~_cased(_bits(chr(argument)), flags)
    found, negated = 0, False
    for kind, what in argument:
        if kind is c.NEGATE:
            negated = True
        elif kind is c.LITERAL:
            found |= _bits(chr(what))
        elif kind is c.RANGE:
            found |= _bits(*(each for each in _ALPHABET if what[0] <= ord(each) <= what[1]))
        else:
            found |= _bits(
                *(each for each in _ALPHABET if re.match(_CATEGORIES[what], each, flags & re.ASCII))
            )
    return _ANY & ~_cased(found, flags) if negated else _cased(found, flags)


def _cased(bits: int, flags: int) -> int:
    if not flags & re.IGNORECASE:
        return bits
    each = [letter for index, letter in enumerate(_ALPHABET) if bits >> index & 1]
    return bits | _bits(*(letter.swapcase() for letter in each if letter.isascii()))


def _bits(*characters: str) -> int:
    return sum(1 << _ALPHABET.index(each) for each in characters if each in _ALPHABET)


def _shown(bits: int) -> str:
    return repr(next(letter for index, letter in enumerate(_ALPHABET) if bits >> index & 1))
