"""Schedules of many graphs, executed by several pairs of processes: tables `graph_timings` and `machine_rates`.

Each pair runs all graphs; a later pair is the control of an earlier one: the same schedules in other processes. Within
a graph the runs of all schedules are shuffled, so that a disturbance from outside falls on any of them.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline.config.execution import ExecutionSettings
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.execution.measured_rates import Observed, observed, rates
from pipeline.graphs.execution.pair import Pair, Record
from pipeline.graphs.execution.programs import chains

_WARMING = 3  # runs that are not counted: caches, clocks and branch predictors find their state


@dataclass(frozen=True)
class Scheduled:
    """The schedules of one graph, (S, n) each, and the rows of `graph_timings` that each one stands for."""

    graph: Graph
    orders: np.ndarray
    placements: np.ndarray
    rows: list[list[dict[Hashable, Any]]]  # S: graph_id, method, seed, schedule; several where methods agree


def collect(graphs: Mapping[str, Graph], schedules: pd.DataFrame) -> list[Scheduled]:
    """What is to be executed, graph by graph; of schedules with the same two programs, one.

    schedules: columns graph_id, method, seed, schedule (its number), order, placement.
    Raises ValueError naming a graph that is missing.
    """
    found = []
    for graph_id, of_graph in schedules.groupby("graph_id", sort=True):
        if graph_id not in graphs:
            raise ValueError(f"schedules of graph {graph_id} are to be executed, and the graph is in no table given")
        distinct: dict[tuple[bytes, bytes], list[int]] = {}
        orders = [np.asarray(order, np.int32) for order in of_graph["order"]]
        placements = [np.asarray(placement, np.int32) for placement in of_graph["placement"]]
        for number, (order, placement) in enumerate(zip(orders, placements, strict=True)):
            distinct.setdefault(chains(order, placement), []).append(number)
        names = of_graph[["graph_id", "method", "seed", "schedule"]].to_dict("records")
        first = [numbers[0] for numbers in distinct.values()]
        found.append(
            Scheduled(
                graphs[str(graph_id)],
                np.stack([orders[i] for i in first]),
                np.stack([placements[i] for i in first]),
                [[names[i] for i in numbers] for numbers in distinct.values()],
            )
        )
    return found


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
