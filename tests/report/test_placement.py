"""The page of placed graphs: its tables agree with the rows, its figures can be drawn, missing parts are left out."""

from __future__ import annotations

import io
import re
from functools import partial

import pytest
from PIL import Image

from learned_schedulers.figures import render
from pipeline.lab.claims import declared
from pipeline.lab.page import build
from pipeline.placement.page import answers, executed, few, gains, learning, scale
from tests.report import made, placement
from tests.report.placement import PUBLISHED, cost

FULL = placement.evidence(*PUBLISHED)
page = partial(made.page, "placement")


@pytest.mark.slow
def test_every_figure_is_shown_and_can_be_drawn() -> None:
    text, drawn = page(FULL)
    assert drawn == {
        "placement_graph", "placement_timeline", "placement_memory", "placement_convergence",
        "placement_convergence_seconds", "placement_training", "placement_scale", "placement_few",
        "placement_few_seconds", "front_go",
    }  # fmt: skip
    assert all(f"figures/{name}.png" in text for name in drawn)
    for draw in build.page_figures(made.declared_page("placement"), FULL).values():
        assert Image.open(io.BytesIO(render(draw()))).size[0] > 300


def test_every_claim_is_asked() -> None:
    shown = made.declared_page("placement")
    assert set(answers.QUESTIONS) == {
        claim.name for claim in declared() if claim.row["experiment"] in shown.experiments
    }
    lines = {made.without_anchors(line[0]): line[1:] for line in answers.section(FULL)["questions"].lines}
    gain = 100 * (1 - cost("go") / cost("placed_heft"))
    goal, value, answer = lines["Are its schedules shorter than HEFT's?"]
    assert (goal, value.split(" <small>")[0], answer) == ("> 0", f"{gain:.1f}%", "**yes**")
    goal, value, answer = lines["How many seconds does a decision about 80,000 operations take?"]
    assert (goal, value.split(" <small>")[0], answer) == ("≤ 10.00", "8.01", "**yes**")


def test_a_gain_is_beside_its_head_room() -> None:
    table = gains.by_graph(FULL, "placement", "nvlink")
    line = dict(zip(table.head, table.lines[0], strict=True))
    assert line["Graph"] == "gnmt_8 forward" and line["Operations"] == "1,234"
    assert line["One device, ms"] == "3000.0" and line["Head room"] == "75.0%"
    assert line["GO"] == f"{cost('go') / 2:.3f}"


def test_few_evaluations_have_a_column_each_and_unplaced_graphs_a_line() -> None:
    shown = few.section(FULL)
    (line,) = (line for line in shown["counts"].lines if line[0] == "GO")
    texts = [text.split(" <small>")[0] for text in line[1:]]
    assert texts[:3] == ["+100.0%", "+10.0%", "+1.0%"] and texts[4:6] == ["50.0%", "50.0%"]
    head, lines = shown["some"].head, shown["some"].lines
    assert [line[:2] for line in lines] == [["gnmt_8 forward", "NVLink"], ["gnmt_8 forward", "PCIe"]]
    assert lines[0][head.index("METIS, repaired")] == "-" and lines[0][head.index("GO")] == f"{cost('go') / 0.5:.2f}"


def test_ratios_are_written_as_more_or_less() -> None:
    table = gains.section(FULL)["methods"]["four devices, all"]
    (line,) = (line for line in table.lines if line[0] == "GO")
    assert [text.split(" <small>")[0] for text in line[1:]] == [
        f"{100 * (cost('go') / 3 - 1):.1f}%", f"{100 * (cost('go') / 2 - 1):.1f}%",
        f"+{100 * (cost('go') / 0.5 - 1):.1f}%", f"{100 * (cost('go') / cost('hdp') - 1):.1f}%", "80.0%", "100.0%",
    ]  # fmt: skip
    assert learning.section(FULL)["node_by_node"] and scale.section(FULL)["sizes"].lines[0][0] == "1,000"
    assert [without_interval(cell) for cell in scale.section(FULL)["decisions"].lines[1]] == ["80,000", "20", "20"]


def without_interval(cell: str) -> str:
    return cell.split(" <small>")[0]


def test_executed_schedules_are_beside_the_control() -> None:
    tables = executed.section(FULL)
    assert [without_interval(line[1]) for line in tables["makespans"].lines[:2]] == ["0.0%", "-6.2%"]
    assert [without_interval(line[1]) for line in tables["correlations"].lines] == ["0.50", "0.75"]


@pytest.mark.slow
@pytest.mark.parametrize("missing", PUBLISHED)
def test_what_is_missing_is_left_out(missing: str) -> None:
    text, _ = page(placement.evidence(*(name for name in PUBLISHED if name != missing)))
    assert not re.search(r"\bnan\b", text.lower())


def test_without_anything_the_page_says_what_to_run() -> None:
    text, drawn = page(placement.evidence())
    assert not drawn
    for command in ("snakemake data/published/placement.done", "python -m benchmarks.speed placing",
                    "git restore reports/published/whole_graph_scale",
                    "git restore reports/published/this_machine_placed"):  # fmt: skip
        assert f"`{command}`" in text
