"""The page on users' files, from made-up results; every claim on them finds the row that benchmarks write."""

from __future__ import annotations

import re

import pytest

from learned_schedulers.blocks.order.methods import MEASURED
from learned_schedulers.blocks.order.targets import TARGETS
from pipeline.lab import claims
from pipeline.own_code.claims import PROCESSORS
from pipeline.own_code.page import answers, gains, generated, pace, projects, proof, worth
from tests.report import made, own_code

EVIDENCE = made.evidence(own_code.results(), claims=claims.table(own_code.results(), claims.declared()))
EXPERIMENTS = {"own_cycles", "own_gains", "own_speed", "own_blocks", "own_assembly", "own_mutations", "own_generated"}
EXPERIMENTS |= {"own_projects", "own_wrapper", "own_run_times"}


def test_the_names_are_those_of_the_command() -> None:
    """The page and the claims do not import the command's rooms, which are slow to import."""
    assert PROCESSORS == TARGETS
    assert {*MEASURED} <= {*worth.METHODS}  # the numbers are frozen: they have methods that are deleted


def test_the_price_of_safety_is_between_the_best_methods() -> None:
    price = worth.section(EVIDENCE)["price"]
    assert price.head[1:6] == [
        "Best, `tso`", "Its cycles, `tso`", "Best, `single_thread`", "Its cycles, `single_thread`", "Price of safety"
    ]  # fmt: skip
    assert price.lines[0] == [
        *("atom", "`cp_sat`", "0.9150 <small>[0.9050 to 0.9250]</small>", "`cp_sat`"),
        *("0.9000 <small>[0.8900 to 0.9100]</small>", "+1.50 pp", "50.0%", "75.0%"),
    ]
    assert [line[0] for line in price.lines] == ["atom", "skylake"] and price.lines[1][1] == "`search`"


def test_gains_that_are_asked_about_stand_beside_those_that_are_not() -> None:
    lines = gains.section(EVIDENCE)["table"].lines
    assert [line[1:3] for line in lines] == [
        [f"`{name}`", answer] for name in ("search", "policy") for answer in ("no", "yes")
    ]
    assert lines[0][3:5] == ["5,000", "95.0% <small>[95.0 to 95.0]</small>"] and lines[1][6].startswith("0.9800")
    assert [line[7:] for line in lines[:2]] == [["1.21", "0"], ["1.18", "0"]]


def test_projects_pass_or_fail_and_controls_are_seen() -> None:
    shown = projects.section(EVIDENCE)
    assert shown["projects"].head == ["Project", "broken-flags", "random-0", "search-atom", "Blocks changed"]
    assert shown["projects"].lines == [
        ["lua", "seen", "**fails**", "passes", "1,000"],
        ["zlib", "seen", "passes", "passes", "1,000"],
    ]
    assert shown["seen"] == "`broken-flags` 2 of 2"
    assert [line[0] for line in shown["cost"].lines] == [
        "gcc",
        "`cc --print gcc`, nothing in the cache",
        "`cc --print gcc`, all in the cache",
    ]
    assert [line[2][:4] for line in shown["cost"].lines] == ["-", "1.50", "1.04"]
    assert shown["run_times"].head[2:] == ["`control`", "`search`", "`random_legal`"]
    assert [line[3][:5] for line in shown["run_times"].lines] == ["1.005", "0.970"]
    assert "1 of 2 programs are faster than the control, 0 are slower" in shown["verdict"]


def test_methods_that_do_not_serve_a_processor_have_a_dash() -> None:
    ratios = worth.section(EVIDENCE)["ratios"]
    assert list(ratios) == ["`tso`", "`single_thread`"]
    table = ratios["`tso`"]
    assert table.head == ["Processor", "`search`", "`cp_sat`", "`learned`", "`imitator`", "Blocks"]
    assert table.lines[1][2:4] == ["-", "-"] and table.lines[1][-1] == "8,765"
    assert table.lines[0][1].startswith("0.9250") and ratios["`single_thread`"].lines[0][1].startswith("0.9100")


def test_the_picture_has_both_models_of_memory_on_each_processor() -> None:
    figures = worth.section(EVIDENCE)["figures"]
    drawn = figures["own_code_memory"]().axes[0]
    heights = sorted({line.get_ydata()[0] for line in drawn.lines if line.get_marker() in "oD"}, reverse=True)
    assert [round(height) for height in heights] == [0, 0, -1, -1] and len(set(heights)) == 4
    assert [text.get_text() for text in drawn.get_yticklabels()] == ["atom", "skylake"]


def test_the_speed_of_the_command_and_its_memory() -> None:
    shown = pace.section(EVIDENCE)
    assert [line[0] for line in shown["timed"].lines] == ["`policy`", "`learned`"]
    assert shown["timed"].lines[0][2].startswith("41,000") and shown["timed"].lines[0][-2:] == ["300,000", "0"]
    assert [line[:1] + line[-2:] for line in shown["distinct"].lines] == [["`search`", "20,000", "0"]]
    assert shown["sections"] == ["2.90"]
    assert shown["large"].lines == [["`policy`", "haswell", "10,000,000", "1.23", "321", "3"]]


def test_all_formats_and_methods_are_behind_the_others() -> None:
    shown = proof.section(EVIDENCE)
    places = [line[:2] for line in shown["run"].lines]
    assert places[:3] == [["assembly", "`search`"], ["assembly", "`policy`"], ["assembly", "**all**"]]
    assert places[-1] == ["**all**", "**all**"] and places[3][0] == "lines of CSV" and len(places) == 9
    assert shown["run"].lines[0][2:] == ["50,000", "45,690", "45,678", "12", "0"]
    assert shown["controls"].lines == [["assembly", "300", "290", "0", "290", "91.0%"]]
    assert [line[0] for line in shown["debugged"].lines] == ["`-O0`", "`-O3`", "**all**"]
    assert shown["debugged"].lines[1][1:6] == ["50", "1", "1", "0", "0"]
    assert shown["debugged"].lines[1][6] == "25.0%"
    assert shown["mutated"].lines[-1] == ["**all**", "2,000", "0", "0", "0", "0"]


def test_generated_programs_are_shown_with_their_constructs() -> None:
    shown = generated.section(EVIDENCE)
    assert [line[0] for line in shown["formats"].lines] == [
        "assembly", "ELF objects", "linked programs", "**all**"
    ]  # fmt: skip
    assert shown["formats"].lines[0][1:] == ["5,100", "2,000,000", "1,234,567", "2,100,000", "9", "0"]
    assert [line[0] for line in shown["families"].lines] == ["C by Csmith", "C++ with exceptions"]
    assert shown["controls"].lines == [["One dependency of every block reversed", "800", "87.5%"]]
    assert shown["constructs"].lines == [
        ["Names of places inside of blocks", "set 12 (345)"],
        ["Others", "usdt 6 (78)"],
    ]


def test_each_claim_finds_its_row() -> None:
    table = EVIDENCE.claims.set_index("claim")
    measured = {
        "own_blocks_that_differ": "yes",
        "own_files_that_fail": "no",  # one file
        "own_generated_programs": "yes",
        "own_generated_blocks_changed": "yes",
        "own_generated_different": "yes",
        "own_lost_lines": "yes",  # of the first file, not of the long one
        "own_policy_blocks_per_second": "yes",
        "own_learned_blocks_per_second": "yes",
        "own_loop_cycles_atom": "yes",
        "own_fused_pairs_split": "yes",
        "own_projects_passing": "no",
        "own_wrapper_build_ratio": "no",
        "own_read_seconds_8000_sections": "yes",
        "own_wrapper_build_ratio_warm": "yes",
        "own_cycles_tso_atom": "yes",
        "own_cycles_tso_skylake": "yes",
        "own_cycles_single_thread_atom": "yes",
    }
    assert table.loc[list(measured), "holds"].to_dict() == measured
    assert table["value"]["own_cycles_tso_skylake"] == pytest.approx(0.985)
    assert table["holds"]["own_cycles_tso_znver4"] == "not measured"
    names = {claim.name for claim in claims.declared() if claim.row["experiment"] in EXPERIMENTS}
    assert names == set(answers.QUESTIONS) and len(names) == 31
    lines = answers.section(EVIDENCE)["questions"].lines
    assert [made.without_anchors(lines[0][0]), *lines[0][1:]] == [
        "How many blocks compute something else in their new order?",
        "= 0",
        "0",
        "**yes**",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("experiment", sorted(EXPERIMENTS))
def test_the_page_is_whole_without_an_experiment(experiment: str) -> None:
    rows = own_code.results()
    text, _ = made.page("own_code", made.evidence(rows[rows["experiment"] != experiment]))
    missing = r"Its numbers are missing: `(.*?)`"
    assert re.findall(missing, text) == [f"git restore reports/published/{experiment}"]
    assert not re.search(missing, made.page("own_code", made.evidence(rows))[0])
