"""Time schedules of computation graphs on two cores of this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline import tables
from pipeline.config.execution import ExecutionSettings
from pipeline.config.section import section
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.execution.timed_schedules import collect, execute
from pipeline.places import place
from pipeline.stages import options

_BEST, _PROXY = "best", "proxy"


def main(
    settings: options.Settings,
    graphs: options.Table,
    graph_schedules: options.Tables,
    graph_timings: options.Out,
    machine_rates: options.Out,
) -> None:
    """Execute the best schedules by proxy of every method and seed, in several pairs of processes.

    graphs: in the form of coarsen_graphs. It fails where this machine has one core only, or loses a process: a table of
    some of the runs would take the place of figures that were published. Whatever else runs here is measured, too.
    """
    wanted = section(ExecutionSettings, settings)
    of_tables = [schedules for path in sorted(graph_schedules) for schedules in _schedules(path, wanted.schedules)]
    if not of_tables:
        raise ValueError(
            f"{graph_schedules}: no method has a schedule that sees the proxy: there is nothing to execute"
        )
    every = {graph.graph_id: graph for graph in read_graphs(graphs)}
    timings, rates = execute(collect(every, pd.concat(of_tables)), wanted)
    tables.write(timings, "graph_timings", graph_timings)
    measured_at = pd.Timestamp.now("UTC").tz_localize(None).floor("s")
    tables.write(rates.assign(measured_at=measured_at), "machine_rates", machine_rates)
    print(f"{len(timings)} makespans of {timings['graph_id'].nunique()} graphs", file=sys.stderr)


def _schedules(path: Path, count: int) -> Iterator[pd.DataFrame]:
    """Of each graph the best `count` schedules of a table, one a row."""
    said = place(path, "graph_schedules")
    for row in tables.read("graph_schedules", path).to_dict("records"):
        if row["sees"] != _PROXY or row["kept_by"] != _BEST or len(row["seen_seconds"]) == 0:
            continue
        shape = (len(row["seen_seconds"]), int(row["operations"]))
        orders, placements = (np.asarray(row[name], np.int32).reshape(shape) for name in ("orders", "placements"))
        yield pd.DataFrame(
            {
                "graph_id": row["graph_id"],
                "method": said["method"],
                "seed": int(said["seed"]),
                "schedule": range(min(count, shape[0])),
                "order": list(orders[:count]),
                "placement": list(placements[:count]),
            }
        )
