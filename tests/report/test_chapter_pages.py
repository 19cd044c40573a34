"""The page of each chapter shows the rows of the published experiments in the right cells, and its figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.order.targets import TARGETS
from learned_schedulers.figures import render
from pipeline.corpus import prepared
from pipeline.devices import figures as of_devices
from pipeline.fusion.figures import _links
from pipeline.own_code.claims import PROCESSORS
from pipeline.processors import figures as of_processors
from tests.report import made, shown

Printed = Callable[[float], str]
BEST = {"decoder": "best", "metric": "makespan"}


class Cell(NamedTuple):
    """A cell of a page: of a line by its first cells, so many cells behind these; and a row of results."""

    line: tuple[str, ...]
    place: int
    printed: Printed  # the row's value in the cell
    row: dict[str, str]


def percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def more(value: float) -> str:
    return percent(value - 1)


CELLS: dict[str, tuple[tuple[str, ...], list[Cell]]] = {  # page -> published experiments, cells
    "devices": (
        ("devices", "excluded_optimum"),
        [
            Cell(
                ("Randomised list",), place, lambda value: f"{100 * (value - 1):+.2f}%",
                BEST | {"set": "unseen_real", "method": "randomised_list", "baseline": "list_scheduling", "target": on},
            )
            for place, on in enumerate(("proxy", "noisy", "bandwidth", "latency"))
        ],
    ),
    "fusion": (
        ("fusion", "fusion_development"),
        [
            Cell(("GO's fusion",), 0, lambda value: f"{100 * (value - 1):.2f}%".replace("-0.00", "0.00"), {
                "set": "fusion_unseen", "method": "go_fusion", "metric": "run_time", "baseline": "default"})
        ],
    ),
    "imitation": (
        ("imitation", "imitation_second", "imitation_speed", "imitation_ablation", "imitation_scaling"),
        [
            Cell(("fresh, 5 instructions", "Attention pointer second", "greedy"), 0, percent, {
                "experiment": "imitation_second", "set": "fresh_5", "method": "attention_pointer_second",
                "decoder": "greedy", "metric": "exact_match"})
        ],
    ),
    "outside": (
        ("outside_instances", "saga_peers", "mutated_instances"),
        [
            Cell(("Taillard's job-shops", "Policy, one greedy schedule"), 1, percent, {
                "set": "taillard", "method": "job_shop_policy", "metric": "gap"})
        ],
    ),
    "own_models": (
        ("own_models", "own_model_times", "own_model_memory", "own_split", "own_graph_answer"),
        [
            Cell(("torch modules",), 0, "{:.0f}".format, {"set": "modules", "method": "graph", "metric": "models"}),
            Cell(("How far are FLOPs from hand calculation and torch's counter?",), 1,
                 lambda value: f"{100 * value:.2f}%", {"set": "all", "method": "all", "metric": "flops_error"}),
        ],
    ),
    "policies": (
        ("gflownet_paper_sizes", "gflownet_test_bed"),
        [
            Cell(("GFlowNet", "PPO"), 3, lambda value: f"{100 * (value - 1):+.1f}%", BEST | {
                "method": "gflownet", "target": "latency", "baseline": "ppo"})
        ],
    ),
    "processors": (
        ("first_guess", "guess_ablation", "equal_calls", "processors", "processors_speed", "processor_deviations"),
        [
            Cell(("How far is the first guess above the best known order on atom?",), 1,
                 lambda value: f"{100 * (value - 1):.2f}%", {
                     "experiment": "first_guess", "method": "first_guess", "judge": "atom", "baseline": "best",
                     "metric": "cycles", "comparison": "ratio"})
        ],
    ),
    "reproduction": (
        ("paper",),
        [
            Cell(("POPOCS @20", "Hungarian"), 0, percent, {
                "method": "popocs_20", "decoder": "hungarian", "metric": "exact_match", "comparison": "value"})
        ],
    ),
}  # fmt: skip
TEXTS: dict[str, tuple[tuple[str, ...], dict[tuple[str, ...], list[str]]]] = {  # the first cells behind these
    "before_allocation": (
        ("before_allocation", "before_allocation_states"),
        {
            ("**the learned order**", "candidates 1"): ["-2.5%", "50", "+0.2%"],
            ("How many runs compute something else?",): ["= 0", "0", "**yes**"],
        },
    ),
    "operator": (
        ("operator_learning", "operator_speed", "operator_decoding"),
        {
            ("`full`", "Sinkhorn"): ["56.5%", "-"],
            ("row softmax", "Hungarian"): ["86.3%", "50.3%", "7.6%"],
            ("5", "Cyclic", "20"): ["0.25", "0.50", "0.75"],  # medians, 99th percentiles, maxima of softmax proposals
        },
    ),
    "own_code": (
        ("own_cycles", "own_run_times", "own_blocks"),
        {("`tso`", "CP-SAT"): ["-7.07%", "-"], ("pcre2",): ["0.0%", "-0.5%", "+1.5%"]},
    ),
    "scale": (
        ("blocks_scale", "cluster", "faults", "soak"),
        {("How many gigabytes do 30 million blocks need?",): ["≤ 2.50"]},
    ),
}
FIGURES = {
    "before_allocation": ["before_allocation_candidates"],
    "devices": ["opening_devices", "devices_gantt_1", "devices_memory", "devices_anytime"],
    "fusion": ["opening_fusion", "fusion_groups", "fusion_kernels", "fusion_training"],
    "imitation": ["opening_imitation", "imitation_length", "imitation_reliability", "imitation_training"],
    "operator": ["opening_operator", "operator_residuals", "operator_speed", "decoding"],
    "outside": ["outside_gaps", "outside_worst_graphs"],
    "own_code": ["opening_own_code", "own_code_memory"],
    "own_models": ["own_models_totals", "own_models_times"],
    "policies": ["front_gflownet", "policies_over_strength", "policies_training_gflownet_paper_sizes"],
    "processors": ["opening_processors", "guess_calls", "processors_pareto", "processors_block_1"],
    "reproduction": ["accuracy_paper_paper", "figure_3_paper_paper", "training_paper_paper"],
}


def evidence_of(page: str) -> Any:
    more_tables = {"residuals": made.residuals()} if page == "operator" else {}
    return shown.evidence(*(CELLS | TEXTS)[page][0], **more_tables)


@pytest.mark.parametrize("page", CELLS)
def test_cells_are_those_of_the_rows(page: str) -> None:
    evidence = evidence_of(page)
    text, _ = shown.page(page, evidence)
    for cell in CELLS[page][1]:
        rows = evidence.results
        for column, value in ({"seed": "all"} | cell.row).items():
            rows = rows[rows[column] == value]
        (value,) = rows["value"]
        printed = [line[cell.place] for line in shown.cells(text, *cell.line) if len(line) > cell.place]
        assert cell.printed(value) in {text.partition(" <")[0] for text in printed}, cell.line


@pytest.mark.parametrize("page", TEXTS)
def test_cells_are_those_that_were_published(page: str) -> None:
    text, _ = shown.page(page, evidence_of(page))
    for line, expected in TEXTS[page][1].items():
        assert shown.cells(text, *line)[0][: len(expected)] == expected


@pytest.mark.slow
@pytest.mark.parametrize("page", FIGURES)
def test_figures_can_be_drawn(page: str) -> None:
    _, figures = shown.page(page, evidence_of(page))
    assert {*FIGURES[page]} <= {*figures}
    for draw in figures.values():
        assert render(draw())[:4] == b"\x89PNG"


def test_the_corpus_shows_this_run_and_what_is_published() -> None:
    compilers = pd.DataFrame({"source": ["qt56", "qt56", "ffprobe"], "compiler": ["b", "a", "c"]})
    splits = ["training"] * 2 + ["test", "development"]
    legal = pd.DataFrame({"dependencies": "full", "split": splits, "n_legal_orders": [1.0, 4.0, 2.0, 2.0]})
    run = {
        "corpus": made.statistics(),
        "corpus_sources": prepared.sources(made.statistics(), compilers),
        "corpus_splits": prepared.splits(legal),
        "skipped": pd.DataFrame({"source": "qt56", "program": ["lib0.so"], "reason": "r", "remedy": "m"}),
    }
    text, figures = shown.page("corpus", shown.evidence("dag_verification", "ingest", **run))
    assert shown.cells(text, "qt56")[0][:4] == ["a and 1 more", "19", "1,140", "570"]
    assert shown.cells(text, "`full`", "training") == [["2", "50.0%", "2.50", "62.5%"]]
    assert shown.cells(text, "qt56", "r", "lib0.so") == [["m"]]
    lengths, _, ready = figures["corpus"]().axes
    assert [line.get_label() for line in lengths.lines] == ["ffprobe", "qt56"] and len(ready.lines) == 3


def test_pages_have_sections_of_other_chapters() -> None:
    evidence = shown.evidence("this_machine")
    text, _ = shown.page("devices", evidence)
    rows = evidence.results.query("method == 'brkga' and metric == 'makespan'").set_index("baseline")["value"]
    expected = [f"{100 * (rows[baseline] - 1):+.2f}%" for baseline in ("list_scheduling", "one_device")]
    assert [line[:2] for line in shown.cells(text, "BRKGA")] == [expected]
    assert render(of_devices.figures(evidence)["devices_executed"]())[:4] == b"\x89PNG"
    text, _ = shown.page("fusion", shown.evidence("data_collection"))
    (questions,) = shown.cells(text, "How much faster are 4,096 CartPoles at once than Gymnasium's, one by one?")
    assert questions[:2] == ["> 1×", "up to 1,024× (GPU)"]


def test_the_placement_page_counts_every_pair() -> None:
    evidence = shown.evidence("placement_few", "placement_node_by_node", "placing_speed", "whole_graph_scale")
    text, figures = shown.page("placement", evidence)
    rows = evidence.of("placement_few")
    rows = rows[(rows["method"] == "go") & (rows["set"] == "all") & (rows["target"] == "all")]
    every = rows[(rows["metric"] == "makespan") & (rows["baseline"] == "expert") & (rows["lengths"] == "every")]
    (ratio,) = every[every["iterations"] == "none"]["value"]
    methods = text.partition("## Today's methods on every pair")[2].partition("\n## ")[0]
    assert shown.cells(methods, "GO")[0][1] == more(ratio) and "front_go" in figures


def test_figures_of_a_reproduction_on_this_machine_can_be_drawn() -> None:
    """The paper's numbers stand for those of a run."""
    paper = shown.evidence("paper")
    run = {name: paper.tables[name].assign(experiment="quick") for name in ("sweep", "history")}
    run["examples"] = made.examples().assign(dependencies="paper")
    _, figures = shown.page("reproduction", shown.evidence(results=paper.results.assign(experiment="quick"), **run))
    places = {f"{name}_quick_paper" for name in ("accuracy", "figure_3", "training")}
    assert set(figures) == places | {"example_quick_paper_1", "example_quick_paper_2"}
    for draw in figures.values():
        assert render(draw())


def test_no_scheduler_of_the_front_is_better_in_both() -> None:
    _, figures = shown.page("processors", evidence_of("processors"))
    front = np.asarray(figures["processors_pareto"]().axes[0].lines[0].get_ydata())
    assert (np.diff(front) < 0).all()


def test_bars_reach_from_issue_to_write_back() -> None:
    order = {"place": 0, "title": "GCC", "slot": [0, 1], "instruction": "nop", "issue": [0, 3], "latency": [3, 1]}
    for ax in of_processors._timelines(pd.DataFrame(order | {"cycles": 5})).axes:
        assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 3), (3, 1)]
        assert ax.get_title(loc="left") == "GCC: 5 cycles"


def test_a_kernel_in_parts_is_joined_by_one_line_between_each_two() -> None:
    parents = {0: [], 1: [0], 2: [], 3: [], 4: [3]}
    assert sorted(_links({0, 1, 3, 4}, parents)) == [(0, 1), (1, 3), (3, 4)]
    assert list(_links({2}, parents)) == []


def test_the_names_of_processors_are_those_of_the_command() -> None:
    """The claims do not import the command's rooms, which are slow to import."""
    assert PROCESSORS == TARGETS
