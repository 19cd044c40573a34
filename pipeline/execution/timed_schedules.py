"""Schedules of many graphs, executed by several pairs of processes: tables `graph_timings` and `machine_rates`.

Each pair runs all graphs. A later pair repeats the schedules of an earlier pair in new processes, as its control.
Within a graph the runs of all schedules are shuffled, so that an external disturbance can fall on any of them.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from learned_schedulers.graphs.run.measured_rates import Observed, observed, rates
from learned_schedulers.graphs.run.pair import Pair, Record
from learned_schedulers.graphs.run.settings import ExecutionSettings
from pipeline.execution.chosen_schedules import Scheduled

_WARMING = 3  # runs that do not count: caches, clocks and branch predictors warm up


def execute(scheduled: Sequence[Scheduled], settings: ExecutionSettings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `graph_timings` and `machine_rates`, the second without a date.

    Raises ExecutionError if this machine cannot execute graphs, or if a process fails.
    """
    timings, measured = [], []
    progress = tqdm(total=settings.processes * len(scheduled), desc="graphs executed", unit="graph", file=sys.stderr)
    with progress:
        for process in range(settings.processes):
            with Pair(settings.limit_seconds) as pair:
                observations: list[Observed] = []
                for number, schedules in enumerate(scheduled):
                    rng = np.random.default_rng([settings.seed, process, number])
                    sequence = runs(len(schedules.orders), settings.repeats, rng)
                    record = pair.run(schedules.graph, schedules.orders, schedules.placements, sequence)
                    timings += _rows(schedules, process, sequence, record)
                    observations.append(
                        observed(schedules.graph, schedules.orders, schedules.placements, sequence, record)
                    )
                    progress.update()
            measured.append({"process": process, **rates(observations)})
    return pd.DataFrame(timings), pd.DataFrame(measured)


def runs(schedules: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """The schedule of each run: some runs to warm up, then `repeats` rounds of all schedules, each shuffled."""
    rounds = [rng.permutation(schedules) for _ in range(repeats)]
    return np.concatenate([rng.integers(0, schedules, _WARMING), *rounds])


def _rows(scheduled: Scheduled, process: int, sequence: np.ndarray, record: Record) -> list[dict[Hashable, Any]]:
    counted = zip(sequence.tolist(), record.makespans.tolist(), record.disturbances.tolist(), strict=True)
    return [
        {
            **row,
            "process": process,
            "repeat": run // len(scheduled.rows),
            "seconds": seconds,
            "disturbances": disturbances,
        }
        for run, (schedule, seconds, disturbances) in enumerate(list(counted)[_WARMING:])
        for row in scheduled.rows[schedule]
    ]
