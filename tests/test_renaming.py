"""A change of names is told from a change of what is computed; only the former keeps published numbers current."""

from __future__ import annotations

import pytest

from pipeline.analysis.provenance import Provenance
from tests.renaming import covering, equal_but_for_names, taken_over

OURS = {"count", "rows", "known", "lines", "names", "other", "twice", "a", "b", "c", "d", "x", "y"}

BEFORE = '''
def count(rows, known):
    """How many."""
    found = [row for row in rows if row in known]
    if not found:
        raise ValueError(f"nothing in {rows}")
    return len(found)

def other(found):
    return count(rows=found, known=found)
'''
SAME = '''
def count(lines, names):
    """The number of lines that name something."""
    matches = [line for line in lines if line in names]
    if not matches:
        raise ValueError("no line matches; add a name")
    return len(matches)

def twice(lines):
    return count(lines=lines, names=lines)
'''


def equal(before: str, now: str) -> bool:
    return equal_but_for_names(before, now, (OURS, OURS))


def test_names_and_texts_for_people_may_change() -> None:
    assert equal(BEFORE, BEFORE) and equal(BEFORE, SAME)


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ("line in names", "line not in names"),  # another operator
        ("line in names", "names in line"),  # names swapped
        ("[line for line in lines", "[lines for line in lines"),  # another variable
        ("return len(matches)", "return len(lines)"),
        ("return len(matches)", "return 1 + len(matches)"),
        ("names=lines", "names=()"),
        ("ValueError(", "KeyError("),  # a name that is not ours
        ("len(matches)", "sum(matches)"),
    ],
)
def test_anything_else_is_a_change(text: str, replacement: str) -> None:
    changed = SAME.replace(text, replacement)
    assert changed != SAME
    assert not equal(BEFORE, changed)


def test_two_names_do_not_become_one() -> None:
    assert not equal("def f(a, b):\n    return a - b", "def f(a, b):\n    return a - a")
    assert not equal("x.a = x.b", "x.a = x.a")
    assert equal("x.a = x.b", "y.c = y.d")


def test_other_strings_are_a_change() -> None:
    assert not equal("name = 'rows'", "name = 'lines'")
    assert equal("Option(help='rows')", "Option(help='lines')")
    assert not equal("Option(name='rows')", "Option(name='lines')")
    assert equal("why = f'{rows} of them are bad'", "why = f'bad are all of {rows}'")


def test_what_was_older_stays_older() -> None:
    fields = dict.fromkeys(
        ("commit", "dirty", "settings", "inputs", "weights", "packages", "processor", "seeds"), "unknown"
    )
    sources = {"current.py": "1", "older.py": "0", "unproven.py": "1", "same.py": "1"}
    record = Provenance.model_validate(fields | {"experiment": "tiny", "published": "2026", "sources": sources})
    before = dict.fromkeys(sources, "1")
    now = dict.fromkeys(sources, "2") | {"same.py": "1"}
    renewed = taken_over(record, before, now, {"current.py", "older.py"}, "abc")
    assert renewed.sources == sources | {"current.py": "2"}
    assert "1 sources changed in commit abc" in renewed.notes[-1]
    assert taken_over(record, before, before, set(sources), "abc") is record


def test_assignments_side_by_side_may_stand_below_each_other() -> None:
    assert equal("a, b = x, y.a", "a = x\nc = y.a")
    assert not equal("a, b = b, a", "a = b\nb = a")
    assert equal("from m import a, b\na(b)", "from m import c, b\nb(c)")
    assert not equal("from m import a, b\na(b)", "from n import a, b\na(b)")


def test_few_experiments_cover_all_sources_that_any_has() -> None:
    sources = {"a": {"1", "2"}, "b": {"1", "2", "3"}, "c": {"4"}, "d": {"9"}}
    assert covering(sources, {"1", "2", "3", "4", "5"}) == ["b", "c"] and covering(sources, {"5"}) == []
