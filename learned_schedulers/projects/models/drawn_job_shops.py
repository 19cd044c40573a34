"""Job-shops as Taillard (1993) draws them: every job visits all machines in a random order, for 1 to 99 units each."""

from __future__ import annotations

import numpy as np

from learned_schedulers.projects.problem import JobShop


def job_shop(rng: np.random.Generator, jobs: int, machines: int) -> JobShop:
    """A drawn job-shop."""
    orders = rng.permuted(np.tile(np.arange(machines, dtype=np.int32), (jobs, 1)), axis=1)
    return JobShop(orders, rng.integers(1, 100, (jobs, machines)))
