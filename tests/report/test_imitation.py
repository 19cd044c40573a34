"""The page on imitators: every cell comes from its row, the sequence comes from the parameters."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pandas as pd
import pytest

from learned_schedulers.blocks.models.decoders import DECODERS
from pipeline.imitation.page import comparison
from pipeline.imitation.page.rows import leading
from pipeline.lab import claims
from pipeline.lab.page.names import set_label
from tests.report import imitations, made

RESULTS = imitations.results().sample(frac=1, random_state=0)  # rows in no order of their own
EVIDENCE = made.evidence(RESULTS)
SHOWN = comparison.section(EVIDENCE)


def small(value: float, digits: int = 1, unit: str = "%", half: float = 1.0) -> str:
    return f"{value:.{digits}f}{unit} <small>[{value - half:.{digits}f} to {value + half:.{digits}f}]</small>"


def test_every_cell_of_the_main_table_is_that_of_its_row() -> None:
    expected = []
    always = "100.0% <small>[100.0 to 100.0]</small>"
    for name, n in imitations.TESTED.items():
        level = imitations.LEVEL[name]
        shown = [("greedy", level), ("beam search", level + 0.01), ("one sample", level - 0.08)]
        lines = [("Attention pointer", decoder, exact) for decoder, exact in shown]
        lines += [("Random legal", "-", 0.3), ("Input order", "-", 0.35), ("Critical path", "-", 0.4)]
        for method, decoder, exact in lines:
            shares = [small(100 * value) for value in (exact, exact - 0.1, exact + 0.05)]
            tau = small((1 - exact) / 5, 3, "", 0.01)
            expected.append([set_label(name), method, decoder, *shares, tau, always, f"{n:,}"])
    assert SHOWN["main"].lines == expected
    assert SHOWN["sizes"].lines == [["Attention pointer", "1,204,000", "2.4", "2,400,000"]]


def test_the_speed_of_the_command_is_that_of_its_rows() -> None:
    (line,) = SHOWN["command"].lines
    assert line[:3] == ["4 to 40, same programs", "Attention pointer", "greedy"]
    assert line[3:] == [
        "9,120 <small>[8,800 to 9,300]</small>",
        "2.50 <small>[2.40 to 2.60]</small>",
        "4.70 <small>[4.50 to 4.90]</small>",
        "20,000",
        "0",
    ]


def test_goals_are_beside_the_paper_and_the_results() -> None:
    answers = claims.table(imitations.results(), claims.declared())
    table = comparison.section(replace(EVIDENCE, claims=answers))["goals"]
    assert table.head[:4] == ["Question", "Paper", "Goal", "Attention pointer, greedy"] and len(table.head) == 7
    five, tau, same, unseen, valid = (line[1:4] for line in table.lines)
    assert five == ["39.7%", "≥ 90.0%", "**uncertain**, 91.0% <small>[90.0 to 92.0]</small>"] or "yes" in five[2]
    assert tau[:2] == ["0.222", "≤ 0.020"] and tau[2].startswith("**uncertain**, 0.018")
    assert same[:2] == ["-", "≥ 80.0%"] and unseen[2].startswith("**no**, 60.0%")
    assert valid[:2] == ["93.5%", "= 100.0%"] and valid[2].startswith("**yes**, 100.0%")
    assert {line[5] for line in table.lines} == {"-"}, "the network that sees what follows was not measured"
    assert not SHOWN["goals"]


def test_the_ablation_names_encoder_head_and_decoder_best_first() -> None:
    lines = SHOWN["ablation"].lines
    assert len(lines) == 3 * (3 + 1 + 4 + 4)
    assert lines[0][:3] == ["attention that sees the dependencies", "pointer", "one sample"]
    always = "100.0% <small>[100.0 to 100.0]</small>"
    assert lines[0][3:] == [small(74), small(64), small(0.052, 3, "", 0.01), always, "1,200,000"]
    assert lines[-1][:4] == ["LSTM", "popocs", "best legal order", small(45)]


def test_what_the_operator_gains_is_of_networks_with_equal_encoders() -> None:
    assert SHOWN["gains"] == pytest.approx({"attention": -5, "plain": -5, "lstm": -5, "pointer": 15})
    without = RESULTS[RESULTS["method"] != "lstm_sinkhorn"]
    assert comparison.section(made.evidence(without))["gains"] == {}


def test_scaling_takes_its_axes_from_the_sizes() -> None:
    lines = SHOWN["scaling"].lines
    assert [line[:3] for line in lines[:2]] == [
        ["training blocks", "1,000", "1,200,000"],
        ["training blocks", "10,000", "1,200,000"],
    ]
    assert lines[-1] == ["width", "1,000,000", "2,764,800", small(78)]


def test_transfers_have_a_line_for_each_network_and_a_column_for_each_set() -> None:
    shown = SHOWN["transfer"]
    assert shown.head[:3] == ["Trained on", "development, Qt 5.6", "development, ffprobe"] and len(shown.head) == 7
    assert [line[0] for line in shown.lines][:3] == ["all", "ffprobe", "without qtcore"] and len(shown.lines) == 6
    assert shown.lines[0][1] == small(75)


def test_each_experiment_is_shown_alone() -> None:
    names = {"main", "ablation", "scaling", "transfer"}
    for name in ("imitation", "imitation_ablation", "imitation_scaling", "imitation_transfer"):
        shown = comparison.section(made.evidence(RESULTS[RESULTS["experiment"] == name]))
        assert len({table for table in names if shown[table]}) == 1, name
    nothing = comparison.section(made.evidence())
    assert not any(nothing.values())


def test_sets_and_models_have_the_sequence_of_the_parameters() -> None:
    main = made.PARAMS["experiments"]["imitation"]
    turned = {"imitation": main | {"sets": main["sets"][::-1], "methods": ["input_order"]}}
    lines = comparison.section(made.evidence(RESULTS, params=made.PARAMS | {"experiments": turned}))["main"].lines
    assert lines[0][0] == "4 to 40, other programs" and lines[-1][:2] == ["5 instructions", "Input order"]
    assert [line[1] for line in lines[3:6]] == ["Critical path", "Random legal", "Input order"]


@pytest.mark.parametrize("head", ["pointer", "pairwise", "sinkhorn", "popocs"])
def test_the_leading_decoder_is_the_first_of_the_head(head: str) -> None:
    default = import_module(f"learned_schedulers.blocks.models.heads.{head}").make.decoder
    assert leading(pd.DataFrame({"decoder": sorted([default, *DECODERS[head]])})) == default
