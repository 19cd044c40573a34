"""Series of times: each run adds one, of the same processor and options; and the numbers over all series."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmarks import scheduler_speed
from benchmarks.publishing import publish
from pipeline.lab.rows import Quantity, results, row

ASKED = {"machine": "atom", "blocks": 5, "rounds": 3}
BEGAN = "2026-11-22T19:32:06+00:00"


def series(number: int, *times: float) -> pd.DataFrame:
    place = {"experiment": "scheduler_speed", "set": "test_5", "target": "atom", "method": "search"}
    quantity = Quantity("microseconds_per_block", judge=f"series_{number}")
    return results([row(place, quantity, *times, 5, over="rounds", seed="all")])  # type: ignore[call-arg]


def test_over_series_is_the_median_with_the_ends_of_all() -> None:
    both = pd.concat([series(1, 28.0, 27.0, 30.0), series(2, 40.0, 39.0, 41.0), series(3, 29.0, 26.0, 33.0)])
    (over_all,) = scheduler_speed.over_series(both).to_dict("records")
    assert (over_all["value"], over_all["low"], over_all["high"]) == (29.0, 26.0, 41.0)
    assert over_all["judge"] == "none" and over_all["interval_of"] == "rounds and series" and over_all["n"] == 5


def test_a_series_is_added_to_those_of_this_processor_and_these_options(tmp_path: Path) -> None:
    folder = tmp_path / "processors_speed"
    assert scheduler_speed.earlier(folder, ASKED)[1] == []
    first = series(1, 28.0, 27.0, 30.0)
    both = pd.concat([first, scheduler_speed.over_series(first)])
    publish(folder, {"results": both}, ASKED | {"series": [BEGAN]})
    rows, began = scheduler_speed.earlier(folder, ASKED)
    assert began == [BEGAN] and rows["judge"].tolist() == ["series_1"] and rows["value"].tolist() == [28.0]
    with pytest.raises(ValueError, match="of other options"):
        scheduler_speed.earlier(folder, ASKED | {"blocks": 6})
