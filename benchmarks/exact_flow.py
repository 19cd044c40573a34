"""Does a GFlowNet draw schedules in proportion to their reward? `python -m benchmarks.exact_flow`

Exactly, on small graphs. Networks are trained on eight graphs of five to seven operations, three seeds; a quarter of an
hour on one core. Every trajectory of a graph is then built, the policy's probability of it is computed, and those of
one schedule are summed: states that differ in the numbers of devices alone are one. Draws could not tell: those of a
perfect sampler differ from R/Z, too, as there are few draws for many schedules.

It publishes the experiment `exact_flow`, for each graph (`set`) and sigma (`decoder`): total_variation, half the sum of
all differences between probability and R/Z, and log_z_error, the mean error of estimates of log Z; the median of the
seeds with the least and the most. And table `schedule_probabilities` of two graphs, one seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import torch
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, of_rounds, publish
from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models import fused
from learned_schedulers.graphs.models.conditions import PLAIN, condition
from learned_schedulers.graphs.models.flow_loss import log_partition
from learned_schedulers.graphs.models.policy import Policy
from learned_schedulers.graphs.models.policy_settings import Policy as Settings
from learned_schedulers.graphs.models.policy_training import train
from learned_schedulers.graphs.models.rollout import log_probabilities
from learned_schedulers.graphs.models.topoformer import graph_view
from learned_schedulers.graphs.problems.problem import Edges, Problem
from pipeline.lab.rows import Quantity, results

_SIGMAS = (1.0, 0.1, 0.005)  # the last one is the one that schedules are drawn with
_SEEDS, _DRAWS, _PART = (0, 1, 2), 1000, 20_000
_SHOWN = ("independent_5_on_3", "fork_join_7_on_3")
_EDGES: dict[str, list[tuple[int, int]]] = {  # the name ends in the numbers of operations and devices
    "independent_5_on_3": [],
    "independent_6_on_2": [],
    "chain_and_free_6_on_2": [(0, 1), (1, 2), (2, 3)],
    "two_chains_6_on_3": [(0, 1), (1, 2), (3, 4), (4, 5)],
    "fork_join_7_on_3": [*((0, k) for k in range(1, 6)), *((k, 6) for k in range(1, 6))],
    "out_tree_7_on_2": [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)],
    "in_tree_7_on_3": [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6)],
    "layered_7_on_2": [(0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (3, 5), (4, 6), (5, 6)],
}


class Exact(NamedTuple):
    """All X schedules of a graph."""

    makespans: np.ndarray  # (X,) seconds
    target: np.ndarray  # (X,) R / Z
    probability: np.ndarray  # (X,) of being drawn
    log_z: float

    @property
    def total_variation(self) -> float:
        return float(np.abs(self.probability - self.target).sum() / 2)


def main(
    steps: Annotated[int, typer.Option(help="Of each training.")] = 9000,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings.")] = len(_SEEDS),
) -> None:
    """Train, compute, and publish."""
    torch.set_num_threads(1)
    problems = {name: _problem(name) for name in _EDGES}
    settings = Settings(training=["small"], development="small", start="nothing", steps=steps, learning_rate=5e-4,
                        decay=1.0, loss_weight="none", least_sigma=0.003, most_sigma=1.0)  # fmt: skip
    values: dict[tuple[str, float, str], list[float]] = {}
    shown = []
    for seed in range(seeds):
        policy, _ = train([list(problems.values())], list(problems.values()), settings, seed)
        for (name, problem), sigma in tqdm([(each, sigma) for each in problems.items() for sigma in _SIGMAS], "graphs"):
            exact = exactly(policy, problem, sigma)
            error = _log_z_error(policy, problem, sigma, exact.log_z, seed)
            values.setdefault((name, sigma, "total_variation"), []).append(exact.total_variation)
            values.setdefault((name, sigma, "log_z_error"), []).append(error)
            if name in _SHOWN and not seed:
                columns = {"makespan": exact.makespans, "target": exact.target, "probability": exact.probability}
                shown.append(pd.DataFrame({"graph": name, "sigma": sigma} | columns))
    rows = []
    for (name, sigma, metric), of_seeds in values.items():
        print(f"{name}, sigma {sigma:g}: {metric} {np.round(of_seeds, 4)}")
        place = {"experiment": "exact_flow", "set": name, "method": "gflownet", "target": "proxy"}
        place |= {"decoder": f"{sigma:g}", "judge": "simulator"}
        unit = "share" if metric == "total_variation" else "1"
        rows.append(of_rounds(place, Quantity(metric, judge="simulator", unit=unit), of_seeds, over="seeds"))
    tables = {"results": results(rows), "schedule_probabilities": pd.concat(shown, ignore_index=True)}
    publish(PUBLISHED / "exact_flow", tables, {"network": settings.model_dump(), "seeds": list(range(seeds))})


def _problem(name: str) -> Problem:
    """A graph with drawn run times."""
    *_, n, _, devices = name.split("_")
    rng = np.random.default_rng([*name.encode()])
    edges = np.array(sorted(_EDGES[name]), np.int32).reshape(-1, 2)
    offsets = np.r_[0, np.cumsum(np.bincount(edges[:, 0], minlength=int(n)))].astype(np.int32)
    seconds = np.round(rng.uniform(0.2, 1.0, int(n)), 2)
    return Problem(seconds, np.ones(int(n)), Edges(offsets, edges[:, 1].copy()), int(devices))


def _trajectories(problem: Problem) -> Iterator[tuple[tuple[int, int], ...]]:
    """All trajectories: the operation and the device of each step; of empty devices only the first is used."""
    parents = problem.parents

    def longer(steps: tuple[tuple[int, int], ...]) -> Iterator[tuple[tuple[int, int], ...]]:
        if len(steps) == len(problem):
            yield steps
            return
        added = {operation for operation, _ in steps}
        usable = min(1 + max((device for _, device in steps), default=-1) + 1, problem.devices)
        for i in range(len(problem)):
            needed = parents.targets[parents.offsets[i] : parents.offsets[i + 1]].tolist()
            if i not in added and added.issuperset(needed):
                for device in range(usable):
                    yield from longer((*steps, (i, device)))

    return longer(())


def exactly(policy: Policy, problem: Problem, sigma: float) -> Exact:
    """The distribution of a policy's schedules at this temperature, in units of the speedup."""
    steps = np.array(list(_trajectories(problem)), np.int64)  # (T, n, 2)
    parts = [_forward(policy, problem, sigma, steps[begin : begin + _PART]) for begin in range(0, len(steps), _PART)]
    logs, makespans = (np.concatenate(part) for part in zip(*parts, strict=True))
    numbers: dict[tuple[tuple[int, ...], ...], int] = {}
    of_devices = [[tuple(row[row[:, 1] == device, 0].tolist()) for device in range(problem.devices)] for row in steps]
    schedule_of = np.array([numbers.setdefault(tuple(sorted(chains)), len(numbers)) for chains in of_devices])
    _, firsts = np.unique(schedule_of, return_index=True)
    probability = np.bincount(schedule_of, np.exp(logs))
    assert abs(probability.sum() - 1) < 1e-4, probability.sum()
    log_rewards = (problem.seconds.sum() / makespans[firsts] - problem.devices) / sigma
    log_z = float(np.logaddexp.reduce(log_rewards))
    return Exact(makespans[firsts], np.exp(log_rewards - log_z), probability, log_z)


def _forward(policy: Policy, problem: Problem, sigma: float, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log P_F of given trajectories, and their makespans, (T,) each; steps: (T, n, 2)."""
    with torch.inference_mode():
        count, n = steps.shape[:2]
        environment = Environment(problem, count)
        conditions = condition(problem, sigma, PLAIN, count)
        drawing = fused.Drawing(policy, policy.read(graph_view(problem)), problem, environment, conditions)
        logs, rows = np.zeros(count), np.arange(count)
        for step in range(n):
            operations, devices = np.ascontiguousarray(steps[:, step, 0]), np.ascontiguousarray(steps[:, step, 1])
            drawing.observe()
            listed = np.arange(n) < drawing.observations.counts[:, None]
            scores = np.where(listed, drawing.scores.astype(float), -np.inf)
            chosen = (listed & (drawing.observations.operations == operations[:, None])).argmax(1)
            logs += scores[rows, chosen] - np.logaddexp.reduce(scores, 1)
            of_devices = drawing.place(operations).astype(float)
            logs += of_devices[rows, devices] - np.logaddexp.reduce(of_devices, 1)
            drawing.add(operations, devices)
        return logs, environment.makespan.numpy().copy()


def _log_z_error(policy: Policy, problem: Problem, sigma: float, log_z: float, seed: int) -> float:
    """The mean error of estimates of log Z, from a trajectory each."""
    with torch.no_grad():
        conditions = condition(problem, sigma, PLAIN, _DRAWS)
        graph, environment = policy.read(graph_view(problem)), Environment(problem, _DRAWS)
        generator = torch.Generator().manual_seed(seed)
        rollouts = fused.trajectories(policy, graph, problem, environment, conditions, generator)
        logs = log_probabilities(policy, graph, rollouts, conditions)
        log_rewards = (environment.speedup - problem.devices) / sigma
        estimates = log_partition(log_rewards, logs.forward.double(), logs.backward.double())
        return float((estimates - log_z).abs().mean())


if __name__ == "__main__":
    typer.run(main)
