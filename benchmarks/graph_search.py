"""How near the best known schedules the search of `graph` comes: `python -m benchmarks.graph_search FOLDER`.

Development graphs, by which its settings were chosen: the frozen set `development_real`, and random graphs of five
families with transfers of ten mean run times; with `--judge`, the frozen sets `unseen_real` and `unseen_small`. Four
devices, PCIe and NVLink. `--moves` is how many times the command's default number of moves are made: 1 takes
three to seven seconds of two cores. A line of FOLDER/searches.csv is a search of one seed, with its seconds; a call
goes on where the last one was stopped. The best known schedule of a graph is the best of all lines, so long searches
come first, and `--show` prints how far above it the others are.

`--publish` publishes the experiment `graph_search`, of the set `development` or `unseen`: gap, above the best known of
each graph, and spread, the standard deviation over seeds, both as shares, for 1, 10 and 60 seconds (`lengths`), which
.2, 1 and 8 times the moves keep to; of the best heuristic, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.bench.instances import instances
from learned_schedulers.graphs.devices.settings import LINKS
from learned_schedulers.graphs.plans.best import default_moves, trials
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from learned_schedulers.graphs.read import synthetic
from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.lab.rows import Quantity, Row, results, row

_DEVELOPMENT, _JUDGED = ("development_real",), ("unseen_real", "unseen_small")
_LEAST = 50  # operations: smaller graphs are solved by any start
_SIZES, _SEED = (80, 230), 77  # of the random graphs
_SLOPE = 10e-6  # seconds for each byte of a random graph, whose run times are .5 s and whose results .5 MB in the mean
_SECONDS = {8.0: "60", 1.0: "10", 0.2: "1"}  # that so many times the moves keep to
_TABLE = "searches.csv"
_SAMPLES, _CONFIDENCE = 1000, 0.95


def main(
    folder: Annotated[Path, typer.Argument(help="Where the table is.")],
    moves: Annotated[list[float] | None, typer.Option(help="Times the default number. Repeatable.")] = None,
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    judge: Annotated[bool, typer.Option(help="The graphs by which nothing was chosen.")] = False,
    show: Annotated[bool, typer.Option(help="Search nothing; print the table.")] = False,
    to_publish: Annotated[bool, typer.Option("--publish", help="Publish the table, and what it says.")] = False,
) -> None:
    """Search, and say how near the best known each number of moves comes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _TABLE
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    finished = {(row["graph"], row["moves"], row["seed"]) for row in rows}
    searches = product(moves or _SECONDS, _problems(judge), range(seeds))
    for times, (family, name, problem), seed in () if show else searches:
        if (name, times, seed) not in finished:
            began = time.perf_counter()
            searched = trials(problem, seed, moves=int(times * default_moves(problem)))
            took = time.perf_counter() - began
            heuristic = min(trial.seconds for trial in searched[:-1])
            line = {"graph": name, "family": family, "operations": len(problem), "moves": times, "seed": seed}
            line |= {"took": took, "bound": problem.bound, "heuristic": heuristic, "makespan": searched[-1].seconds}
            rows.append(line)
            pd.DataFrame(rows).to_csv(path, index=False)
    table = pd.DataFrame(rows)
    best = table.groupby("graph")["makespan"].transform("min")
    table = table.assign(gap=table["makespan"] / best - 1, heuristic_gap=table["heuristic"] / best - 1)
    table["spread"] = table.groupby(["moves", "graph"])["makespan"].transform("std") / table["makespan"]
    print(table.pivot_table(index="graph", columns="moves", values="gap").round(4).to_string())
    print(table.groupby("moves")[["took", "gap", "heuristic_gap", "spread"]].mean().round(4).to_string())
    if to_publish:
        of_set = "unseen" if judge else "development"
        frames = {"results": results(_numbers(table, of_set)), "graph_searches": table.assign(set=of_set)}
        publish(PUBLISHED / "graph_search", frames, {"moves": list(_SECONDS), "seeds": seeds})


def _numbers(table: pd.DataFrame, of_set: str) -> Iterator[Row]:
    """Means over graphs and seeds, with intervals over families and their graphs."""
    for times, seconds in _SECONDS.items():
        of_moves = table[table["moves"] == times]
        families = of_moves.groupby("graph")["family"].first()
        intervals = ClusterBootstrap(families.to_numpy(), _SAMPLES, _CONFIDENCE)
        for method, metric, column in (
            ("local_search", "gap", "gap"),
            ("local_search", "spread", "spread"),
            ("heuristics", "gap", "heuristic_gap"),
        ):
            values = of_moves.groupby("graph")[column].mean().reindex(families.index).to_numpy()
            estimate = intervals.estimates(values[None])[1]
            place = {"experiment": "graph_search", "set": of_set, "method": method, "target": "pcie_nvlink"}
            numbers = estimate.value, estimate.low, estimate.high, estimate.n
            yield row(place, Quantity(metric, lengths=seconds, unit="1"), *numbers, over="graphs", seed="all")


def _problems(judge: bool) -> Iterator[tuple[str, str, Problem]]:
    """Family, name, and the graph on four devices."""
    for of_set, link in product(_JUDGED if judge else _DEVELOPMENT, LINKS):
        transfers = Transfers(1 / LINKS[link].bytes_per_second, LINKS[link].seconds)
        for instance in instances(of_set):
            if len(instance) >= _LEAST:
                yield instance.family, f"{instance.title}, {link}", replace(instance.problem, transfers=transfers)
    rng = np.random.default_rng(_SEED)
    for family, size in product(synthetic.FAMILIES, () if judge else _SIZES):
        graph = synthetic.draw(family, size, rng)
        sizes = graph.bytes_written.astype(float)
        yield family, f"{family}, {size}", Problem(graph.seconds, sizes, graph.children, 4, Transfers(_SLOPE))


if __name__ == "__main__":
    typer.run(main)
