"""One command for every task: its tables, and the inputs that it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.lab import tables
from pipeline.lab.shared_tables import PARTS, RESULTS
from pipeline.lab.stages import evaluate
from tests.analysis import laid

INTERVALS = '{"bootstrap_samples": 20, "confidence": 0.9}'
PLACE = {"experiment": "quick", "set": "test_5", "target": "gcc"}


def test_paths_say_whose_the_numbers_are(tmp_path: Path) -> None:
    lengths = {"a": 2, "b": 2}
    read = [laid.schedules(tmp_path, {"a": (0, 1), "b": (1, 0)}, "critical_path", 3, **PLACE)]
    read += [laid.a_set(tmp_path, "test_5", lengths), laid.graphs(tmp_path, lengths, {"b": [(0, 1)]})]
    written = []
    for name in ("one", "two"):
        paths = [tmp_path / name / f"{table}.parquet" for table in ("results", "parts")]
        evaluate.main("quick", "reproduction", INTERVALS, read, *paths)
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    table = tables.read(RESULTS, tmp_path / "one/results.parquet")
    assert laid.number(table, method="critical_path", seed="3", metric="exact_match") == (0.5, 2)
    assert set(table["experiment"]) == {"quick"} and set(table["dependencies"]) == {"full"}
    assert tables.read(PARTS, tmp_path / "one/parts.parquet").empty


def test_a_table_in_another_place_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "results.parquet"
    with pytest.raises(ValueError, match=r"elsewhere\.parquet lies where no table of .*, sets, .* does"):
        evaluate.main("quick", "reproduction", INTERVALS, [_moved(tmp_path)], out, out)
    assert not out.exists()


def _moved(root: Path) -> Path:
    return laid.a_set(root, "test_5", {"a": 2}).rename(root / "elsewhere.parquet")
