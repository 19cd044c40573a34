"""Measured rates of the two cores: rates that explain the durations of the executed operations.

duration = a + b FLOPs + c bytes swept + d bytes written + e bytes copied, with non-negative coefficients (Lawson &
Hanson 1974, by SciPy) that minimise the squared relative error: each row is divided by its duration. The duration of an
operation on a device is the median over all runs in which it copied the same number of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.run.pair import Record
from learned_schedulers.graphs.run.programs import program


@dataclass(frozen=True)
class Observed:
    """Work and durations of operations of one graph in K situations."""

    work: np.ndarray  # (K, 5): 1, FLOPs, bytes swept, bytes written, bytes copied
    seconds: np.ndarray  # (K,)


def observed(
    executed: Graph, orders: np.ndarray, placements: np.ndarray, sequence: np.ndarray, record: Record
) -> Observed:
    """One situation for each operation and each number of bytes that it copied.

    orders, placements: (S, n); sequence: (R,) schedule of each run of `record`.
    """
    schedules, n = orders.shape
    parents = executed.children.reversed()
    copied = np.zeros((schedules, n))
    for s in range(schedules):
        for device in (0, 1):
            for step in program(parents, orders[s], placements[s], device):
                copied[s, step.operation] = executed.bytes_written[list(step.fetched)].sum()
    frame = pd.DataFrame(
        {
            "operation": np.tile(np.arange(n), len(sequence)),
            "copied": copied[sequence].ravel(),
            "seconds": (record.ends - record.begins).ravel(),
        }
    )
    medians = frame.groupby(["operation", "copied"], as_index=False)["seconds"].median()
    i = medians["operation"].to_numpy()
    work = [np.ones(len(i)), executed.flops[i], executed.bytes_read[i], executed.bytes_written[i], medians["copied"]]
    return Observed(np.stack(work, 1), medians["seconds"].to_numpy())


def rates(graphs: Sequence[Observed]) -> dict[str, float]:
    """Columns of table `machine_rates`; a rate is infinite if its work took no measurable time."""
    work = np.concatenate([graph.work for graph in graphs])
    seconds = np.concatenate([graph.seconds for graph in graphs])
    weighted = work / seconds[:, None]
    scale = np.maximum(weighted.max(0), np.finfo(float).tiny)
    coefficients = nnls(weighted / scale, np.ones(len(seconds)))[0] / scale
    error = np.abs(work @ coefficients / seconds - 1)
    with np.errstate(divide="ignore"):
        flops, swept, written, copied = 1 / coefficients[1:]
    return {
        "operation_seconds": float(coefficients[0]),
        "flops_per_second": float(flops),
        "swept_bytes_per_second": float(swept),
        "written_bytes_per_second": float(written),
        "copied_bytes_per_second": float(copied),
        "median_relative_error": float(np.median(error)),
    }
