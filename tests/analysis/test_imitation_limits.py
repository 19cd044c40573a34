"""What bounds imitators, in the report: every cell from its row, and a command where nothing was published."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.analysis.disagreement import CATEGORIES
from pipeline.report.imitation import limits as imitation_limits
from pipeline.report.templates import template
from pipeline.schemas import SCHEMAS
from tests.analysis import imitations, limits

COMMAND = "Not measured yet: `snakemake data/published/imitation_evidence.done`"


def found(**tables: pd.DataFrame) -> imitation_limits.Section:
    """The section of made-up tables, some replaced."""
    made = {
        "results": imitations.results(),
        "ceiling": limits.ceiling(),
        "twins": limits.twins(),
        "errors": limits.of_run(limits.error_shares()),
        "blocks": limits.of_run(limits.errors()),
        "audit": limits.audit(),
    }
    return imitation_limits.section(**(made | tables))


def nothing() -> dict[str, pd.DataFrame]:
    """Frames as the report has them where nothing was published."""
    kinds = {"ceiling": "ceiling", "twins": "twins", "errors": "error_shares", "blocks": "errors", "audit": "audit"}
    return {name: pd.DataFrame(columns=SCHEMAS[kind].names) for name, kind in kinds.items()}


def render(section: imitation_limits.Section) -> str:
    return template("imitation/limits.md.j2").render(limits=section)


def test_groups_of_equal_blocks() -> None:
    five = found().groups[:3]
    assert five[0] == ["5", "nothing", "occurrences", "1,000", "10.0%", "20.0%", "80.0%"]
    assert five[1] == ["5", "registers", "blocks", "1,000", "50.0%", "20.0%", "80.0%"]
    assert [line[:2] for line in found().groups[3:]] == [
        ["4 to 40", name] for name in ("nothing", "registers", "registers and constants")
    ]


def test_the_ceiling_stands_beside_goal_and_what_was_reached() -> None:
    section = found()
    assert section.ceiling_head[-3:] == ["Goal", "Reached, greedy", "Reached, beam search"]
    five, several, long, _ = section.ceiling
    # In a tenth of the blocks pairs differ in order, so that half of them are lost: a twentieth.
    assert five == [
        *("5", "all", "95.0%", "95.0%", "95.0%", "≥ 90.0%"),
        *("91.0%<br><small>90.0 to 92.0</small>", "92.0%<br><small>91.0 to 93.0</small>"),
    ]
    assert several[:2] == ["5", "several legal orders"]
    assert several[5:7] == ["-", "81.0%<br><small>80.0 to 82.0</small>"]
    assert long[0] == "4 to 40" and long[5] == "≥ 80.0%" and long[6].startswith("81.0%")


def test_a_ceiling_does_not_need_results() -> None:
    section = found(results=imitations.results()[:0])
    assert section.ceiling_head[-1] == "Goal" and section.ceiling[0][-1] == "≥ 90.0%"


@pytest.mark.parametrize(
    ("groups", "majority", "alone", "wanted"), [(5, 0.5, 90, 0.95), (0, np.nan, 100, 1.0), (50, 0.5, 0, 0.5)]
)
def test_at_most_the_majority_and_all_that_are_alone(groups: int, majority: float, alone: int, wanted: float) -> None:
    row = pd.Series({"total": 100, "groups": groups, "in_groups": 100 - alone, "majority": majority, "alone": alone})
    assert imitation_limits.at_most(row) == pytest.approx(wanted)
    assert np.isnan(imitation_limits.at_most(row * 0))


def test_twins_of_every_set() -> None:
    rows = found().twins
    assert len(rows) == 12
    assert rows[0] == ["5 instructions", "nothing", "8,579", "10.0%", "0.0%", "5.0%", "-"]
    assert rows[-1] == [
        *("development, Qt 5.6", "registers and constants", "12,087"),
        *("50.0%", "30.0%", "15.0%", "84.0%"),
    ]


def test_every_category_has_its_meaning_and_an_example() -> None:
    assert list(imitation_limits.MEANINGS) == list(CATEGORIES)
    section = found()
    assert [line[0] for line in section.errors] == [name.replace("_", " ") for name in CATEGORIES]
    first = section.errors[0]
    assert first[1:3] == [imitation_limits.MEANINGS["symmetric"], "`mov rax, [rdi+0]` before `add rbx, 1`"]
    assert first[3:] == ["12.5%<br><small>8.6 to 17.8</small>", "25", "25"]
    assert section.errors[-1][4:] == ["35", "-"]
    assert section.n_blocks == "200"
    assert section.run == {"model": "Attention pointer", "set": "4 to 40, same programs", "seed": "0"}


def test_a_category_without_blocks_has_no_example() -> None:
    blocks = limits.errors()
    section = found(blocks=limits.of_run(blocks[blocks["category"] != "symmetric"]))
    assert section.errors[0][2] == "" and section.errors[1][2] != ""


def test_where_gcc_has_the_predicted_order_itself() -> None:
    places = found().places
    assert [line[0] for line in places] == [
        "in this very block, once registers and constants are renamed",
        "in another block that is equal once registers are renamed",
        "nowhere in the corpus",
    ]
    assert sum(int(line[2]) for line in places) == 200


def test_the_strongest_features_stand_beside_controls_and_leaks() -> None:
    section = found()
    assert [line[0] for line in section.audit] == [
        *("depth", "frees", "has op0=mem", "address, right next", "op8=reg", "op7=reg", "op6=reg", "op5=reg"),
        *("slot in another random legal order", "random number", "byte offset", "rip displacement"),
    ]
    assert section.audit[0][1:] == ["place in the DAG", "60,000", "86.0%<br><small>85.6 to 86.4</small>", "43.0%"]
    assert section.audit[-1][1] == "not seen: leak reference"
    assert section.n_features == "14"  # `ready` is the same for both of any pair


def test_figures_hold_the_rows() -> None:
    drawn = imitation_limits.figures(limits.of_run(limits.error_shares()), limits.audit())
    assert set(drawn) == {"imitation_errors", "imitation_audit"}
    bars = drawn["imitation_errors"].axes[0]
    labels = [text.get_text() for text in bars.get_yticklabels()]
    assert labels[0] == "symmetric" and labels[-1] == "other" and len(labels) == len(CATEGORIES)
    widths = [patch.get_width() for patch in bars.patches]
    assert widths[len(labels)] == pytest.approx(0.125) and widths[len(labels) - 1] == 0  # all are `other` as well
    assert widths[labels.index("cross block")] > 0.4
    points = drawn["imitation_audit"].axes[0].collections[-1].get_offsets()
    assert np.asarray(points)[0].tolist() == [0.86, 0]


def test_the_template_shows_every_table_and_figure() -> None:
    text = render(found())
    assert COMMAND not in text
    for name in ("imitation_errors", "imitation_audit"):
        assert text.count(f"figures/{name}.png") == 1
    assert "200 blocks, drawn at random from those that attention pointer ordered otherwise" in text
    assert "Each of the 14 single features" in text and "fewer than 0.1% of the pairs" in text


def test_what_was_not_published_is_named_with_its_command() -> None:
    empty = nothing()
    assert imitation_limits.figures(empty["errors"], empty["audit"]) == {}
    text = render(found(**empty))
    assert text.count(COMMAND) == 3 and "|" not in text and "figures/" not in text
    for name, kept in (("ceiling", limits.ceiling()), ("audit", limits.audit())):
        assert render(found(**(empty | {name: kept}))).count(COMMAND) == 2
