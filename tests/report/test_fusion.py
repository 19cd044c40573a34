"""The page of fusion with data collection: claims, tables and figures of their rows; what is missing is said."""

from __future__ import annotations

import pytest

from learned_schedulers.figures import render
from pipeline.collection import figures as of_collection
from pipeline.fusion.figures import _links
from tests.report import shown


@pytest.mark.slow
def test_methods_are_compared_on_every_set_and_figures_can_be_drawn() -> None:
    evidence = shown.evidence("fusion", "fusion_development")
    text, figures = shown.page("fusion", evidence)
    rows = evidence.of("fusion")
    rows = rows[(rows["method"] == "go_fusion") & (rows["metric"] == "run_time") & (rows["baseline"] == "default")]
    ratios = {row["set"]: row["value"] for row in rows.to_dict("records")}
    whole, parts = shown.cells(text, "GO's fusion")
    assert float(whole[0].strip("%")) == pytest.approx(100 * (ratios["fusion_unseen"] - 1), abs=0.01)
    assert float(parts[0].strip("%")) == pytest.approx(100 * (ratios["fusion_unseen_parts"] - 1), abs=0.01)
    assert set(figures) == {"opening_fusion", "fusion_groups", "fusion_kernels", "fusion_training"}
    for draw in figures.values():
        assert render(draw())[:4] == b"\x89PNG"
    for experiment in ("fusion_accelerators", "fusion_joint"):
        assert f"Not measured yet: `snakemake data/published/{experiment}.done`." in text


def test_devices_have_columns_and_a_gpus_launches_are_in_the_text() -> None:
    text, _ = shown.page("fusion", shown.evidence("fusion_accelerators", "fusion_on_gpu", "fusion_joint", "inductor"))
    assert text.count("| Method | T4 | V100 | A100 |") == 3
    assert "4.933 µs" in text and "| Against | PCIe | NVLink | Both links |" in text
    assert len(shown.cells(text, "Default again (control)")) == 1


def test_data_collection_is_on_the_page() -> None:
    evidence = shown.evidence("data_collection")
    text, _ = shown.page("fusion", evidence)
    (asked,) = shown.cells(text, "How much faster are 4,096 CartPoles at once than Gymnasium's, one by one?")
    assert asked[:2] == ["> 1×", "up to 1,024× (GPU)"]
    assert [line[-1] for line in shown.cells(text, "Best")] == [shown.cells(text, "Best")[0][-1]]
    (draw,) = of_collection.figures(evidence).values()
    assert render(draw())[:4] == b"\x89PNG"


def test_a_kernel_in_parts_is_joined_by_one_line_between_each_two() -> None:
    parents = {0: [], 1: [0], 2: [], 3: [], 4: [3]}
    assert sorted(_links({0, 1, 3, 4}, parents)) == [(0, 1), (1, 3), (3, 4)]
    assert list(_links({2}, parents)) == []
