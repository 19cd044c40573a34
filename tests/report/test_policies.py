"""The page of policies: its tables agree with the rows, its figures can be drawn, missing parts are left out."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any

import pytest

from learned_schedulers.figures import render
from pipeline.lab import paper_devices as paper
from pipeline.lab.page import build
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label, set_label
from pipeline.lab.page.tables import Table
from pipeline.lab.rows import results
from pipeline.policies.page import answers, exactness, gains, generalisation, paper_sizes, paper_tables, temperature
from pipeline.policies.page.shared import gain, with_extensions
from tests.report import made, policies
from tests.report.policies import METHODS, PUBLISHED, SETS, cost

FULL = policies.evidence(*PUBLISHED)
HEADINGS = {
    "gflownet": ("### Gains: unseen real graphs", "### Table 2: unseen", "## Good or diverse"),
    "gflownet_one_graph": ("methods called *long*",),
    "gflownet_small_graph": ("### The paper's network against",),
    "gflownet_paper_sizes": ("## On the paper's sizes", "### What is saved against each"),
}


page = partial(made.page, "policies")


@cache
def full_page() -> tuple[str, set[str]]:
    return page(FULL)


@cache
def of_full() -> dict[str, Any]:
    """The paper's tables of everything that was published."""
    return paper_tables.section(FULL)


def cells(table: Table, first: str) -> dict[str, str]:
    """Heading -> the cell of the line that begins so, without its interval."""
    (line,) = [cells for cells in table.lines if cells[0] == first]
    return {head: cell.partition(" <small>")[0] for head, cell in zip(table.head, line, strict=True)}


def test_everything_that_was_published_is_shown() -> None:
    text, drawn = full_page()
    assert "Not measured yet" not in text and "not measured" not in text.partition("### Further questions")[0]
    for heading in chain.from_iterable(HEADINGS.values()):
        assert heading in text
    assert drawn == set(re.findall(r"\(figures/(.*?)\.png\)", text)) == {
        "policies_sigma", "policies_exactness", "policies_probabilities", "policies_over_strength", "front_gflownet",
        "policies_gantt_gflownet_1", "policies_gantt_gflownet_2",
        "policies_gantt_gflownet_one_graph_1", *(f"policies_training_{name}" for name in SETS),
    }  # fmt: skip


@pytest.mark.slow
def test_every_figure_can_be_drawn() -> None:
    for draw in build.page_figures(made.declared_page("policies"), FULL).values():
        assert render(draw())[:4] == b"\x89PNG"


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["gflownet", "gflownet_one_graph", "exact_flow", "gflownet_paper_sizes"])
def test_a_section_whose_numbers_are_missing_is_left_out(missing: str) -> None:
    text, drawn = page(policies.evidence(*(name for name in PUBLISHED if name != missing)))
    for experiment, headings in HEADINGS.items():
        assert all((heading in text) == (experiment != missing) for heading in headings)
    assert not [name for name in drawn if name.startswith(f"policies_training_{missing}") and name.endswith(missing)]
    assert drawn == set(re.findall(r"\(figures/(.*?)\.png\)", text))
    assert not re.search(r"^:|\n#+ [^\n]*\n+(?=#+ |\Z)", text.replace("## The paper's tables\n", "")), "empty section"


def test_without_any_numbers_the_page_says_what_it_is_and_how_to_make_them() -> None:
    text, drawn = page(policies.evidence())
    commands = re.findall(r"(?:Not measured yet|Its numbers are missing): `(.*?)`", text)
    assert commands == ["snakemake data/published/gflownet.done", "git restore reports/published/exact_flow"]
    assert not drawn and "proxy" in text


@pytest.mark.parametrize("method", METHODS)
def test_speedups_are_those_of_the_rows_beside_the_papers(method: str) -> None:
    shown = of_full()
    for name, numbers in (("table_1", paper.TABLE_1), ("table_3", paper.TABLE_3)):
        line = cells(shown[name], label(method))
        assert line["latency"] == f"{3 / cost(method):.2f}"
        assert line["latency, paper"] == (f"{numbers[method]['latency']:.2f}" if method in numbers else "-")
    line = cells(shown["table_2"], label(method))
    assert line["Best, paper"] == (f"{paper.TABLE_2[method][0]:.2f}" if method in paper.TABLE_2 else "-")
    assert line["Mean of the kept"] == f"{2.9 / cost(method):.2f}"
    several = method not in ("list_scheduling", "heft")
    share = 0.08 * METHODS.index(method) if several else 0.0
    assert line["Chain edges that differ"] == f"{100 * share:.1f}%"
    assert line["Start times"] == line["Start times and placement"] == f"{10 * share:.2f}"


def test_two_cores_have_a_column_where_they_executed_a_gflownet() -> None:
    heading = "two cores: makespan over list scheduling's"
    assert heading not in paper_tables.section(FULL)["table_3"].head
    row = {"experiment": "this_machine", "set": "executed_real", "target": "this_machine", "method": "gflownet"}
    row |= {"judge": "this_machine", "metric": "makespan", "comparison": "ratio", "baseline": "list_scheduling"}
    rows = policies.results([*policies.rows_of("gflownet"), row | {"value": 0.875}])
    shown = paper_tables.section(Evidence(FULL.params, rows, FULL.tables))["table_3"]
    assert cells(shown, "GFlowNet")[heading] == "0.8750" and cells(shown, "PPO")[heading] == "-"


def test_gains_are_what_is_saved_and_bold_where_they_are_certain() -> None:
    assert gain({"value": 0.9, "low": 0.85, "high": 0.95}) == "**+10.0%** <small>[+5.0 to +15.0]</small>"
    assert gain({"value": 1.1, "low": 1.05, "high": 1.15}).startswith("**-10.0%**")
    assert gain({"value": 0.99999, "low": 0.9, "high": 1.1}) == "0.0% <small>[-10.0 to +10.0]</small>"
    assert gain(None) == "-"
    by_rule = gains.section(FULL)["sets"][set_label("unseen_real")]
    assert len(by_rule) == 2
    for table in by_rule.values():
        assert [line[0] for line in table.lines[::5]] == [
            label(name) for name in ("gflownet", "gflownet_drawn", "gflownet_on_target")
        ]
        saved = 100 * (1 - cost("gflownet") / cost("ppo"))
        (line,) = [line for line in table.lines if line[:2] == ["GFlowNet", "PPO"]]
        assert all(f"{saved:+.1f}%" in cell for cell in line[2:])


def test_temperatures_rise_and_are_those_of_one_network() -> None:
    assert temperature.temperatures(FULL) == policies.SIGMAS
    section = temperature.section(FULL)
    table = section["tables"][set_label("unseen_synthetic")]
    assert [line[1] for line in table.lines] == ["0.005", "0.02", "0.1"]
    assert cells(section["correlations"], set_label("unseen_synthetic"))["Sigma and their mean speedup"] == "-0.80"


def test_gaps_to_the_best_known_are_shown_by_set() -> None:
    shown = generalisation.section(FULL)
    line = cells(shown["gaps"], label("gflownet_drawn"))
    assert [line[set_label(name)] for name in ("one_graph", "unseen_synthetic", "unseen_large")] == 3 * ["3.0%"]
    assert line[f"Graphs with a schedule, {set_label('unseen_real')}"] == "75.0%"
    family = cells(shown["families"][set_label("unseen_synthetic")], "layered")
    assert family["GFlowNet"] == f"{cost('gflownet'):.4f}"


def test_questions_are_answered_by_the_interval_alone() -> None:
    shown = answers.section(FULL)
    head, *_ = shown["against"].lines
    peers = dict(zip(shown["against"].head, head, strict=True))
    assert peers["Against List scheduling"].startswith("**yes**, 6.2%")
    assert peers["Against PPO"].startswith("**yes**, 1.3%")
    large = [line for line in shown["against"].lines if line[0] == set_label("unseen_large")]
    assert [line[1] for line in large] == [
        *(f"Shorter on {target}?" for target in policies.TARGETS[:4]),
        "More diverse?",
    ]
    line = cells(shown["asked"], "Does it make them slower on average? (rank correlation)")
    assert line["Wanted"] == "< -0.500" and line["Paper"] == "yes"
    assert line[set_label("unseen_synthetic")] == "**yes**, -0.800" and line[set_label("one_graph")] == "-"
    assert cells(shown["asked"], "Told the target, is it shorter than HEFT on latency?")["Wanted"] == "> 0"
    wide = {"low": 0.9, "high": 1.1}
    rows = policies.rows_of("gflownet")
    for row in rows:
        row |= wide if row["metric"] == "makespan" else {}
    unsure = answers.section(Evidence(FULL.params, policies.results(rows), {}))["against"]
    assert all("**uncertain**" in line[2] for line in unsure.lines if line[1].startswith("Shorter"))


def test_of_several_graphs_the_worst_answers() -> None:
    rows = policies.rows_of("exact_flow")
    rows[0]["value"] = 0.2
    exact = answers.section(Evidence(FULL.params, policies.results(rows), {}))["exact"]
    assert [line[2].partition(" <small>")[0] for line in exact.lines] == ["**no**, 0.200", *2 * ["**yes**, 0.020"]]


def test_draws_are_compared_with_those_of_a_perfect_sampler() -> None:
    tables = exactness.section(FULL)["tables"]
    assert list(tables) == ["1", "0.3", "0.1"]
    line = cells(tables["0.3"], "in tree 7 on 3")
    assert line["Schedules"] == "480" and line["Draws"] == "100,000" and line["Draws in this range"] == "yes"
    assert line["Range of a perfect sampler's draws"] == "0.055 to 0.066" and line["Error of log Z"] == "-0.003"


def test_tables_have_as_many_cells_in_every_line() -> None:
    text, _ = full_page()
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table[:200]


def test_extensions_of_the_main_experiment_are_shown_with_it() -> None:
    place = {"metric": "makespan", "seed": "all"}
    rows = results(
        place | {"experiment": experiment, "set": name, "method": method, "baseline": baseline, "value": value}
        for experiment, name, method, baseline, value in (
            ("gflownet", "unseen_synthetic", "gflownet", "none", 1.0),
            ("gflownet_uniform", "unseen_synthetic", "gflownet_uniform", "gflownet", 2.0),
            ("gflownet_uniform", "unseen_synthetic", "gflownet", "none", 3.0),
            ("gflownet_large", "unseen_large", "ppo", "none", 4.0),
        )
    )
    shown = with_extensions(lambda evidence: {"rows": evidence.of("gflownet")})(replace(FULL, results=rows))["rows"]
    assert shown[["method", "baseline", "value"]].to_numpy().tolist() == [
        ["gflownet", "none", 1.0],
        ["ppo", "none", 4.0],
        ["gflownet_uniform", "gflownet", 2.0],
    ]


def test_graphs_of_the_papers_sizes_have_the_papers_tables_and_a_curve() -> None:
    shown = paper_sizes.section(FULL)
    assert cells(shown["targets"], "GFlowNet")["latency"] == f"{3 / cost('gflownet'):.2f}"
    assert "pcie" not in shown["targets"].head and len(shown["gains"]) == 2
    assert [line[1][:5] for line in shown["flat"].lines] == ["0.25%"] * 3
    assert set(shown["figures"]) == {"policies_over_strength", "policies_training_gflownet_paper_sizes"}
