"""The page on users' models, from made-up results; every claim on them finds the row that benchmarks write."""

from __future__ import annotations

import re

import pytest

from pipeline.lab import claims
from pipeline.own_models.claims import OPERATIONS
from pipeline.own_models.page import answers, costs, gpu, memory, pace, reading, splits
from tests.report import made, own_models

CLAIMS = claims.table(own_models.results(), claims.declared())
EVIDENCE = made.evidence(own_models.results(), claims=CLAIMS, refusals=own_models.refusals())
COMMANDS = {
    "own_models": "git restore reports/published/own_models",
    "own_model_times": "python -m benchmarks.own_model_times",
    "gpu_times": "python -m benchmarks.gpu_times",
    "own_model_memory": "python -m benchmarks.own_model_memory",
    "own_split": "git restore reports/published/own_split",
    "own_split_networks": "git restore reports/published/own_split_networks",
    "own_split_answer": "python -m benchmarks.split_answer",
    "own_graph_answer": "python -m benchmarks.graph_answer",
}


def test_refusals_stand_below_their_share() -> None:
    shown = reading.section(EVIDENCE)
    assert [line[0] for line in shown["models"].lines] == ["ONNX files of packages", "torch modules", "**all**"]
    assert shown["models"].lines[1][1:] == ["20", "20", "5.0%", "0"]
    assert shown["refusals"].lines == [
        ["`eight_bits`", "`graph`", "packed \\_\\_weights\\_\\_ \\| give the ONNX file"],
        ["`odd/model.onnx`", "its runtime", "no such operator"],
    ]


def test_flops_have_two_judges_and_a_module_two_forms() -> None:
    shown = costs.section(EVIDENCE)
    assert [line[1:] for line in shown["flops"].lines] == [["89", "1.23%"], ["89", "0.40%"], ["89", "1.23%"]]
    assert shown["forms"].lines == [["FLOPs", "9", "3.0%"], ["expected seconds", "9", "120.0%"]]
    assert shown["apart"]


def test_seconds_of_models_and_the_outliers_by_name() -> None:
    shown = costs.section(EVIDENCE)
    assert [line[0] for line in shown["times"].lines] == ["`bert`", "`speech`", "**all**"]
    assert shown["times"].lines[1][1:] == ["50", "0.90", "35.0%", "0.42"]
    assert shown["outliers"] == "`index` 4.7× (of 7), `_native_tanh` 0.4× (of 7)"


def test_the_pictures_name_models_and_kinds_from_fast_to_slow() -> None:
    figures = costs.section(EVIDENCE)["figures"]
    axes = [figures[name]().axes[0] for name in ("own_models_totals", "own_models_times")]
    names = [[text.get_text() for text in ax.get_yticklabels()] for ax in axes]
    assert names == [
        ["bert (100)", "speech (100)"],
        ["tanh (7)", "addmm (7)", "convolution (7)", "index (7)"],
    ]
    ratios = [[line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"] for ax in axes]
    assert ratios[0] == pytest.approx([1 / 0.98, 1 / 0.42]) and ratios[1] == sorted(own_models.KINDS.values())


def test_a_gpu_by_model_then_all_of_them() -> None:
    shown = gpu.section(EVIDENCE)["table"]
    assert [line[0] for line in shown.lines] == ["`bert`", "`googlenet_1`", "`nasnet_1`", "**ten with batches**"]
    assert shown.lines[1][1:] == ["0.90", "0.50", "0.30", "0.80", "0.90", "0.95", "0.70"]
    assert len(shown.head) == len(shown.lines[0])


def test_memory_of_a_model_by_optimiser() -> None:
    shown = memory.section(EVIDENCE)
    assert shown["table"].lines == [
        ["`resnet18`", "123", *4 * ["+0.02%"]],
        ["`transformer`", "123", *4 * ["-4.00%"]],
    ]
    assert (shown["median"], shown["largest"]) == ("2.01%", "4.00% (`transformer`)")


def test_splits_that_differ_and_the_control() -> None:
    shown = splits.section(EVIDENCE)
    assert shown["table"].lines == [
        ["small modules of all kinds", "80", "20", "600", "62,340", "0"],
        ["whole networks", "80", "20", "600", "62,340", "1"],
    ]
    assert (shown["detected"], shown["cases"], shown["missing"]) == ("100.0%", "60", [])


def test_sizes_in_the_order_of_numbers_behind_the_start() -> None:
    shown = pace.section(EVIDENCE)
    assert [line[:2] for line in shown["graph"].lines] == [
        *([f"{size:,}", "the default"] for size in OPERATIONS),
        ["12", "`--by go`"],
    ]
    assert shown["graph"].lines[0][2:] == ["1.50 <small>[1.20 to 1.80]</small>", "3.5 <small>[3.2 to 3.8]</small>"]
    assert shown["start_up"] == "1.60"
    assert shown["split"].lines[0][1].startswith("27.5")


def test_each_claim_has_its_question_and_its_row() -> None:
    table = EVIDENCE.claims.set_index("claim")
    declared = [claim.name for claim in claims.declared() if re.match(r"own_(models|model|split|streams)_", claim.name)]
    assert sorted({**answers.OF_COSTS, **answers.OF_ANSWERS}) == sorted(declared)
    verdicts = table.loc[declared, "holds"].to_dict()
    wrong = {name for name, verdict in verdicts.items() if verdict != "yes"}
    assert wrong == {
        "own_split_networks_different",
        "own_model_decision_seconds_10000",
        "own_models_forms_seconds_difference",
    }
    assert sum(len(part.lines) for part in answers.section(EVIDENCE).values()) == len(declared)


@pytest.mark.parametrize("experiment", list(COMMANDS))
def test_the_page_is_whole_without_an_experiment(experiment: str) -> None:
    rows = own_models.results()
    text, _ = made.page("own_models", made.evidence(rows[rows["experiment"] != experiment]))
    missing = r"(?:Not measured yet|Its numbers are missing): `(.*?)`"
    assert re.findall(missing, text) == [COMMANDS[experiment]]
    assert not re.search(missing, made.page("own_models", made.evidence(rows))[0])
