"""Time schedules of computation graphs on two cores of this machine."""

from __future__ import annotations

import sys

import pandas as pd

from learned_schedulers.graphs.run.settings import ExecutionSettings
from learned_schedulers.section import section
from pipeline.execution.chosen_schedules import best_schedules, collect
from pipeline.execution.tables import GRAPH_TIMINGS, MACHINE_RATES
from pipeline.execution.timed_schedules import execute
from pipeline.lab import tables
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.stages import options


def main(
    settings: options.Settings,
    graphs: options.Table,
    graph_schedules: options.Tables,
    graph_timings: options.Out,
    machine_rates: options.Out,
) -> None:
    """Execute every method's and seed's best schedules on the proxy, in several pairs of processes.

    graphs: in the form of coarsen_graphs. The stage fails if this machine has one core only, or loses a process: an
    incomplete table must not replace published figures. Other jobs on this machine disturb the measurement.
    """
    chosen = section(ExecutionSettings, settings)
    schedules = best_schedules(graph_schedules, chosen.schedules)
    every = {graph.graph_id: graph for graph in read_graphs(graphs)}
    timings, rates = execute(collect(every, schedules), chosen)
    tables.write(timings, GRAPH_TIMINGS, graph_timings)
    measured_at = pd.Timestamp.now("UTC").tz_localize(None).floor("s")
    tables.write(rates.assign(measured_at=measured_at), MACHINE_RATES, machine_rates)
    print(f"{len(timings)} makespans of {timings['graph_id'].nunique()} graphs", file=sys.stderr)
