"""Agreement of simulated targets with measured makespans, where it is known what comes out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.analysis.machine_agreement import agreement, measured
from pipeline.config.intervals import Intervals

INTERVALS = Intervals(bootstrap_samples=200, confidence=0.95)


def timings(seconds: np.ndarray, graph_id: str = "g") -> pd.DataFrame:
    """seconds: (processes, repeats, schedules)."""
    processes, repeats, schedules = seconds.shape
    rows = [
        (graph_id, "list", 0, s, p, r, seconds[p, r, s], r)
        for p in range(processes)
        for r in range(repeats)
        for s in range(schedules)
    ]
    return pd.DataFrame(
        rows, columns=["graph_id", "method", "seed", "schedule", "process", "repeat", "seconds", "disturbances"]
    )


def simulated(target: str, seconds: np.ndarray, graph_id: str = "g") -> pd.DataFrame:
    schedules = range(len(seconds))
    frame = {"graph_id": graph_id, "method": "list", "seed": 0, "schedule": schedules, "target": target}
    return pd.DataFrame({**frame, "seconds": seconds})


def values(frame: pd.DataFrame) -> dict[tuple[str, str], float]:
    return {(row.target, row.statistic): row.value for row in frame.itertuples()}


def test_by_hand() -> None:
    """Of 4 schedules: the same ranks, the reverse, two neighbours swapped; slow repeats do not count."""
    true = np.array([1.0, 2.0, 3.0, 4.0])
    seconds = np.stack([np.stack([true, true * 9]), np.stack([true[::-1] * 50, true * 1.1])])
    costs = pd.concat(
        [
            simulated("proxy", true * 7),
            simulated("latency", -true),
            simulated("noisy", true[[1, 0, 2, 3]]),
            simulated("constant", np.ones(4)),
        ]
    )
    found = values(agreement(timings(seconds), costs, INTERVALS))
    assert found["proxy", "spearman"] == found["proxy", "kendall"] == found["this_machine", "kendall"] == 1.0
    assert found["latency", "spearman"] == found["latency", "kendall"] == -1.0
    assert found["noisy", "spearman"] == pytest.approx(0.8) and found["noisy", "kendall"] == pytest.approx(4 / 6)
    assert found["this_machine", "relative_difference"] == pytest.approx(0.1)
    assert found["this_machine", "undisturbed_share"] == 0.5
    assert not any(target == "constant" for target, _ in found)


def test_means_and_intervals_are_over_graphs() -> None:
    true = np.array([1.0, 2.0, 3.0, 4.0])
    both = pd.concat([timings(np.stack([true[None]] * 2), name) for name in ("a", "b")])
    costs = pd.concat([simulated("proxy", true, "a"), simulated("proxy", -true, "b")])
    row = agreement(both, costs, INTERVALS).set_index(["target", "statistic"]).loc[("proxy", "spearman")]
    assert (row["value"], row["low"], row["high"], row["graphs"]) == (0.0, -1.0, 1.0, 2)


def test_the_same_schedule_of_two_methods_counts_once() -> None:
    seconds = np.random.default_rng(0).random((2, 3, 4))
    frame = timings(seconds)
    again = pd.concat([frame, frame[frame["schedule"] == 2].assign(method="heft")])
    assert len(measured(again)) == 4
    assert measured(again).loc[("list", 0, 1), 1] == seconds[1, :, 1].min()


def test_what_was_not_simulated_is_named() -> None:
    costs = simulated("proxy", np.arange(3.0))
    with pytest.raises(ValueError, match="graph g: schedule 3 of list, seed 0, was timed and has no cost on proxy"):
        agreement(timings(np.random.default_rng(0).random((2, 2, 4))), costs, INTERVALS)


def test_two_schedules_have_no_ranks_to_speak_of() -> None:
    found = agreement(timings(np.ones((2, 2, 2))), simulated("proxy", np.arange(2.0)), INTERVALS)
    assert found["statistic"].tolist() == ["undisturbed_share"]
