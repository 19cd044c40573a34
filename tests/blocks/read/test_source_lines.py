"""Rows of line tables: what debuggers show, and rows that keep it so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read.source_lines import (
    Location,
    Row,
    Shown,
    State,
    additions,
    advance,
    copies,
    equal,
    lines_of,
    parse,
    with_is_stmt,
)

ROWS = st.builds(Row, st.integers(1, 2), st.integers(1, 4), st.just(0), st.sampled_from([0, 0, 3]), st.booleans())
GROUPS = st.lists(st.lists(ROWS, min_size=1, max_size=3), max_size=5)


def test_parse_takes_the_options_of_gcc() -> None:
    assert parse("1 5 3", True) == Location(Row(1, 5, 3, 0, True), False, False)
    assert parse("1 5 3 is_stmt 0 discriminator 4 view .LVU7", True) == Location(Row(1, 5, 3, 4, False), True, True)
    assert parse("0 5 prologue_end", False) == Location(Row(0, 5, 0, 0, False), False, False)


@pytest.mark.parametrize("operands", ["", "1", "1 x 3", "1 5 3 isa 2", "1 5 3 is_stmt x", "1 5 3 is_stmt", "1 2 3 4"])
def test_parse_refuses_others(operands: str) -> None:
    assert parse(operands, True) is None


def state_of(*groups: list[Row]) -> State:
    state = State()
    for rows in groups:
        state = advance(state, rows)
    return state


def row(line: int, is_stmt: bool = True, discriminator: int = 0, file: int = 1) -> Row:
    return Row(file, line, 0, discriminator, is_stmt)


def test_gdb_shows_the_last_row_that_starts_a_statement() -> None:
    shown = state_of([row(5), row(6), row(7, is_stmt=False)]).shown
    assert shown is not None and (shown.last.line, shown.gdb.line) == (7, 6)
    shown = state_of([row(5, is_stmt=False), row(7, is_stmt=False)]).shown
    assert shown is not None and (shown.last.line, shown.gdb.line) == (7, 7)


def test_gdb_skips_a_line_that_repeats_with_a_discriminator() -> None:
    # gdb 13 shows 646 for the second group as well: its row repeats line 647.
    shown = state_of([row(646, discriminator=3), row(647, False, 3)], [row(647, True, 3)]).shown
    assert shown is not None and (shown.last.line, shown.gdb.line) == (647, 646)
    shown = state_of([row(646), row(647, False)], [row(647)]).shown
    assert shown is not None and shown.gdb.line == 647


def test_line_zero_shows_nothing_certain() -> None:
    assert state_of([row(5)], [row(0)]).shown is None


@given(GROUPS, st.lists(ROWS, min_size=1, max_size=3), GROUPS)
def test_copies_with_additions_show_the_same_anywhere(
    before: list[list[Row]], rows: list[Row], elsewhere: list[list[Row]]
) -> None:
    """An instruction's own rows, or copies of what it shows, work after any other rows."""
    shown = advance(state_of(*before), rows).shown
    assert shown is not None
    for own_rows in (tuple(rows), copies(shown)):
        state = state_of(*elsewhere)
        first, after = additions(state, own_rows, shown)
        result = advance(state, (*first, *own_rows, *after)).shown
        if shown.last.file == shown.gdb.file:
            assert equal(result, shown)
        else:
            assert result is not None and result.last[:3] == shown.last[:3]


def test_nothing_is_added_where_nothing_is_needed() -> None:
    state = state_of([row(5)])
    assert additions(state, [row(6)], Shown(row(6), row(6))) == ((), ())


def test_lines_take_the_form_of_the_file() -> None:
    assert lines_of([row(5, False, 2)], "    .loc 1 1\r\n") == ["    .loc 1 5 0 is_stmt 0 discriminator 2\r\n"]
    assert with_is_stmt("\t.loc 1 5 3 view .LVU7 # f.c:5\n", False) == "\t.loc 1 5 3 view .LVU7 is_stmt 0 # f.c:5\n"
    assert with_is_stmt("\t.loc 1 5\r\n", True) == "\t.loc 1 5 is_stmt 1\r\n"
