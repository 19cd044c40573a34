"""The page of imitators: numbers of the right rows, figures, and what is missing."""

from __future__ import annotations

from learned_schedulers.figures import render
from tests.report import shown

NAMES = ("imitation", "imitation_second", "imitation_speed", "imitation_ablation", "imitation_scaling")


def test_tables_show_their_rows() -> None:
    evidence = shown.evidence(*NAMES)
    text, figures = shown.page("imitation", evidence)
    rows = evidence.of("imitation_second")
    second = rows[(rows["method"] == "attention_pointer_second") & (rows["decoder"] == "greedy")]
    exact = second[(second["metric"] == "exact_match") & (second["set"] == "fresh_5")]
    (cells,) = shown.cells(text, "fresh, 5 instructions", "Attention pointer second", "greedy")
    assert cells[0] == f"{100 * exact['value'].iloc[0]:.1f}%" and cells[-1] == f"{exact['n'].iloc[0]:,}"
    (asked,) = shown.cells(text, "Exact match, 5 instructions (block alone, greedy)")
    assert asked[:2] == ["≥ 90.0%", "39.7%"] and asked[3] == "**no**"
    assert shown.cells(text, "Blocks 1000")[0][:2] == ["1,000", "1,221,249"]
    assert "`snakemake data/published/imitation_input.done`" in text
    assert set(figures) == {
        "opening_imitation",
        *(f"imitation_{name}" for name in ("length", "reliability", "training")),
    }
    for draw in figures.values():
        assert render(draw())


def test_without_numbers_the_page_says_what_to_run() -> None:
    text, figures = shown.page("imitation", shown.evidence("paper"))
    assert not figures and "`snakemake data/published/imitation.done`" in text
