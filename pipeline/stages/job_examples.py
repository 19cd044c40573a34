"""Best known orders of small computation graphs, for a network to learn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.config.graph_methods import graph_entry
from pipeline.config.section import section
from pipeline.config.slot_network import JobExamples
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Method, make
from pipeline.graphs.schedulers.rules.settling import by_tails, makespan, settled
from pipeline.stages import options

_ROUNDING = 1e-9  # of a makespan


def main(
    settings: options.Settings,
    seed: options.Seed,
    graphs: Annotated[list[Path], typer.Option(help="Tables graphs, with run times.")],
    examples: options.Out,
) -> None:
    """Find the best order that CP-SAT knows of each graph; of equally good ones that nearest to list scheduling.

    A graph that is in several tables is taken once; one without operations, or with too many, is left out.
    """
    chosen = section(JobExamples, settings)
    given = {graph.graph_id: graph for path in graphs for graph in read_graphs(path)}
    small = [graph for graph in given.values() if 0 < len(graph) <= chosen.most_operations]
    if untimed := [graph.name for graph in small if not len(graph.seconds)]:
        raise ValueError(f"graph {untimed[0]} has no run times; give the table that has them, of a named device")
    solver = make(graph_entry("cp_sat", seconds=chosen.seconds, most_operations=chosen.most_operations))
    rows = [
        _solved(graph, chosen, solver, np.random.default_rng([seed, number]))
        for number, graph in enumerate(tqdm(small, "best orders", unit="graph", file=sys.stderr))
    ]
    frame = pd.DataFrame(rows, columns=tables.SCHEMAS["job_examples"].names)
    better = int((frame["makespan"] < frame["listed"] * (1 - _ROUNDING)).sum())
    print(
        f"{len(frame)} graphs, {len(given) - len(frame)} left out; better than list scheduling: {better}",
        file=sys.stderr,
    )
    tables.write(frame, "job_examples", examples)


def _solved(graph: Graph, chosen: JobExamples, solver: Method, rng: np.random.Generator) -> dict[str, Any]:
    problem = Problem(graph.seconds, graph.bytes_written.astype(np.float64), graph.children, chosen.devices)
    solution = solver.propose(problem, rng, Budget(1, 1, chosen.seconds))
    order = settled(problem, solution.orders[0])
    return {
        "graph_id": graph.graph_id,
        "name": graph.name,
        "family": graph.family,
        "devices": chosen.devices,
        "seconds": graph.seconds,
        "offsets": graph.children.offsets,
        "children": graph.children.targets,
        "order": order,
        "makespan": makespan(problem, order),
        "listed": makespan(problem, by_tails(problem)),
        "bound": float(solution.stats["bound"]),
    }
