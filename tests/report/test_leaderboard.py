"""The page `leaderboard`: each set and target has its board, the best first, and what is refused is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.lab import tables
from pipeline.leaderboard.page import boards
from pipeline.leaderboard.stages import hand_ins
from pipeline.leaderboard.stages.hand_ins import row_of
from pipeline.leaderboard.tables import HAND_INS
from tests.bench.test_results import changed, cheaper, result, set_in
from tests.report import made


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two results, one of which would be better and is refused."""
    folder, out = tmp_path_factory.mktemp("leaderboard"), tmp_path_factory.mktemp("tables") / "hand_ins.parquet"
    changed(set_in("method", "their method"), folder).rename(folder / "theirs.json")
    changed(cheaper, folder).rename(folder / "cheaper.json")
    (folder / "text.json").write_text("| no JSON")
    hand_ins.main(out, sorted(folder.iterdir()))
    return out


def test_each_file_has_a_row(table: Path) -> None:
    rows = tables.read(HAND_INS, table).set_index("file")
    assert rows.loc["theirs.json", "refused"] == "" and rows.loc["theirs.json", "value"] == result().stands.value
    assert "no schedule takes less than" in rows.loc["cheaper.json", "refused"]
    assert rows.loc["text.json", "refused"].startswith("text.json is not valid")


def test_the_board_and_what_is_refused(table: Path) -> None:
    text, _ = made.page("leaderboard", made.evidence(hand_ins=tables.read(HAND_INS, table)))
    assert "## unseen_synthetic, bandwidth" in text and "| their method | target |" in text
    assert (
        "| cheaper.json | cheaper.json: heft is refused: " in text and "\\| no JSON" not in text.split("## Refused")[0]
    )
    assert "Numbers: none yet" not in text and "## Provenance" not in text
    answer = "Methods that were handed in: 1, on 1 boards (each a set and a target). Most often, on 1 of them, "
    assert answer in text and text.index(answer) < text.index("figures/leaderboard.png") < text.index("## unseen")


def test_the_best_is_the_first(tmp_path: Path) -> None:
    import pandas as pd

    row = row_of(changed(lambda content: None, tmp_path))
    rows = pd.DataFrame(
        [row | {"method": name, "value": value} for name, value in (("b", 0.9), ("c", 0.5), ("a", 0.9))]
    )
    shown = boards.section(made.evidence(hand_ins=rows))
    [board] = shown["boards"]
    assert [line[0] for line in board.lines.lines] == ["c", "a", "b"] and board.graphs == 50
    (ax,) = shown["figures"]["leaderboard"]().axes
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"{board.title}: C"]


def test_nothing_handed_in() -> None:
    text, figures = made.page("leaderboard", made.evidence())
    assert "Nothing was handed in yet." in text and not figures
