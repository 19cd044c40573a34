"""Tables of executed schedules, from numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd


def timings(seconds: np.ndarray, graph_id: str = "g", method: str = "list_scheduling", seed: int = 0) -> pd.DataFrame:
    """Rows of table graph_timings. seconds: (processes, repeats, schedules)."""
    processes, repeats, schedules = seconds.shape
    rows = [
        (graph_id, method, seed, s, p, r, seconds[p, r, s], r)
        for p in range(processes)
        for r in range(repeats)
        for s in range(schedules)
    ]
    return pd.DataFrame(
        rows, columns=["graph_id", "method", "seed", "schedule", "process", "repeat", "seconds", "disturbances"]
    )


def simulated(
    target: str, seconds: np.ndarray, graph_id: str = "g", method: str = "list_scheduling", seed: int = 0
) -> pd.DataFrame:
    """Rows of table simulated_timings of a method's schedules."""
    columns = {"graph_id": graph_id, "method": method, "seed": seed, "schedule": range(len(seconds)), "target": target}
    return pd.DataFrame({**columns, "seconds": seconds})
