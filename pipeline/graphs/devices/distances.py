"""How far apart the start times of schedules are (Zhang et al. 2023, section 5.1), beside the chains of `chains.py`."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from pipeline.graphs.devices.simulator import starts
from pipeline.graphs.problems.problem import Problem


def start_distances(problem: Problem, orders: np.ndarray, placements: np.ndarray) -> tuple[float, float]:
    """Mean distance between two of S schedules by when operations start; and by when and where; 0 with less than two.

    Root of the mean square over the operations, in mean run times. When and where: an operation has a coordinate for
    each device, its start on its own and 0 on the others; devices are numbered as they are first used, at the same time
    by the number of the operation: a schedule is written down in several orders. The paper prints no normalisation.
    """
    n, m = len(problem), problem.devices
    if len(orders) < 2 or not n or not problem.seconds.any():
        return 0.0, 0.0
    unit = float(problem.seconds.mean()) * np.sqrt(n)
    when = np.stack([starts(problem, *schedule) for schedule in zip(orders, placements, strict=True)]) / unit
    where = np.zeros((len(orders), n, m))
    for s, placement in enumerate(placements):
        _, first = np.unique(placement[np.argsort(when[s], kind="stable")], return_index=True)
        renamed = np.argsort(np.argsort(first))  # of the devices that are used, in the sequence of their numbers
        used = np.unique(placement)
        where[s, np.arange(n), renamed[np.searchsorted(used, placement)]] = when[s]
    return float(pdist(when).mean()), float(pdist(where.reshape(len(orders), -1)).mean())
