"""How near the best known schedules the search of `graph` comes: `python -m benchmarks.graph_search FOLDER`.

Development graphs, by which its settings were chosen: the frozen set `development_real`, and random graphs of five
families with transfers of ten mean run times; with `--judge`, the frozen sets `unseen_real` and `unseen_small`, every
other graph with either link. Four devices, PCIe and NVLink. `--moves` is how many times the command's default number of
moves are made: 1 takes three to seven seconds of two cores. A line of FOLDER/searches.csv is a search of one seed, with
its seconds; a call goes on where the last one was stopped. The best known schedule of a graph is the best of all lines,
so long searches come first, and `--show` prints how far above it the others are.

`--from gflownet` or `go` begins with the shipped network's schedule, too, under the same clock: what the network takes,
the search has not, which makes fewer moves of those that it made in the seconds of the line without a network.

`--publish` publishes the experiment `graph_search`, of the set `development` or `unseen`: gap, above the best known of
each graph, and spread, the standard deviation over seeds, both as shares, for 1, 10 and 60 seconds (`lengths`), which
.2, 1 and 8 times the moves keep to; of the best heuristic, too, and of each network how much longer the schedules are
than without it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
import typer

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.bench.instances import instances
from learned_schedulers.graphs.devices.settings import LINKS
from learned_schedulers.graphs.method_settings import LocalSearch
from learned_schedulers.graphs.methods.local_search import searched
from learned_schedulers.graphs.plans.best import Trial, default_moves, trials
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from learned_schedulers.graphs.read import synthetic
from learned_schedulers.statistics.clusters import ClusterBootstrap
from pipeline.lab.rows import Quantity, Row, results, row

_DEVELOPMENT, _JUDGED = ("development_real",), ("unseen_real", "unseen_small")
_LEAST = 50  # operations: smaller graphs are solved by any start
_SIZES, _SEED = (80, 230), 77  # of the random graphs
_SLOPE = 10e-6  # seconds for each byte of a random graph, whose run times are .5 s and whose results .5 MB in the mean
_SECONDS = {8.0: "60", 1.0: "10", 0.2: "1"}  # that so many times the moves keep to
Network = Literal["gflownet", "go"]
_ALONE = "heuristics"  # what a search begins with where no network is asked
_TABLE = "searches.csv"
_SAMPLES, _CONFIDENCE = 1000, 0.95


def main(
    folder: Annotated[Path, typer.Argument(help="Where the table is.")],
    moves: Annotated[list[float] | None, typer.Option(help="Times the default number. Repeatable.")] = None,
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    networks: Annotated[list[Network] | None, typer.Option("--from", help="Networks. Repeatable.")] = None,
    judge: Annotated[bool, typer.Option(help="The graphs by which nothing was chosen.")] = False,
    show: Annotated[bool, typer.Option(help="Search nothing; print the table.")] = False,
    to_publish: Annotated[bool, typer.Option("--publish", help="Publish the table, and what it says.")] = False,
) -> None:
    """Search, and say how near the best known each number of moves comes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _TABLE
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    took = {(row["graph"], row["moves"], row["seed"], row["starts"]): row["took"] for row in rows}
    searches = product(moves or _SECONDS, _problems(judge), range(seeds), [_ALONE, *(networks or [])])
    for times, (family, name, problem), seed, starts in () if show else searches:
        if (name, times, seed, starts) not in took:
            least = min(trial.seconds for trial in trials(problem, seed, moves=0))
            began, most = time.perf_counter(), int(times * default_moves(problem, least))
            if starts == _ALONE:
                every = trials(problem, seed, moves=most)
            else:
                every = _from_network(problem, seed, starts, most, took[name, times, seed, _ALONE])
            took[name, times, seed, starts] = time.perf_counter() - began
            heuristic = min(trial.seconds for trial in every[:-1])
            line = {"graph": name, "family": family, "operations": len(problem), "moves": times, "seed": seed}
            line |= {"starts": starts, "took": took[name, times, seed, starts], "bound": problem.bound}
            rows.append(line | {"heuristic": heuristic, "makespan": every[-1].seconds})
            pd.DataFrame(rows).to_csv(path, index=False)
    table = pd.DataFrame(rows)
    best = table.groupby("graph")["makespan"].transform("min")
    table = table.assign(gap=table["makespan"] / best - 1, heuristic_gap=table["heuristic"] / best - 1)
    table["spread"] = table.groupby(["moves", "starts", "graph"])["makespan"].transform("std") / table["makespan"]
    print(table.pivot_table(index="graph", columns=["moves", "starts"], values="gap").round(4).to_string())
    print(table.groupby(["moves", "starts"])[["took", "gap", "heuristic_gap", "spread"]].mean().round(4).to_string())
    if to_publish:
        of_set = "unseen" if judge else "development"
        frames = {"results": results(_numbers(table, of_set)), "graph_searches": table.assign(set=of_set)}
        publish(PUBLISHED / "graph_search", frames, {"moves": list(_SECONDS), "seeds": seeds})


def _from_network(problem: Problem, seed: int, network: Network, moves: int, seconds: float) -> list[Trial]:
    """As `trials`, beginning with the network's schedule, too, in as many seconds as `moves` take without it."""
    began = time.perf_counter()
    results = [*trials(problem, seed, moves=0), trials(problem, seed, moves=0, by=network)[-1]]
    left = int(moves * max(0.0, 1 - (time.perf_counter() - began) / seconds))
    by_time = sorted(results, key=lambda trial: trial.seconds)
    starts = [(each.order, each.placement) for each in by_time if each.order is not None and each.placement is not None]
    rng, settings = np.random.default_rng([seed, len(results)]), LocalSearch(method="local_search")
    best = searched(problem, starts, left, rng, settings)[0]
    return [*results, Trial("local_search", best.order, best.placement, min(best.seconds, by_time[0].seconds))]


def _numbers(table: pd.DataFrame, of_set: str) -> Iterator[Row]:
    """Means over graphs and seeds, with intervals over families and their graphs."""
    keys = ["graph", "moves", "seed"]
    alone = table[table["starts"] == _ALONE]
    for starts, of_starts in table.groupby("starts"):
        pairs = of_starts.merge(alone[[*keys, "makespan"]], on=keys, suffixes=("", "_alone"))
        pairs["longer"] = pairs["makespan"] / pairs["makespan_alone"] - 1
        method = "local_search" if starts == _ALONE else f"local_search_{starts}"
        columns = [(method, "gap", "gap"), (method, "spread", "spread")]
        columns += [("heuristics", "gap", "heuristic_gap")] if starts == _ALONE else [(method, "longer", "longer")]
        for times, seconds in _SECONDS.items():
            of_moves = pairs[pairs["moves"] == times]
            families = of_moves.groupby("graph")["family"].first()
            intervals = ClusterBootstrap(families.to_numpy(), _SAMPLES, _CONFIDENCE)
            for name, metric, column in columns:
                values = of_moves.groupby("graph")[column].mean().reindex(families.index).to_numpy()
                estimate = intervals.estimates(values[None])[1]
                place = {"experiment": "graph_search", "set": of_set, "method": name, "target": "pcie_nvlink"}
                numbers = estimate.value, estimate.low, estimate.high, estimate.n
                yield row(place, Quantity(metric, lengths=seconds, unit="1"), *numbers, over="graphs", seed="all")


def _problems(judge: bool) -> Iterator[tuple[str, str, Problem]]:
    """Family, name, and the graph on four devices."""
    sets = _JUDGED if judge else _DEVELOPMENT
    chosen = [instance for of_set in sets for instance in instances(of_set) if len(instance) >= _LEAST]
    for link, turn in zip(LINKS, (0, 1), strict=True):
        transfers = Transfers(1 / LINKS[link].bytes_per_second, LINKS[link].seconds)
        for instance in chosen[turn::2] if judge else chosen:
            yield instance.family, f"{instance.title}, {link}", replace(instance.problem, transfers=transfers)
    rng = np.random.default_rng(_SEED)
    for family, size in product(synthetic.FAMILIES, () if judge else _SIZES):
        graph = synthetic.draw(family, size, rng)
        sizes = graph.bytes_written.astype(float)
        yield family, f"{family}, {size}", Problem(graph.seconds, sizes, graph.children, 4, Transfers(_SLOPE))


if __name__ == "__main__":
    typer.run(main)
