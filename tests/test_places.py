"""Every table has one place, and a path says what it is of."""

from pathlib import Path

import pytest

from pipeline.lab import chapters
from pipeline.lab.places import names, path, pattern, place


def test_a_path_and_what_it_says_are_inverse() -> None:
    fields = {"experiment": "quick", "set": "test_5", "target": "gcc", "method": "popocs_20", "seed": "0"}
    where = path("schedules", **fields)
    assert where == "data/experiments/quick/schedules/test_5/gcc/popocs_20/0.parquet"
    assert place(Path("/somewhere") / where, "schedules") == fields
    assert names("schedules") == list(fields)


def test_no_two_kinds_share_a_path() -> None:
    patterns = [table.place for table in chapters.tables().values()]
    placed = [pattern for pattern in patterns if pattern is not None]
    assert len(placed) > 30 and len(set(placed)) == len(placed)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(KeyError, match=r"no kind 'nothing'"):
        pattern("nothing")
    with pytest.raises(KeyError, match="has no 'seed'"):
        path("dags", seed=0)
    with pytest.raises(ValueError, match="keep the pipeline's own layout"):
        place(Path("data/sets/a/b.parquet"), "sets")
