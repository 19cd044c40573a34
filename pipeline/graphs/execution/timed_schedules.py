"""Schedules of many graphs, executed by several pairs of processes: tables `graph_timings` and `machine_rates`.

Each pair runs all graphs; a later pair is the control of an earlier one: the same schedules in other processes. Within
a graph the runs of all schedules are shuffled, so that a disturbance from outside falls on any of them.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline.config.execution import ExecutionSettings
from pipeline.graphs.execution.chosen_schedules import Scheduled
from pipeline.graphs.execution.measured_rates import Observed, observed, rates
from pipeline.graphs.execution.pair import Pair, Record

_WARMING = 3  # runs that are not counted: caches, clocks and branch predictors find their state


def execute(scheduled: Sequence[Scheduled], settings: ExecutionSettings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `graph_timings` and `machine_rates`, the latter without a date.

    Raises ExecutionError where this machine cannot execute graphs, or loses a process.
    """
    timings, measured = [], []
    progress = tqdm(total=settings.processes * len(scheduled), desc="graphs executed", unit="graph", file=sys.stderr)
    with progress:
        for process in range(settings.processes):
            with Pair(settings.limit_seconds) as pair:
                everything: list[Observed] = []
                for number, of in enumerate(scheduled):
                    rng = np.random.default_rng([settings.seed, process, number])
                    sequence = runs(len(of.orders), settings.repeats, rng)
                    record = pair.run(of.graph, of.orders, of.placements, sequence)
                    timings += _rows(of, process, sequence, record)
                    everything.append(observed(of.graph, of.orders, of.placements, sequence, record))
                    progress.update()
            measured.append({"process": process, **rates(everything)})
    return pd.DataFrame(timings), pd.DataFrame(measured)


def runs(schedules: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Which schedule each run is of: some to warm up, then every schedule once, shuffled, and so on."""
    rounds = [rng.permutation(schedules) for _ in range(repeats)]
    return np.concatenate([rng.integers(0, schedules, _WARMING), *rounds])


def _rows(of: Scheduled, process: int, sequence: np.ndarray, record: Record) -> list[dict[Hashable, Any]]:
    counted = zip(sequence.tolist(), record.makespans.tolist(), record.disturbances.tolist(), strict=True)
    return [
        {**row, "process": process, "repeat": run // len(of.rows), "seconds": seconds, "disturbances": disturbances}
        for run, (schedule, seconds, disturbances) in enumerate(list(counted)[_WARMING:])
        for row in of.rows[schedule]
    ]
