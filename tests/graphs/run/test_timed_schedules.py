"""Number and sequence of the runs of schedules."""

from __future__ import annotations

import numpy as np

from pipeline.execution.timed_schedules import runs


def test_every_repeat_runs_every_schedule_once() -> None:
    sequence = runs(5, 4, np.random.default_rng(0))
    rounds = sequence[-20:].reshape(4, 5)
    assert (np.sort(rounds, 1) == np.arange(5)).all() and len({tuple(row) for row in rounds.tolist()}) > 1
    assert runs(5, 4, np.random.default_rng(0)).tolist() == sequence.tolist()
