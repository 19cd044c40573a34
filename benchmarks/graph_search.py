"""How near the best known schedules the search of `graph` comes: `python -m benchmarks.graph_search FOLDER`.

Development graphs, by which its settings were chosen: the frozen set `development_real`, and random graphs of five
families with transfers of ten mean run times; with `--judge`, the frozen sets `unseen_real` and `unseen_small`. Four
devices, PCIe and NVLink. `--moves` is how many times the command's default number of moves are made: 1 takes
three to seven seconds of two cores. A line of FOLDER/searches.csv is a search of one seed, with its seconds; a call
goes on where the last one was stopped. The best known schedule of a graph is the best of all lines, so long searches
come first, and `--show` prints how far above it the others are.
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

from learned_schedulers.bench.instances import instances
from learned_schedulers.graphs.devices.settings import LINKS
from learned_schedulers.graphs.plans.best import default_moves, trials
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from learned_schedulers.graphs.read import synthetic

_DEVELOPMENT, _JUDGED = ("development_real",), ("unseen_real", "unseen_small")
_LEAST = 50  # operations: smaller graphs are solved by any start
_SIZES, _SEED = (80, 230), 77  # of the random graphs
_SLOPE = 10e-6  # seconds for each byte of a random graph, whose run times are .5 s and whose results .5 MB in the mean
_MOVES = (8.0, 1.0, 0.2)
_TABLE = "searches.csv"


def main(
    folder: Annotated[Path, typer.Argument(help="Where the table is.")],
    moves: Annotated[list[float] | None, typer.Option(help="Times the default number. Repeatable.")] = None,
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    judge: Annotated[bool, typer.Option(help="The graphs by which nothing was chosen.")] = False,
    show: Annotated[bool, typer.Option(help="Search nothing; print the table.")] = False,
) -> None:
    """Search, and say how near the best known each number of moves comes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _TABLE
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    finished = {(row["graph"], row["moves"], row["seed"]) for row in rows}
    for times, (name, problem), seed in [] if show else product(moves or _MOVES, _problems(judge), range(seeds)):
        if (name, times, seed) not in finished:
            began = time.perf_counter()
            searched = trials(problem, seed, moves=int(times * default_moves(problem)))
            took = time.perf_counter() - began
            heuristic = min(trial.seconds for trial in searched[:-1])
            rows.append({"graph": name, "operations": len(problem), "moves": times, "seed": seed, "took": took,
                         "bound": problem.bound, "heuristic": heuristic, "makespan": searched[-1].seconds})  # fmt: skip
            pd.DataFrame(rows).to_csv(path, index=False)
    table = pd.DataFrame(rows)
    best = table.groupby("graph")["makespan"].transform("min")
    table = table.assign(gap=table["makespan"] / best - 1, heuristic_gap=table["heuristic"] / best - 1)
    print(table.pivot_table(index="graph", columns="moves", values="gap").round(4).to_string())
    print(table.groupby("moves")[["took", "gap", "heuristic_gap"]].mean().round(4).to_string())
    spread = table.groupby(["moves", "graph"])["makespan"].agg(lambda each: each.std() / each.mean())
    print("spread over seeds:", spread.groupby("moves").mean().round(4).to_dict())


def _problems(judge: bool) -> Iterator[tuple[str, Problem]]:
    for of_set, link in product(_JUDGED if judge else _DEVELOPMENT, LINKS):
        transfers = Transfers(1 / LINKS[link].bytes_per_second, LINKS[link].seconds)
        for instance in instances(of_set):
            if len(instance) >= _LEAST:
                yield f"{instance.title}, {link}", replace(instance.problem, transfers=transfers)
    rng = np.random.default_rng(_SEED)
    for family, size in product(synthetic.FAMILIES, () if judge else _SIZES):
        graph = synthetic.draw(family, size, rng)
        sizes = graph.bytes_written.astype(float)
        yield f"{family}, {size}", Problem(graph.seconds, sizes, graph.children, 4, Transfers(_SLOPE))


if __name__ == "__main__":
    typer.run(main)
