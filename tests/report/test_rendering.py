"""The final pages: folded tables, tables in boxes with their controls, links between pages that exist."""

from __future__ import annotations

import re

import pytest

from pipeline.lab.page import build
from pipeline.lab.page.rendering import LONG, WIDE, folded, html
from pipeline.lab.page.tables import Table
from pipeline.lab.page.templates import aside


def rows(n: int, width: int = 2, cell: str = "1") -> Table:
    return Table(["Name", *map(str, range(1, width))], [[f"row {k}", *(width - 1) * [cell]] for k in range(n)], right=1)


def test_a_long_table_is_folded_under_the_sentence_before_it() -> None:
    text = folded(f"# Title\n\n## Cycles\n\nOf `atom`:\n\n{rows(LONG + 1)}\n\n{rows(LONG)}\n")
    assert f"<details>\n<summary>Of <code>atom</code> ({LONG + 1} rows)</summary>\n\n| Name" in text
    assert "Of `atom`:" not in text and text.count("<details>") == text.count("\n\n</details>") == 1


def test_questions_stay_open_and_side_cases_are_folded_whatever_their_length() -> None:
    questions = str(rows(LONG + 1)).replace("| Name", "| Question")
    text = folded(f"# Title\n\n{questions}\n\n{aside(rows(LONG + 1), 'of `atom`')}\n\n{aside(rows(2), 'two')}\n")
    assert text.count("<details>") == text.count("<summary>") == 2 and text.index("Question") < text.index("<details>")
    assert f"<summary>Of <code>atom</code> ({LONG + 1} rows)</summary>" in text and aside(Table(), "none") == ""


def test_folded_tables_are_tables_in_html() -> None:
    page = html(folded(f"# Title\n\n## One\n\n{rows(LONG + 1)}\n\n## Two\n\n{rows(2)}\n"), {})
    assert page.count("<table>") == page.count('<div class="wide"><table>') == page.count('<div class="controls">') == 2
    assert re.search(rf"<details>\s*<summary>One \({LONG + 1} rows\)</summary>\s*<div class=\"table\">", page)


def test_many_columns_of_intervals_have_a_switch() -> None:
    many, few = rows(2, WIDE + 2, "1 <small>[0 to 2]</small>"), rows(2, WIDE + 1, "1 <small>[0 to 2]</small>")
    page = html(f"# Title\n\n{many}\n\n{few}\n\n{rows(2, WIDE + 2)}\n", {})
    assert page.count('class="table many"') == page.count('type="checkbox"> intervals') == 1


def test_verdicts_have_their_colour_and_pages_need_no_other_file() -> None:
    page = html("# Title\n\nIt holds: **no**, [there](corpus.md#files).\n\n![A](figures/a.png)\n", {"a": b"png"})
    assert '<strong class="no">no</strong>' in page and 'href="corpus.html#files"' in page
    assert "prefers-color-scheme: dark" in page and "@media print" in page and "aria-sort" in page
    assert not re.search(r'(?:src|href)="(?!data:|#|corpus\.html)', page) and "http" not in page
    with pytest.raises(KeyError):
        html("![B](figures/b.png)", {})


def test_a_link_to_a_deleted_page_is_its_text() -> None:
    text = (
        "A [link](devices.md#x), [another](gone.md#place) and ![a figure](figures/gone.png) [of](https://a.org/b.md)."
    )
    expected = "A [link](devices.md#x), another and ![a figure](figures/gone.png) [of](https://a.org/b.md)."
    assert build.without_dead_links(text) == expected
