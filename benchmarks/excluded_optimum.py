"""Can list scheduling reach the shortest schedule at all? `python -m benchmarks.excluded_optimum` (ten minutes).

WeCAN (2026) observes that methods which only choose priorities cannot make some optimal schedules: list scheduling
never leaves a device idle while an operation is ready, and the shortest schedule may need just that. Here it is decided
for the graphs of `unseen_small` (up to 50 operations, four devices), in three steps:

1. List scheduling with 50,000 drawn priorities. If the best reaches the lower bound, the optimum is reached.
2. CP-SAT looks for the shortest schedule, and proves it.
3. If it is shorter than those drawn, CP-SAT looks for one as short in which no device idles while an operation is
   ready. Every such schedule is one of list scheduling for some priorities; if there is none, the optimum is excluded.

Run times are whole steps, 2,000 of them in the sum: a fifth of a percent of a schedule on four devices. CP-SAT has
limits of its deterministic time. An operation of no whole step needs no device in step 3, so "excluded" is proven, and
"reached" holds up to such operations.

With transfers (`pcie`, `nvlink`) no optimum can be proven. There the best of 2,000 drawn priorities is compared with
the best that annealing of orders and placements knows, which can reach every schedule: of list scheduling, which does
not see transfers (`list_scheduling`); of insertion into gaps, each operation where it ends first, as HEFT does
(`insertion`); and of our completion, whose reluctance to cause transfers is drawn too (`completion`).

It publishes the experiment `excluded_optimum`. Of target proxy: excluded_share, of the decided graphs, with the
interval of Clopper and Pearson (1934); decided (their number). Of links: gap, the mean of a method's seconds over
those of the best known, minus 1, with its interval over graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from ortools.sat.python import cp_model
from scipy.stats import binomtest
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.graphs.devices.completion import Completion, Decisions, Lead
from learned_schedulers.graphs.devices.settings import LINKS
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.devices.targets import Target, linked
from learned_schedulers.graphs.methods.annealing import annealed
from learned_schedulers.graphs.methods.rules.listing import listed
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from learned_schedulers.graphs.read.roofline import problem_of
from pipeline.lab.config import params
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.places import path
from pipeline.lab.rows import Quantity, Row, results, row

GRAPHS = "unseen_small"
STEPS = 2_000
DRAWN, WITH_TRANSFERS, MOVES = 50_000, 2_000, 100_000
RELUCTANCES = (0.0, 0.1, 0.3, 1.0, 3.0)
PROOF, SEARCH = 5.0, 10.0  # CP-SAT's deterministic seconds
SAMPLES = 1000
REACHED, EXCLUDED, OPEN = "reached", "excluded", "open"


def drawn_priorities(problem: Problem, count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, n): longest paths to the end, the first ones as they are, others disturbed by factors of many widths."""
    widths = np.exp(rng.uniform(np.log(0.01), 0.0, count - 1))
    factors = np.exp(rng.standard_normal((count - 1, len(problem))) * widths[:, None])
    return np.vstack([problem.tails, problem.tails * factors])


def outcome(problem: Problem, rng: np.random.Generator) -> str:
    """REACHED, EXCLUDED or OPEN; the problem has no transfers."""
    steps = np.round(problem.seconds * (STEPS / problem.seconds.sum()))
    whole = replace(problem, seconds=steps, transfers=Transfers())
    priorities = drawn_priorities(whole, DRAWN, rng)
    best = int(makespans(whole, *listed(whole, priorities, np.full(DRAWN, whole.devices))).min())
    bound = int(np.ceil(whole.bound))
    if best <= bound:
        return REACHED
    least = shortest(whole, bound, best)
    if least is None:
        return OPEN
    return REACHED if best <= least else without_idling(whole, least)


def shortest(problem: Problem, bound: int, best: int) -> int | None:
    """Steps of the shortest schedule, or None if it is not proven in time."""
    model, _, ends = _model(problem, best)
    makespan = model.new_int_var(bound, best, "makespan")
    for end in ends:
        model.add(makespan >= end)
    model.minimize(makespan)
    solver = _solver(PROOF)
    return int(solver.objective_value) if solver.solve(model) == cp_model.OPTIMAL else None


def without_idling(problem: Problem, most: int) -> str:
    """Whether a schedule of at most `most` steps exists in which no device idles while an operation is ready."""
    n, parents = len(problem), problem.parents
    model, starts, ends = _model(problem, most)
    runs = [i for i in range(n) if problem.seconds[i] > 0]

    def not_after(time: cp_model.IntVar, limit: cp_model.IntVar | int) -> cp_model.IntVar:
        is_not = model.new_bool_var("")
        model.add(time <= limit).only_enforce_if(is_not)
        model.add(time > limit).only_enforce_if(~is_not)
        return is_not

    for now in (0, *(ends[i] for i in runs)):  # between these times nothing becomes ready, and no device free
        started, ended = ([not_after(of[i], now) for i in range(n)] for of in (starts, ends))
        busy = model.new_bool_var("")
        model.add(sum(started[i] - ended[i] for i in runs) >= problem.devices).only_enforce_if(busy)
        for i in range(n):
            waits = [~ended[parent] for parent in parents.targets[parents.offsets[i] : parents.offsets[i + 1]]]
            model.add_bool_or([started[i], busy, *waits])
    status = _solver(SEARCH).solve(model)
    return {cp_model.OPTIMAL: REACHED, cp_model.FEASIBLE: REACHED, cp_model.INFEASIBLE: EXCLUDED}.get(status, OPEN)


def _model(problem: Problem, most: int) -> tuple[cp_model.CpModel, list[cp_model.IntVar], list[cp_model.IntVar]]:
    """The constraints of a schedule of at most `most` steps; starts and ends of its operations."""
    model = cp_model.CpModel()
    lengths = problem.seconds.astype(int).tolist()
    starts = [model.new_int_var(0, most - length, "") for length in lengths]
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    intervals = [
        model.new_fixed_size_interval_var(start, length, "") for start, length in zip(starts, lengths, strict=True)
    ]
    for parent, child in zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True):
        model.add(starts[child] >= ends[parent])
    model.add_cumulative(intervals, [1] * len(intervals), problem.devices)
    return model, starts, ends


def _solver(seconds: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers, parameters.interleave_search, parameters.max_deterministic_time = 1, True, seconds
    return solver


def with_transfers(problem: Problem, rng: np.random.Generator) -> dict[str, float]:
    """Seconds of the best drawn priorities by method, and of the best that is known (`annealing`)."""
    priorities = drawn_priorities(problem, WITH_TRANSFERS, rng)
    unseen = listed(problem, priorities, np.full(WITH_TRANSFERS, problem.devices))
    best = {"list_scheduling": float(makespans(problem, *unseen).min())}
    urgencies = priorities / priorities.max(1, keepdims=True)
    reluctances = {"insertion": np.zeros(WITH_TRANSFERS), "completion": rng.choice(RELUCTANCES, WITH_TRANSFERS)}
    for method, of_draw in reluctances.items():
        leads = [
            Lead(urgency, np.full(len(problem), reluctance))
            for urgency, reluctance in zip(urgencies, of_draw, strict=True)
        ]
        schedules = [Completion(problem, lead)(Decisions.open(len(problem))) for lead in leads]
        start = min(schedules, key=lambda evaluated: float(evaluated.seconds[0]))
        best[method] = float(start.seconds[0])
    temperatures = best["completion"] * np.geomspace(0.01, 0.0005, MOVES)
    schedule = start.orders[0], start.placements[0]
    costs, _, _ = annealed(Target((problem,)), *schedule, best["completion"], temperatures, rng, 1)
    return best | {"annealing": float(min(costs.min(), *best.values()))}


def rows_of(outcomes: list[str], seconds: dict[str, list[dict[str, float]]]) -> Iterator[Row]:
    """Table `results`; seconds: by link, of each graph."""
    counts = Counter(outcomes)
    decided = counts[REACHED] + counts[EXCLUDED]
    interval = binomtest(counts[EXCLUDED], decided).proportion_ci()
    place = {"experiment": "excluded_optimum", "set": GRAPHS, "target": "proxy", "method": "list_scheduling"}
    share = counts[EXCLUDED] / decided
    yield row(place, "excluded_share", share, interval.low, interval.high, decided, "graphs", seed="all")
    yield row(place, Quantity("decided", unit="count"), decided, n=len(outcomes), seed="all")
    rng = np.random.default_rng(0)
    for link, graphs in seconds.items():
        for method in ("list_scheduling", "insertion", "completion"):
            logs = np.log([of[method] / of["annealing"] for of in graphs])
            means = np.exp(logs[rng.integers(0, len(logs), (SAMPLES, len(logs)))].mean(1)) - 1
            quantity, gap = Quantity("gap", baseline="annealing", unit="share"), float(np.exp(logs.mean())) - 1
            low, high = np.quantile(means, (0.025, 0.975)).tolist()
            yield row(
                place | {"target": link, "method": method}, quantity, gap, low, high, len(logs), "graphs", seed="all"
            )


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "excluded_optimum",
) -> None:
    """Decide, compare, print and publish; the graphs are made by `snakemake data/graphs/sets/unseen_small.parquet`."""
    settings = params.load()
    of_set = settings.graph_sets[GRAPHS]
    device = None if of_set.device is None else settings.devices[of_set.device]
    graphs = read_graphs(Path(path("graphs", graph_set=GRAPHS)))
    outcomes: list[str] = []
    seconds: dict[str, list[dict[str, float]]] = {"nvlink": [], "pcie": []}
    for number, graph in enumerate(tqdm(graphs, desc="graphs")):
        problem = problem_of(graph, of_set.devices, device, np.inf)
        outcomes.append(outcome(problem, np.random.default_rng([0, number])))
        for link, of_link in seconds.items():
            over_link = linked(problem, LINKS[link]).mean
            of_link.append(with_transfers(over_link, np.random.default_rng([1, number])))
        tqdm.write(f"{graph.name} {graph.variant}: {outcomes[-1]}")
    table = results(rows_of(outcomes, seconds))
    print(table[["target", "method", "metric", "value", "low", "high", "n"]].to_string(index=False))
    publish(
        output, {"results": table}, {"graphs": GRAPHS, "drawn": DRAWN, "moves": MOVES, "proof": PROOF, "search": SEARCH}
    )


if __name__ == "__main__":
    typer.run(main)
