"""The page on processors: ranking on the in-order processor, a column for each judge."""

from __future__ import annotations

import pandas as pd

from pipeline.processors.page import agreement, cycles, fresh, guess
from tests.report import made, processors

EVIDENCE = made.evidence(
    processors.results().sample(frac=1, random_state=0),
    parts=processors.by_length(),
    timelines=processors.examples(),
)


def test_methods_are_ranked_by_cycles_on_the_in_order_processor() -> None:
    shown = cycles.section(EVIDENCE)
    assert shown["in_order"] == "atom" and shown["others"] == ["haswell", "haswell_100"]
    assert list(shown["ratios"]) == ["5 instructions", "10 to 40 instructions"]
    table = shown["ratios"]["10 to 40 instructions"]
    assert table.head == ["Scheduler", "Decoder", "µs per block", "On a Zen 4, once", "atom", "haswell", "haswell_100"]
    best, learned, gcc, drawn = table.lines
    assert [line[:2] for line in table.lines] == [
        ["CP-SAT", "-"], ["Learned atom", "greedy"], ["GCC", "-"], ["Random legal", "-"]
    ]  # fmt: skip
    assert best[2:] == ["1,135", "-", "0.9200 <small>[0.9100 to 0.9300]</small>", "-", "-"]
    assert learned[2:4] == ["-", "1,148"], "its weights were not stored: there is only the earlier run"
    assert learned[5].startswith("0.9650") and gcc[2] == "-" and drawn[4].startswith("1.0200")


def test_shares_and_proven_optima() -> None:
    shown = cycles.section(EVIDENCE)
    best, mean = "1.0000 <small>[0.9900 to 1.0100]</small>", "0.9200 <small>[0.9100 to 0.9300]</small>"
    shares = ["50.0%", "30.0%", "20.0%", "10.0%"]
    assert shown["shares"]["5 instructions"].lines[0] == ["CP-SAT", "-", best, mean, *shares, "500"]
    proven = shown["proven"].lines
    assert [line[:2] for line in proven] == [["5 instructions", "CP-SAT"], ["10 to 40 instructions", "CP-SAT"]]
    assert proven[0][2].startswith("99.0%") and proven[0][3].startswith("97.0%")


def test_processors_outside_the_parameters_come_last() -> None:
    settings = {"processors": {"targets": ["haswell"]}}
    fewer = made.evidence(processors.results(), params=made.PARAMS | {"experiments": settings})
    assert cycles.section(fewer)["ratios"]["5 instructions"].head[4:] == ["haswell", "haswell_100", "atom"]


def test_by_length_shows_the_best_of_each_method() -> None:
    lengths = processors.by_length()
    worse = lengths[lengths["method"] == "random_legal"].assign(method="input_order", value=1.5)
    again = lengths[lengths["method"] == "cp_sat"].assign(method="cp_sat_alone", value=0.99)
    drawn = cycles.section(made.evidence(processors.results(), parts=pd.concat([lengths, worse, again])))["figures"]
    figure = drawn["processors_length"]()
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["CP-SAT", "Learned atom, greedy", "GCC", "Random legal", "Input order"]
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["atom", "haswell", "haswell_100"]


def test_the_best_on_development_blocks_is_shown_on_fresh_blocks() -> None:
    rows = processors.fresh()
    better = (rows["set"] == "fresh_10_40") & (rows["method"] == "gcc")
    shown = fresh.section(made.evidence(rows.assign(value=rows["value"].mask(better, 0.5))))
    atom, haswell = shown["short"].lines[:2]
    assert atom[:2] == ["atom", "CP-SAT"] and haswell[:2] == ["haswell", "Learned atom, greedy"]
    assert shown["short"].head[2:] == ["development, 10 to 40 instructions", "fresh, 10 to 40 instructions"]
    assert atom[2] == atom[3] and atom[2].startswith("0.9200")
    first = shown["ratios"]["fresh, 10 to 40 instructions"].lines[0]
    assert first[0] == "GCC" and first[2].startswith("0.5000")


def test_without_rows_there_is_nothing() -> None:
    assert cycles.section(made.evidence()) == {"ratios": {}}
    assert not agreement.section(made.evidence())["agreement"]


def test_agreement_with_llvm_mca_blocks_first_and_classes_by_number() -> None:
    rows = processors.agreement().sample(frac=1, random_state=0)
    shown = agreement.section(made.evidence(rows, deviations=processors.deviations()))
    assert list(shown["agreement"]) == ["development, 4 to 40, Qt 5.6", "random sequences"]
    assert shown["equal"] == ["atom"]
    atom, haswell = shown["agreement"]["random sequences"].lines
    assert atom[:2] == ["atom", "100.000% <small>[99.000 to 101.000]</small>"]
    assert haswell[:2] == ["haswell", "99.000% <small>[98.000 to 100.000]</small>"]
    assert haswell[3].startswith("0.0100") and haswell[4] == "30" and haswell[5].startswith("0.9900")
    assert haswell[6:] == ["-", "-", "5,000", "25,000"]  # no Kendall
    assert [line[1:4] for line in shown["deviations"].lines] == [
        ["development, 4 to 40, Qt 5.6", "units", "1"],
        ["random sequences", "memory barrier", "43"],
        ["random sequences", "units", "7"],
    ]
    assert shown["deviations"].lines[1][4:] == ["`mfence; mov (%rcx),%rdx`", "8", "10"]
    assert list(shown["meanings"]) == ["memory barrier", "units"]


def test_the_first_guess_over_the_best_unseen_and_at_equal_calls() -> None:
    shown = guess.section(made.evidence(processors.guesses()))
    [gaps] = shown["gaps"].values()
    assert gaps.head == ["Scheduler", "Decoder", "atom", "haswell", "Blocks"]
    assert [line[0] for line in gaps.lines] == ["Search", "First guess"], "the nearest first, without the unseen"
    assert gaps.lines[1][2].startswith("0.30%") and gaps.lines[1][4] == "500"
    assert [line[:2] for line in shown["unseen"].lines] == [["atom", "atom, haswell"], ["haswell", "atom, haswell"]]
    assert shown["unseen"].lines[0][2].startswith("0.40%") and shown["unseen"].lines[0][3].startswith("0.70%")
    assert [line[0] for line in shown["calls"].lines] == ["atom", "haswell", "all six"]
    assert shown["calls"].lines[2][1].startswith("-2.00%")
    assert set(shown["figures"]) == {"guess_time", "guess_calls"}
    for draw in shown["figures"].values():
        draw()
    assert guess.section(made.evidence()) == {"gaps": {}}
    text, figures = made.page("processors", made.evidence(processors.guesses()))
    assert "### Processors that it has not seen" in text and {"guess_time", "guess_calls"} <= figures
