"""The page `leaderboard`: each set and target has its board, the best first, and what is refused is named."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from learned_schedulers.bench.results import standing
from pipeline.lab import tables
from pipeline.leaderboard.stages import hand_ins
from pipeline.leaderboard.stages.hand_ins import row_of
from pipeline.leaderboard.tables import HAND_INS
from tests.bench.test_results import SET, TARGET, changed, cheaper, result, set_in
from tests.report import shown

VALUE = standing(SET, TARGET, result().run).value


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
    assert rows.loc["theirs.json", "refused"] == "" and rows.loc["theirs.json", "value"] == VALUE
    assert "its schedule takes" in rows.loc["cheaper.json", "refused"]
    assert rows.loc["text.json", "refused"].startswith("text.json is not valid")


def test_the_board_and_what_is_refused(table: Path) -> None:
    text, _ = shown.page("leaderboard", shown.evidence(hand_ins=tables.read(HAND_INS, table)))
    ((over, *_),) = shown.cells(text, "unseen synthetic graphs, 50 operations", "bandwidth", "Their method")
    assert over == f"{VALUE:.3f}"
    ((reason,),) = shown.cells(text, "cheaper.json")
    assert "its schedule takes" in reason


def test_the_best_is_the_first(tmp_path: Path) -> None:
    row = row_of(changed(lambda content: None, tmp_path))
    rows = pd.DataFrame(
        [row | {"method": name, "value": value} for name, value in (("b", 0.9), ("c", 0.5), ("a", 0.9))]
    )
    text, _ = shown.page("leaderboard", shown.evidence(hand_ins=rows))
    lines = [line for line in text.splitlines() if "| bandwidth |" in line]
    assert [line.split(" | ")[2] for line in lines] == ["C", "A", "B"]
