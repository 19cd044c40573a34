"""Made-up numbers of schedulers on processor models, as evaluate_cycles leaves them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline import tables
from pipeline.analysis import tidy

MACHINES = ("atom", "haswell", "haswell_100")
LEVELS = {
    ("random_legal", "none"): 1.02,
    ("gcc", "none"): 1.0,
    ("learned_atom", "greedy"): 0.93,
    ("cp_sat", "none"): 0.92,
}


def results() -> pd.DataFrame:
    """Ratios as LEVELS on atom, half as far from 1 elsewhere; CP-SAT was run on atom alone."""
    rows = []
    for split in ("test_5", "test_10_40"):
        for (scheduler, decoder), level in LEVELS.items():
            place = ("latency", "full", split, scheduler, decoder, "all")
            for machine in MACHINES:
                if scheduler == "cp_sat" and machine != "atom":
                    continue
                ratio = level if machine == "atom" else (1 + level) / 2
                values = {
                    "cycles_ratio_to_gcc": ratio,
                    "cycles_ratio_to_best": ratio / 0.92,
                    "mean_cycles_ratio_to_gcc": ratio,
                    "fewer_cycles_than_gcc_share": 0.5,
                    "as_many_cycles_as_gcc_share": 0.3,
                    "gcc_order_share": 0.1,
                    "more_cycles_than_gcc_share": 0.2,
                }
                rows += [(*place, f"{name}_{machine}", v, v - 0.01, v + 0.01, 500) for name, v in values.items()]
            if scheduler != "gcc":
                rows.append((*place, "microseconds_per_block", 1234.0 * level, np.nan, np.nan, 500))
        proven = ("latency", "full", split, "cp_sat", "none", "all")
        rows.append((*proven, "proven_optimal_share", 0.97, 0.96, 0.98, 500))
        rows.append((*proven, "proven_optimal_share_up_to_20", 0.99, 0.98, 1.0, 400))
    return pd.DataFrame(rows, columns=tidy.COLUMNS)


def by_length() -> pd.DataFrame:
    rows = [
        ("test_10_40", machine, scheduler, decoder, "0", part, rank, level, level - 0.01, level + 0.01, 100)
        for machine in MACHINES
        for (scheduler, decoder), level in LEVELS.items()
        for rank, part in enumerate(("8-10", "11-15", "16-20"))
    ]
    return pd.DataFrame(rows, columns=tables.SCHEMAS["cycles_by_length"].names)


def examples() -> pd.DataFrame:
    rows = [
        (rank, f"block{rank}", place, title, slot, f"op{slot}", slot, 2, 9 - place)
        for rank in range(2)
        for place, title in enumerate(("input", "GCC", "learned", "best"))
        for slot in range(4)
    ]
    return pd.DataFrame(rows, columns=tables.SCHEMAS["scheduling_examples"].names)
