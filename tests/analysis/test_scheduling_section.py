"""Schedulers on processor models in the report: ranked on the first processor, every figure shown once."""

from __future__ import annotations

import pandas as pd

from pipeline.config.machines import ProcessorModel
from pipeline.config.params import load
from pipeline.report.processors import cycles as section
from pipeline.report.templates import template
from pipeline.wiring import ROOT
from tests.analysis import scheduling

SETTINGS = load(ROOT / "params.yaml").scheduling.model_copy(
    update={"machines": {name: ProcessorModel(cpu=name, iterations=[1], best="search") for name in ("atom", "haswell")}}
)
MADE = (scheduling.results().sample(frac=1, random_state=0), scheduling.by_length(), scheduling.examples(), SETTINGS)


def render(found: section.Section) -> str:
    return template("processors/cycles.md.j2").render(scheduling=found)


def test_schedulers_are_ranked_by_cycles_on_the_first_processor() -> None:
    found = section.section(*MADE)
    assert found.machines == ["atom", "haswell", "haswell_100"]
    assert list(found.ratios) == ["5 instructions", "10 to 40 instructions"]
    assert [line[:2] for line in found.ratios["5 instructions"]] == [
        ["CP-SAT", "-"],
        ["Learned atom", "greedy"],
        ["GCC", "-"],
        ["Random legal", "-"],
    ]
    best, learned, gcc, _ = found.ratios["10 to 40 instructions"]
    assert best[2:] == ["1,135", "0.9200<br><small>0.9100 to 0.9300</small>", "-", "-"]
    assert learned[4].startswith("0.9650") and gcc[2] == "-"


def test_in_short_each_processor_names_who_needs_the_fewest_cycles() -> None:
    found = section.section(*MADE)
    assert found.short_of == "10 to 40 instructions"
    atom, haswell, _ = found.short
    assert atom[:2] == ["atom", "CP-SAT"] and haswell[:2] == ["haswell", "Learned atom, greedy"]
    assert [cell[:6] for cell in haswell[2:]] == ["0.9650", "-", "0.9650", "-", "-"]


def test_what_the_parameters_no_longer_name_comes_last() -> None:
    *tables, settings = MADE
    fewer = {"machines": {"haswell": settings.machines["haswell"]}, "schedulers": {}, "models": {}}
    found = section.section(*tables, settings.model_copy(update=fewer))
    assert found.machines == ["haswell", "haswell_100", "atom"]
    assert set(section.figures(*tables, settings.model_copy(update=fewer))) == set(section.figures(*MADE))


def test_shares_and_what_is_proven() -> None:
    found = section.section(*MADE)
    best, mean = "1.0000<br><small>0.9900 to 1.0100</small>", "0.9200<br><small>0.9100 to 0.9300</small>"
    shares = ["50.0%", "30.0%", "20.0%", "10.0%"]
    assert found.shares["5 instructions"][0] == ["CP-SAT", "-", best, mean, *shares, "500"]
    assert [line[:2] for line in found.proven] == [["5 instructions", "CP-SAT"], ["10 to 40 instructions", "CP-SAT"]]
    assert found.proven[0][2].startswith("99.0%") and found.proven[0][3].startswith("97.0%")


def test_the_page_shows_every_figure_once() -> None:
    drawn = section.figures(*MADE)
    assert set(drawn) == {"scheduling_pareto", "scheduling_length", "scheduling_block_1", "scheduling_block_2"}
    text = render(section.section(*MADE))
    assert all(text.count(f"figures/{name}.png") == 1 for name in drawn)
    assert len(drawn["scheduling_block_1"].axes) == 4


def test_by_length_shows_the_best_of_each_method() -> None:
    results, lengths, examples, settings = MADE
    worse = lengths[lengths["scheduler"] == "random_legal"].assign(scheduler="input_order", ratio=1.5)
    again = lengths[lengths["scheduler"] == "cp_sat"].assign(scheduler="cp_sat_alone", ratio=0.99)
    figure = section.figures(results, pd.concat([lengths, worse, again]), examples, settings)["scheduling_length"]
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == ["CP-SAT", "Learned atom, greedy", "GCC", "Random legal", "Input order"]


def test_without_rows_the_command_is_named() -> None:
    results, lengths, examples, settings = MADE
    nothing = section.section(results[:0], lengths[:0], examples[:0], settings)
    assert section.figures(results[:0], lengths[:0], examples[:0], settings) == {}
    text = render(nothing)
    assert "Not measured yet: `snakemake data/published/latency.done`" in text and "|" not in text
