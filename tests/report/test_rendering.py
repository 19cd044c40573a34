"""The final pages: folded tables, tables in boxes with their controls; some tests use a browser on request."""

from __future__ import annotations

import html as html_package
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.lab.page.rendering import LONG, WIDE, folded, html
from pipeline.lab.page.tables import Table
from pipeline.lab.wiring import ROOT

BROWSER = shutil.which("chromium")
ASKED = bool(os.environ.get("REPORT_IN_BROWSER"))
in_browser = pytest.mark.skipif(
    not (ASKED and BROWSER),
    reason="chromium is not installed" if ASKED else "runs on request alone: REPORT_IN_BROWSER=1",
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--allow-file-access-from-files", "--virtual-time-budget=60000", "--dump-dom"),
)


PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (640).to_bytes(4, "big")


def rows(n: int, width: int = 2, cell: str = "1") -> Table:
    return Table(["Name", *map(str, range(1, width))], [[f"row {k}", *(width - 1) * [cell]] for k in range(n)], right=1)


def test_a_long_table_is_folded_under_the_sentence_before_it() -> None:
    text = folded(f"# Title\n\n## Cycles\n\nOf `atom`:\n\n{rows(LONG + 1)}\n\n{rows(LONG)}\n")
    assert f"<details>\n<summary>Of <code>atom</code> ({LONG + 1} rows)</summary>\n\n| Name" in text
    assert "Of `atom`:" not in text and text.count("<details>") == text.count("\n\n</details>") == 1


def test_without_a_short_sentence_the_heading_is_the_summary() -> None:
    text = folded(f"# Title\n\n## A & B\n\nThis sentence ends with a full stop.\n\n{rows(LONG + 1)}")
    assert f"<summary>A &amp; B ({LONG + 1} rows)</summary>" in text and "a full stop." in text


def test_folded_tables_are_tables_in_html() -> None:
    page = html(folded(f"# Title\n\n## One\n\n{rows(LONG + 1)}\n\n## Two\n\n{rows(2)}\n"), {})
    assert page.count("<table>") == page.count('<div class="wide"><table>') == page.count('<div class="controls">') == 2
    assert re.search(rf"<details>\s*<summary>One \({LONG + 1} rows\)</summary>\s*<div class=\"table\">", page)


def test_many_columns_of_intervals_have_a_switch() -> None:
    many, few = rows(2, WIDE + 2, "1 <small>[0 to 2]</small>"), rows(2, WIDE + 1, "1 <small>[0 to 2]</small>")
    page = html(f"# Title\n\n{many}\n\n{few}\n\n{rows(2, WIDE + 2)}\n", {})
    assert page.count('class="table many"') == page.count('type="checkbox"> intervals') == 1


def test_figures_under_headings_of_their_own_share_a_line() -> None:
    def part(number: int) -> str:
        return f"### Part {number}\n\nIts seeds.\n\n![Figure](figures/a.png)\n\n{rows(LONG + 1)}\n\n"

    page = html(folded(f"# Title\n\n## All\n\n{part(1)}{part(2)}## Next\n\n![B](figures/a.png)\n"), {"a": PNG})
    (group,) = re.findall(r'<div class="figures">(.*)</div>\s*<h2', page, re.DOTALL)
    assert [group.count(text) for text in ("<div><h3", "<h3", "<img", "</details>", "Next")] == [2, 2, 2, 2, 0]
    apart = html(folded(f"# Title\n\n{part(1)}More.\n\nAnd more.\n\n{part(2)}"), {"a": PNG})
    assert '<div class="figures">' not in apart


def test_verdicts_have_their_colour_and_pages_need_no_other_file() -> None:
    page = html("# Title\n\nIt holds: **no**, [there](corpus.md#files).\n\n![A](figures/a.png)\n", {"a": b"png"})
    assert '<strong class="no">no</strong>' in page and 'href="corpus.html#files"' in page
    assert "prefers-color-scheme: dark" in page and "@media print" in page and "aria-sort" in page
    assert not re.search(r'(?:src|href)="(?!data:|#|corpus\.html)', page) and "http" not in page
    with pytest.raises(KeyError):
        html("![B](figures/b.png)", {})


def dumped(page: Path, profile: Path) -> str:
    """The page's DOM after its scripts have run."""
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={profile}", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout


def printed(dom: str) -> list:
    match = re.search(r"<pre>(.*)</pre>", dom, re.DOTALL)
    assert match is not None, dom[:500]
    return json.loads(html_package.unescape(match[1]))


@in_browser
def test_no_page_is_wider_than_its_window(tmp_path: Path) -> None:
    """It checks the report in `reports`, or in the folder that REPORT_IN_BROWSER names."""
    folder = Path(os.environ["REPORT_IN_BROWSER"])
    pages = sorted((folder if folder.is_dir() else ROOT / "reports").glob("*.html"))
    frames = [
        f'<iframe src="{page.as_uri()}" data-name="{page.stem} at {width}" style="border:0;width:{width}px"></iframe>'
        for page in pages
        for width in (1400, 420)
    ]
    script = """<script>addEventListener("load", () => {
      const widths = [...document.querySelectorAll("iframe")].map((frame) =>
        [frame.dataset.name, frame.contentDocument.documentElement.scrollWidth - frame.clientWidth]);
      document.body.innerHTML = "<pre>" + JSON.stringify(widths) + "</pre>"; })</script>"""
    (tmp_path / "all.html").write_text("".join(frames) + script)
    excess = printed(dumped(tmp_path / "all.html", tmp_path / "profile"))
    assert len(excess) == 2 * len(pages) > 0
    assert not [entry for entry in excess if entry[1] > 0]


@in_browser
def test_a_click_sorts_by_value_and_the_box_filters(tmp_path: Path) -> None:
    values = ["1,024", "-3.5%", "+12", "-", "≥ 20%", "1e-3", "text", "7 <small>[99 to 100]</small>", "2 ms", "3 µs"]
    table = Table(["Name", "Value"], [[f"row {k}", value] for k, value in enumerate(values)], right=1)
    script = """<script>addEventListener("load", () => {
      const order = () =>
        [...document.querySelectorAll("tbody tr:not([hidden])")].map((row) => row.cells[0].textContent);
      const header = document.querySelectorAll("th")[1], orders = [];
      for (let click = 0; click < 3; click++) { header.click(); orders.push(order(), header.ariaSort); }
      const box = document.querySelector("input[type=search]");
      box.value = "row 7"; box.dispatchEvent(new Event("input"));
      document.body.innerHTML = "<pre>" + JSON.stringify([...orders, order()]) + "</pre>"; })</script>"""
    page = html(f"# Title\n\n{table}\n", {}).replace("</body>", f"{script}</body>")
    (tmp_path / "page.html").write_text(page)
    up, ascending, down, descending, original, none, rest = printed(
        dumped(tmp_path / "page.html", tmp_path / "profile")
    )
    sizes = [1, 9, 5, 8, 7, 2, 4, 0]
    assert up == [f"row {k}" for k in [*sizes, 6, 3]] and ascending == "ascending"
    assert down == [f"row {k}" for k in [*sizes[::-1], 6, 3]] and descending == "descending"
    assert original == [f"row {k}" for k in range(10)] and none == "none" and rest == ["row 7"]
