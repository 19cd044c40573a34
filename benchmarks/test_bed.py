"""In which test bed do the baselines of Zhang et al. 2023 behave as in its table 3? `python -m benchmarks.test_bed`

The paper does not say how transfers queue, how list scheduling breaks ties, how BRKGA decodes its keys, or which of its
schedules are judged. On development graphs of the paper's sizes (never on test graphs), this tries all combinations:
for each, the strengths of `bandwidth` and `latency` are those at which list scheduling keeps as much of its speedup as
in the paper; what BRKGA keeps there is compared with the paper's. The settings with the least difference are nearest.

Needs the graphs: `snakemake data/graphs/sets/development_sizes.parquet data/graphs/sets/training_sizes.parquet`. Takes
ten minutes, and publishes the experiment `test_bed`: of each tie rule, decoder and queue the nearest setting.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import typer
from pymoo.algorithms.soo.nonconvex.brkga import BRKGA
from pymoo.core.problem import Problem as Keys
from pymoo.optimize import minimize
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.graphs.devices.queues import BUSY, Busy, queued_makespans
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.method_settings import Ties
from learned_schedulers.graphs.methods.brkga import schedules
from learned_schedulers.graphs.methods.rules.listing import TIES, by_critical_path
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from learned_schedulers.graphs.read.roofline import problem_of
from pipeline.lab.config import params
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.paper import GFLOWNET_TABLE_3
from pipeline.lab.places import path

SETS = ("development_sizes", "training_sizes")
DEVICES, KEPT = 4, 100
EVALUATIONS, POPULATIONS = 1000, (50, 200)  # BRKGA's
STRENGTHS = np.r_[0.0, np.geomspace(0.003, 30, 41)]  # of targets, in mean run times
OF_LIST, OF_BRKGA = (GFLOWNET_TABLE_3[name] for name in ("list_scheduling", "brkga"))
SIZES = ("bytes", "times", "equal")  # what the transfers of `bandwidth` are in proportion to
Schedules = tuple[np.ndarray, np.ndarray]  # orders, placements: (S, n)


class Bed(NamedTuple):
    """How targets are simulated."""

    busy: Busy
    each_child: bool
    sizes: str

    def speedups(self, problem: Problem, elite: Schedules, target: str) -> np.ndarray:
        """The best speedup of some schedules at each of STRENGTHS, (len(STRENGTHS),)."""
        sizes = {"bytes": problem.sizes, "times": problem.seconds}.get(self.sizes, np.ones(len(problem)))
        sizes = sizes if target == "bandwidth" and sizes.any() else np.ones(len(problem))
        unit = problem.seconds.mean() / sizes.mean()
        each = [replace(problem, sizes=sizes, transfers=Transfers(slope=strength * unit)) for strength in STRENGTHS]
        best = [queued_makespans(strong, *elite, self.busy, self.each_child).min() for strong in each]
        return problem.seconds.sum() / np.array(best)

    def curves(self, problems: Sequence[Problem], elite: Sequence[Schedules]) -> dict[str, np.ndarray]:
        """Mean speedups over the graphs at each of STRENGTHS, by target."""
        pairs = list(zip(problems, elite, strict=True))
        return {name: np.mean([self.speedups(*pair, name) for pair in pairs], 0) for name in ("bandwidth", "latency")}


def evolved(problem: Problem, ties: Ties | None, population: int, seed: int) -> dict[str, Schedules]:
    """What BRKGA keeps on the proxy: its best different schedules of all, or of its last population; KEPT at most."""
    every: list[Schedules] = []
    costs: list[np.ndarray] = []

    class Evaluated(Keys):
        def _evaluate(self, x: np.ndarray, out: dict[str, Any], *args: object, **kwargs: object) -> None:
            every.append(schedules(problem, x, ties))
            costs.append(makespans(problem, *every[-1]))
            out["F"] = costs[-1][:, None]

    elites, mutants = population // 5, population // 10
    algorithm = BRKGA(elites, population - elites - mutants, mutants, 0.7)
    keys = Evaluated(n_var=len(problem) * (1 if ties else 2), n_obj=1, xl=0.0, xu=1.0)
    minimize(keys, algorithm, ("n_eval", EVALUATIONS), seed=seed)
    orders, placements = (np.concatenate(parts) for parts in zip(*every, strict=True))
    cost = np.concatenate(costs)
    elite = {}
    for name, begin in (("best", 0), ("last", max(len(cost) - 2 * population, 0))):
        _, distinct = np.unique(np.c_[orders, placements][begin:], axis=0, return_index=True)
        chosen = begin + distinct[np.argsort(cost[begin + distinct], kind="stable")][:KEPT]
        elite[name] = orders[chosen], placements[chosen]
    return elite


def compared(of_list: dict[str, np.ndarray], of_brkga: dict[str, np.ndarray]) -> dict[str, float]:
    """Speedups at the strengths at which list scheduling loses as in the paper, and how far BRKGA's are from there."""
    row: dict[str, float] = {}
    difference = 0.0
    for target in ("proxy", "bandwidth", "latency"):
        curve_of_list, curve = (each["bandwidth" if target == "proxy" else target] for each in (of_list, of_brkga))
        aim = curve_of_list[0] * OF_LIST[target] / OF_LIST["proxy"]
        at = int(np.argmin(np.abs(np.log(curve_of_list / aim)))) if target != "proxy" else 0
        row |= {f"list_{target}": curve_of_list[at], f"brkga_{target}": curve[at], f"strength_{target}": STRENGTHS[at]}
        difference += abs(np.log(curve[at] / curve_of_list[at] * OF_LIST[target] / OF_BRKGA[target]))
    return row | {"difference": difference}


def main(
    count: Annotated[int, typer.Option(help="Graphs, drawn from both sets.")] = 80,
    to_publish: Annotated[bool, typer.Option("--publish", help="Publish the nearest settings.")] = False,
) -> None:
    """Try all settings; print the nearest ones."""
    problems = _problems(count)
    beds = [Bed(*parts) for parts in product(BUSY, (False, True), SIZES)]
    lists = {ties: [_batched(by_critical_path(problem, ties)) for problem in problems] for ties in TIES}
    of_list = {(ties, bed): bed.curves(problems, lists[ties]) for ties, bed in product(TIES, beds)}
    rows = []
    for decoder, population in product((None, *TIES), POPULATIONS):
        progress = tqdm(problems, f"keys of {decoder or 'devices'}", file=sys.stderr)
        each = [evolved(problem, decoder, population, 1) for problem in progress]
        for keeps, bed in product(("best", "last"), beds):
            of_brkga = bed.curves(problems, [elite[keeps] for elite in each])
            for ties in TIES:
                place = {"ties": ties, "decoder": decoder or "devices", "population": population, "keeps": keeps}
                rows.append(place | bed._asdict() | compared(of_list[ties, bed], of_brkga))
    table = pd.DataFrame(rows).sort_values("difference", ignore_index=True)
    print(table.head(25).to_string())
    if to_publish:
        nearest = table.drop_duplicates(["ties", "decoder", "busy"])
        publish(PUBLISHED / "test_bed", {"test_bed": nearest}, {"graphs": len(problems), "paper": GFLOWNET_TABLE_3})


def _batched(schedule: Schedules) -> Schedules:
    order, placement = schedule
    return order[None], placement[None]


def _problems(count: int) -> list[Problem]:
    settings = params.load()
    problems = []
    for name in SETS:
        of_set = settings.graph_sets[name]
        device = None if of_set.device is None else settings.devices[of_set.device]
        graphs = read_graphs(Path(path("graphs", graph_set=name)))
        problems += [problem_of(graph, DEVICES, device, np.inf) for graph in graphs]
    return [problems[i] for i in np.random.default_rng(0).permutation(len(problems))[:count]]


if __name__ == "__main__":
    typer.run(main)
