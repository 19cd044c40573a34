"""Placed schedules in the form of table graph_schedules, for their execution."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline.lab import tables
from pipeline.lab.shared_tables import GRAPH_SCHEDULES, PLACEMENTS
from pipeline.lab.stages import options


def main(placements: options.Table, graph_schedules: options.Out) -> None:
    """Write the schedule of every graph and link; `sees` is the link."""
    rows = []
    for row in tables.read(PLACEMENTS, placements).to_dict("records"):
        best = row["best_seconds"][-1:] if len(row["order"]) else np.zeros(0)
        shared = {name: row[name] for name in ("graph_id", "status", "message", "evaluations", "best_seconds")}
        rows.append(
            shared
            | {
                "sees": row["link"],
                "kept_by": "best",
                "operations": len(row["order"]),
                "orders": row["order"],
                "placements": row["placement"].astype(np.int32),
                "seen_seconds": best,
                "bound": np.nan,
            }
        )
    names = GRAPH_SCHEDULES.schema.names
    tables.write(pd.DataFrame(rows, columns=names), GRAPH_SCHEDULES, graph_schedules)
