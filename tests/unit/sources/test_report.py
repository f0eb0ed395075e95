from __future__ import annotations

import pytest

from agent.sources.report import Entry, Place, Report, Severity, bounded, quoted

ERROR, WARNING = Severity.ERROR, Severity.WARNING


@pytest.mark.parametrize(
    ("place", "line", "column", "text"),
    [
        ((), None, None, "error: d: m"),
        ((), 3, None, "error: d line 3: m"),
        ((), 3, 4, "error: d line 3, column 4: m"),
        (("a", 0, "b-c"), 3, 4, "error: d line 3, column 4 at $.a.0.b-c: m"),
        (("a b\n",), None, None, 'error: d at $."a b\\n": m'),
    ],
)
def test_one_line(place: Place, line: int | None, column: int | None, text: str) -> None:
    assert str(Entry(ERROR, "m", "d", place, line, column)) == text


def test_what_is_fatal() -> None:
    warning, error = Entry(WARNING, "w", "d"), Entry(ERROR, "e", "d")
    assert not Report((warning,)).fatal
    both = Report((warning,)) + Report((error,), omitted=2)
    assert both.fatal
    assert (both.warnings, both.errors, both.omitted) == ((warning,), (error,), 2)


def test_warnings_never_hide_errors() -> None:
    warning, error = Entry(WARNING, "w", "d"), Entry(ERROR, "e", "d")
    report = bounded([warning] * 10 + [error] * 5, room=2)
    assert report.entries == (warning, warning, error, error)
    assert report.omitted == 11


def test_a_user_s_word_is_short_and_on_one_line() -> None:
    assert quoted("a\nb") == '"a\\nb"'
    assert len(quoted("x" * 1000)) < 90
    assert quoted(r"C:\k") == r'"C:\k"'
