"""How much of what an order saves is spills, and how much other instructions: judge 1's counts against measured cycles.

Within functions, the logarithm of cycles is regressed on the two counts, each over the instructions of LLVM's default.
What the counts do not explain is latency, front end and memory's ports, and the noise of measurements.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learned_schedulers.blocks.before_allocation.counts import Counts

SHARES = ("spills_and_reloads", "other_instructions", "rest")


def loads_and_others(counts: Sequence[int], default: Sequence[int]) -> tuple[float, float]:
    """Spills and reloads, and the other instructions, over the instructions of LLVM's default.

    A spill that is folded into another instruction makes the latter look fewer by one.
    """
    of = Counts(*counts)
    trips = of.spills + of.reloads
    return trips / default[0], (of.instructions - trips) / default[0]


def slopes(samples: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(2,): change of log(cycles) by a unit of each count, over functions' samples: counts (k, 2) and log(cycles) (k,).

    Only differences within a function count: by least squares on both less their means.
    """
    counts = np.concatenate([of_function - of_function.mean(0) for of_function, _ in samples])
    cycles = np.concatenate([logs - logs.mean() for _, logs in samples])
    return np.linalg.lstsq(counts, cycles, rcond=1e-9)[0]


def shares(counts: np.ndarray, default: np.ndarray, logs: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """(functions, 3) parts of log(cycles over the default's), as SHARES; counts and default: (functions, 2)."""
    explained = (counts - default) * slope
    return np.c_[explained, logs - explained.sum(1)]
