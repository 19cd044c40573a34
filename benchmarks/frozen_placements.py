"""Freeze the placement problems and the experts' placements: `python -m benchmarks.frozen_placements`, seconds.

Committed before any method is trained or tuned on test graphs. A test checks that settings and code still give the same
tables; if they ever change, older results are of other problems.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import typer

from pipeline import tables
from pipeline.config.params import Params, load
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.placed import EXPERTS, chosen, expert_placement
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import worth
from pipeline.graphs.devices.judging import FROZEN
from pipeline.graphs.devices.limits import memory_limit
from pipeline.graphs.devices.simulator import peaks
from pipeline.graphs.problems.problem import Problem

DEVICES = (2, 4, 8)
PROBLEMS, PLACEMENTS = FROZEN / "placement_problems.parquet", FROZEN / "expert_placements.parquet"


def of_sets(params: Params) -> Iterator[tuple[str, Graph, Problem]]:
    """Every graph with the first set that it is in, and number of devices, without a limit of memory."""
    before: set[str] = set()
    for name, settings in params.placement_sets.items():
        for graph in chosen(settings):
            if graph.graph_id in before:
                continue
            before.add(graph.graph_id)
            for devices in DEVICES:
                yield name, graph, problem_of(graph, devices, params.devices[settings.device], np.inf)


def problems(params: Params) -> pd.DataFrame:
    """Table `placement_problems`."""
    rows = []
    for name, graph, problem in of_sets(params):
        order = np.arange(len(graph), dtype=np.int32)
        rows.append(
            {
                "set": name,
                "graph_id": graph.graph_id,
                "name": graph.name,
                "variant": graph.variant,
                "family": graph.family,
                "operations": len(graph),
                "devices": problem.devices,
                "memory_bytes": memory_limit(problem),
                "one_device_bytes": float(peaks(problem, order, np.zeros_like(order))[0]),
                "headroom": worth.headroom(problem),
            }
        )
    return pd.DataFrame(rows, columns=tables.SCHEMAS["placement_problems"].names)


def placements(params: Params) -> pd.DataFrame:
    """Table `expert_placements`."""
    rows = []
    for _, graph, problem in of_sets(params):
        for expert in EXPERTS:
            placement = expert_placement(graph, problem.seconds, problem.devices, expert)
            if placement is not None:
                where = {"graph_id": graph.graph_id, "devices": problem.devices}
                rows.append(where | {"expert": expert, "placement": placement})
    return pd.DataFrame(rows, columns=tables.SCHEMAS["expert_placements"].names)


def main() -> None:
    """Write both tables beside the frozen targets."""
    params = load()
    for table, name, path in (
        (problems(params), "placement_problems", PROBLEMS),
        (placements(params), "expert_placements", PLACEMENTS),
    ):
        tables.write(table, name, path)
        print(f"{path.name}: {len(table)} rows")


if __name__ == "__main__":
    typer.run(main)
