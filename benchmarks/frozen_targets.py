"""Freeze the targets and the sets of computation graphs: `python -m benchmarks.frozen_targets`, a minute.

Beforehand: `snakemake data/graphs/sets/{development_real,development_synthetic,unseen_real,...}.parquet`; an error
names a missing one. The strengths of `noisy`, `bandwidth` and `latency` follow by bisection from list scheduling on the
development graphs alone, real and synthetic ones together, so that all sets have one table of targets. They are
committed before any method is compared; if they ever change, older results are of other targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from benchmarks.publishing import publish
from pipeline.analysis.tidy import rounded
from pipeline.config.params import Params, load
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices import targets
from pipeline.graphs.devices.judging import FROZEN, hidden_of
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers.rules.listing import by_critical_path
from pipeline.places import path

REAL, SYNTHETIC = "development_real", "development_synthetic"
UNITS = {
    "noisy": "standard deviation of the logarithm of a run time",
    "bandwidth": "mean run times that a result of the mean size takes",
    "latency": "mean run times that every transfer takes",
}
Kinds = dict[str, Callable[[Graph, Problem], Callable[[float], Target]]]
KINDS: Kinds = {
    "noisy": lambda graph, problem: partial(targets.noisy, problem, normals=hidden_of(graph.graph_id, problem)),
    "bandwidth": lambda graph, problem: partial(targets.bandwidth, problem),
    "latency": lambda graph, problem: partial(targets.latency, problem),
}


class Development:
    """The graphs of a set with their list schedules on the proxy."""

    def __init__(self, name: str, graphs: Sequence[Graph], params: Params) -> None:
        chosen = params.graph_sets[name]
        device = None if chosen.device is None else params.devices[chosen.device]
        self.name, self.graphs = name, list(graphs)
        self.problems = [problem_of(graph, chosen.devices, device, chosen.memory_bytes) for graph in graphs]
        self.schedules = [by_critical_path(problem) for problem in self.problems]

    def of(self, kind: str) -> list[Callable[[float], Target]]:
        """For each graph, a function from the strength to the target."""
        return [KINDS[kind](graph, problem) for graph, problem in zip(self.graphs, self.problems, strict=True)]

    def ratios(self, kind: str, strength: float) -> list[float]:
        """For each graph, list scheduling's speedup on the target over that on the proxy."""
        zipped = zip(self.of(kind), self.problems, self.schedules, strict=True)
        return [
            targets.speedup_ratio(target_at(strength), problem, *schedule) for target_at, problem, schedule in zipped
        ]


def strength(kind: str, sets: Sequence[Development]) -> float:
    """The strength at which the mean ratio over the graphs of these sets is the paper's, rounded as in the table."""
    exact_strength = targets.bisect(
        [problem for development_set in sets for problem in development_set.problems],
        [schedule for development_set in sets for schedule in development_set.schedules],
        [target_of for development_set in sets for target_of in development_set.of(kind)],
        targets.RATIOS[kind],
    )
    return rounded(exact_strength)


def calibration(kind: str, value: float, development: Development) -> list[dict[str, object]]:
    """Rows of table `calibration`."""
    rows = []
    each = zip(
        development.graphs, development.problems, development.schedules, development.ratios(kind, value), strict=True
    )
    for graph, problem, (order, placement), ratio in each:
        makespan = targets.proxy(problem).seconds(order[None], placement[None])[0]
        rows.append(
            {
                "target": kind,
                "set": development.name,
                "graph_id": graph.graph_id,
                "name": graph.name,
                "family": graph.family,
                "operations": len(graph),
                "proxy_speedup": problem.seconds.sum() / makespan,
                "ratio": ratio,
            }
        )
    return rows


def members(name: str, graphs: Sequence[Graph]) -> pd.DataFrame:
    """Rows of table `graph_members`."""
    rows = [
        (name, g.graph_id, g.name, g.family, g.variant, len(g), len(g.children.targets)) for g in graphs
    ]  # the sequence of the schema
    return pd.DataFrame(rows, columns=["set", "graph_id", "name", "family", "variant", "operations", "edges"])


def main(output: Annotated[Path, typer.Option(help="Folder to write.")] = FROZEN) -> None:
    """Freeze targets and sets."""
    params = load()
    sets = [name for name in params.graph_sets if not name.startswith(("training", "quick"))]
    files = {name: Path(path("graphs", graph_set=name)) for name in sets}
    graphs = {name: read_graphs(file) for name, file in files.items()}
    real, synthetic = (Development(name, graphs[name], params) for name in (REAL, SYNTHETIC))
    rows, figures = [], []
    for kind, ratio in targets.RATIOS.items():
        value = strength(kind, [real, synthetic])
        alone = {
            f"strength_{name}": strength(kind, [only_set])
            for name, only_set in (("real", real), ("synthetic", synthetic))
        }
        count = len(real.graphs) + len(synthetic.graphs)
        rows.append({"target": kind, "ratio": ratio, "strength": value, "unit": UNITS[kind], "graphs": count} | alone)
        figures += calibration(kind, value, real) + calibration(kind, value, synthetic)
    table = pd.DataFrame(rows)
    print(table.drop(columns="unit").to_string(index=False))
    frames = {
        "graph_targets": table,
        "calibration": pd.DataFrame(figures),
        "graph_members": pd.concat([members(name, graphs[name]) for name in sets], ignore_index=True),
    }
    options = {
        "ratios": targets.RATIOS,
        "graph_sets": {name: params.graph_sets[name].model_dump(mode="json") for name in sets},
        "devices": {name: device.model_dump() for name, device in params.devices.items()},
    }
    publish(output, frames, options, ["benchmarks.frozen_targets"], list(files.values()))


if __name__ == "__main__":
    typer.run(main)
