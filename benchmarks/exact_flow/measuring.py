"""Does a GFlowNet draw schedules in proportion to their reward? `python -m benchmarks.exact_flow.measuring`.

A network of its own is trained on each of ten small graphs (graphs.py), at temperatures between the lowest and the
highest of SIGMAS. Then P_F is pushed through all states (pipeline/graphs/models/exact_flow.py), and compared with R /
Z: by the total variation, and by the mean error of estimates of log Z from a thousand draws each. Schedules that the
network draws are counted, too: their total variation from the pushed distribution has to be that of a perfect sampler.
About six minutes a graph on one core; trainings are stored in .cache/checkpoints, so that an interrupted run continues.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer
from scipy.special import logsumexp
from tqdm import tqdm

from benchmarks.exact_flow.graphs import GRAPHS
from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Row, results, row
from pipeline.config.params import load
from pipeline.config.policy import Policy as Settings
from pipeline.graphs.models.exact_flow import ExactFlow, distribution, draw_schedules
from pipeline.graphs.models.policy import Policy
from pipeline.graphs.models.policy_training import train
from pipeline.graphs.problems.problem import Problem
from pipeline.learning.checkpoints import Checkpoint

SIGMAS = (1.0, 0.3, 0.1)  # in speedups
STEPS = 6000
DRAWS = 100_000
ESTIMATED = 1000  # draws from which log Z is estimated, as many as a method has proposals
_PERFECT = 4000  # samples of DRAWS schedules by a perfect sampler
_RANGE = (0.0005, 0.9995)  # of their total variations: 99.9%
PICTURED = ("independent_5_on_3", "two_chains_7_on_3")  # whose schedules are published one by one
CHANGES = {"steps": STEPS, "least_sigma": SIGMAS[-1], "most_sigma": SIGMAS[0], "sigma_unit": "speedup"}
TRAINING = CHANGES | {"learning_rate": 3e-3, "start": "nothing", "loss_weight": "none", "measurements": 8}


def settings() -> Settings:
    """The settings of params.yaml for `gflownet`, with those of TRAINING."""
    return Settings.model_validate(load().experiments["gflownet"].models["gflownet"].model_dump() | TRAINING)


def trained(name: str, problem: Problem, seed: int) -> Policy:
    """The network after its training on this graph, or from the state that an earlier run stored."""
    chosen = settings()
    checkpoint = Checkpoint(["pipeline.graphs.models.policy_training"], f"{chosen!r}\n{name} {problem}\n{seed}", [])
    return train([[problem]], [problem], chosen, seed, checkpoint.load(), checkpoint.save)[0]


def perfect(probability: np.ndarray, rng: np.random.Generator) -> tuple[float, float, float]:
    """Total variations of the counts of a perfect sampler's DRAWS: their mean, and the range of 99.9% of them."""
    shares = probability / probability.sum()
    counts = (rng.multinomial(DRAWS, shares) for _ in range(_PERFECT))
    variations = [float(np.abs(each / DRAWS - shares).sum() / 2) for each in counts]
    low, high = np.quantile(variations, _RANGE)
    return float(np.mean(variations)), float(low), float(high)


def measured(name: str, policy: Policy, problem: Problem, sigma: float, seed: int) -> tuple[list[Row], ExactFlow]:
    """Rows of results of one graph at one temperature."""
    flow = distribution(policy, problem, sigma)
    draws = draw_schedules(policy, problem, sigma, flow, DRAWS, seed)
    variation = float(np.abs(draws.counts / DRAWS - flow.probability).sum() / 2)
    estimates = logsumexp(draws.zetas.reshape(-1, ESTIMATED), 1) - np.log(ESTIMATED)
    errors = np.abs(estimates - flow.log_z)
    mean, low, high = perfect(flow.probability, np.random.default_rng(seed))
    place = {"experiment": "exact_flow", "set": name, "dependencies": "none", "method": "gflownet", "seed": "all"}
    place |= {"decoder": f"{sigma:g}", "target": "proxy", "judge": "simulator"}
    rows = [
        row(place, "schedules", len(flow.probability), unit="count"),
        row(place, "total_variation", flow.total_variation),
        row(place, "log_z_error", float(errors.mean()), n=len(errors), unit="1"),
        row(place, "drawn_total_variation", variation, n=DRAWS),
        row(place, "perfect_total_variation", mean, low, high, DRAWS, "perfect_samplers"),
    ]
    return rows, flow


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "exact_flow",
    only: Annotated[str, typer.Option(help="Train on graphs whose names begin so, and publish nothing.")] = "",
    seed: Annotated[int, typer.Option(help="Of trainings and draws.")] = 0,
) -> None:
    """Train a network on every graph, compare what it draws with what it promises, and publish both."""
    torch.set_num_threads(1)
    rows: list[Row] = []
    schedules = []
    for name, problem in tqdm(GRAPHS.items(), desc="graphs"):
        if not name.startswith(only):
            continue
        policy = trained(name, problem, seed)
        for sigma in SIGMAS:
            more, flow = measured(name, policy, problem, sigma, seed)
            rows += more
            shown = {figure["metric"]: round(figure["value"], 4) for figure in more}
            tqdm.write(f"{name} at sigma {sigma:g}: {shown}")
            if name in PICTURED:
                numbers = {"makespan": flow.makespans, "target": flow.target, "probability": flow.probability}
                schedules.append(pd.DataFrame({"graph": name, "sigma": sigma} | numbers))
    if only:
        return
    tables = {"results": results(rows), "schedule_probabilities": pd.concat(schedules, ignore_index=True)}
    modules = ["benchmarks.exact_flow.measuring", "pipeline.graphs.models.policy_training"]
    publish(output, tables, {"seed": seed, "network": settings().model_dump(mode="json")}, modules)


if __name__ == "__main__":
    typer.run(main)
