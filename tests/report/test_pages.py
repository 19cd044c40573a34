"""All pages from some published experiments and from nothing: complete, linked, with commands for missing numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from learned_schedulers.figures import render
from pipeline.lab.claims import declared
from pipeline.lab.page import build, calls, rendering
from pipeline.lab.page.anchors import claims_in
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import WRITERS
from pipeline.lab.page.pages import Page, pages
from tests.report import made, shown

NAMES = [page.name for page in pages()]
SOME = ("devices", "placement_few", "gflownet_paper_sizes", "data_collection", "own_models", "cluster", "exact_flow")


@cache
def evidence_of(name: str) -> Evidence:
    """`some` published experiments, or `none`."""
    if name == "none":
        return made.evidence(made.results([]))
    return replace(shown.evidence(*SOME), states={"devices": "changed: graphs differ", "cluster": "measured"})


@cache
def report_of(name: str) -> build.Report:
    return build.report(evidence_of(name))


def drawn(text: str) -> list[str]:
    return re.findall(r"\(figures/(.*?)\.png\)", text)


@pytest.mark.parametrize("which", ["some", "none"])
def test_every_figure_is_on_one_page(which: str) -> None:
    texts, figures = report_of(which)
    assert sorted(name for text in texts.values() for name in drawn(text)) == sorted(figures)
    assert (len(figures) > 10) == (which == "some")


@pytest.mark.parametrize("which", ["some", "none"])
def test_every_page_is_self_contained_and_every_link_leads_somewhere(which: str) -> None:
    texts, _ = report_of(which)
    htmls = {name: rendering.html(text, dict.fromkeys(drawn(text), b"png")) for name, text in texts.items()}
    assert sorted(htmls) == sorted(NAMES) and not any("| --" in page for page in htmls.values()), "a table is no table"
    ids = {name: set(re.findall(r'id="(.*?)"', page)) for name, page in htmls.items()}
    for name, text in texts.items():
        assert htmls[name].count("data:image/png;base64,") == len(drawn(text))
        for link in re.findall(r"(?<!!)\[[^]]*\]\(((?!https)[^)]*)\)", text):
            target, _, place = link.partition("#")
            page = target.removesuffix(".md") or name
            assert page in NAMES and (not place or place in ids[page]), f"{name}.md: {link}"


@pytest.mark.parametrize("which", ["some", "none"])
def test_tables_have_as_many_cells_in_every_line(which: str) -> None:
    for name, text in report_of(which).texts.items():
        for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(widths) == 1 and widths != {2}, f"{name}: {table[:200]}"


def test_every_claim_has_one_place_and_a_measured_one_is_answered_on_the_page_of_its_experiment() -> None:
    claimed = evidence_of("some").claims
    places = [(name, claim) for name, text in report_of("some").texts.items() for claim in claims_in(text)]
    page_of = {claim: name for name, claim in places}
    assert sorted(page_of) == sorted(claimed["claim"]) and len(page_of) == len(places)
    for row in claimed[claimed["value"].notna()].to_dict("records"):
        owners = {page.name for page in pages() if row["source"].split()[0] in page.experiments}
        assert not owners or page_of[row["claim"]] in owners, row["claim"]


def test_every_claim_of_an_answer_is_declared_and_is_printed_by_a_known_writer() -> None:
    names = {claim.name for claim in declared()}
    assert not [name for page in pages() for name in page.answer if name not in names]
    assert {claim.write for claim in declared()} <= set(WRITERS)
    assert {claim.front for claim in declared()} - {""} <= {page.name for page in pages() if page.card}


def test_the_first_page_lists_all_pages_and_unpublished_experiments() -> None:
    text, evidence = report_of("some").texts["index"], evidence_of("some")
    missing = dict(re.findall(r"\((\w+)\.md\)\*\*: .*Not published yet: `(.*?)`\.\*", text))
    missed = {page.name: [name for name in page.experiments if not evidence.measured(name)] for page in pages()}
    assert missing == {page: "`, `".join(names) for page, names in missed.items() if names}
    for page in pages()[1:]:
        assert f"[{page.title}]({page.name}.md)**: {page.question}" in text


def test_every_page_says_where_its_numbers_come_from() -> None:
    text = report_of("some").texts["devices"]
    assert re.search(r"^Numbers: 1 experiment, published [-\d]+, 1 \*\*changed\*\*", text, re.MULTILINE)
    (origin,) = re.findall(r"^\| `devices` \| (.*) \|$", text, re.MULTILINE)
    assert origin.endswith("changed: graphs differ")
    before, after = (
        re.sub(r"^Numbers: .*$", "", report.texts["devices"], flags=re.MULTILINE).partition("## Provenance")[0]
        for report in (report_of("some"), build.report(replace(evidence_of("some"), states={})))
    )
    assert before == after  # nothing else depends on the states


def test_each_missing_experiment_is_named_with_its_command() -> None:
    named = {
        command
        for text in report_of("none").texts.values()
        for command in re.findall(r"Not measured yet: `((?:snakemake|python -m|git restore|make) [^`]*)`\.", text)
    }
    expected = {f"snakemake data/published/{name}.done" for name in ("devices", "gflownet", "fusion")}
    expected |= {f"python -m benchmarks.{name}" for name in ("gpu_times", "cluster", "operator", "ingest")}
    expected |= {
        f"git restore reports/published/{name}"
        for name in ("blocks_scale", "faults", "own_cycles", "saga_peers", "own_split", "this_machine")
    }
    assert expected <= named
    again = "".join(report_of("some").texts.values())
    assert not [name for name in SOME if f"`snakemake data/published/{name}.done`" in again]


PLACE = {"experiment": "attempted", "set": "a", "metric": "gap"}
ROWS = made.results(
    [
        PLACE | {"method": "heft", "value": 0.25},
        PLACE | {"method": "brkga", "value": 0.125, "low": float("nan"), "high": float("nan")},
        PLACE | {"method": "heft", "set": "b", "value": 0.5},
    ]
)


@pytest.fixture
def attempted() -> calls.Calls:
    """Calls of a page of made-up rows."""
    return calls.Calls(made.evidence(ROWS), Page(name="attempted", body="", experiments=["attempted"]), {})


def test_tables_are_of_the_rows_that_they_name(attempted: calls.Calls) -> None:
    columns = {
        "Gap": "percent metric=gap",
        "Paper": {"heft": "0.3"},
        "Blocks": "count:n metric=gap",
        "None": "two metric=x",
    }
    table = attempted.table("attempted", columns, order={"method": ["heft"]}, names={"brkga": "Genes"}, set="a")
    assert table.head == ["Method", "Gap", "Paper", "Blocks"]
    assert table.lines == [
        ["HEFT", "25.0% <small>[24.0 to 26.0]</small>", "0.3", "100"],
        ["Genes", "**12.5%**", "-", "100"],  # the best is bold
    ]
    ranked = attempted.table("attempted", {"Gap": "percent metric=gap"}, rank="Gap", set="a")
    assert [line[0] for line in ranked.lines] == ["BRKGA", "HEFT"]
    assert (
        str(attempted.table("absent", columns)) == ""
        and attempted.cell("attempted", "two metric=gap", method="brkga") == "0.12"
    )
    by_set = attempted.table("attempted", {"Gap": "two metric=gap method=heft"}, each=["set"], heads={"set": "Blocks"})
    assert by_set.head[0] == "Blocks" and [line[0] for line in by_set.lines] == ["a", "b"]


def test_methods_are_compared_in_one_figure(attempted: calls.Calls) -> None:
    where = {"experiment": "attempted", "set": "a", "metric": "gap"}
    text = attempted.compared("gaps", "Gaps of methods", "Gap", ["brkga", "heft", "absent"], {"heft": 0.3}, **where)
    assert text == "![Gaps of methods](figures/gaps.png)" and render(attempted.figures["gaps"]()).startswith(b"\x89PNG")
    assert attempted.compared("none", "", "", ["absent"], **where) == "" and list(attempted.figures) == ["gaps"]
    assert attempted.picture("unknown", "", "Lead:") == ""
    assert (
        attempted.missing("attempted") == ""
        and attempted.missing("absent")
        and attempted.first("absent", "attempted") == "attempted"
    )
