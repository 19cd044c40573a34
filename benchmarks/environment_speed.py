"""The speed of building schedules, side by side and one at a time: `python -m benchmarks.environment_speed`, seconds.

All build whole schedules of one layered graph, with transfers, by random allowed actions: before each step the allowed
actions are computed, one is drawn uniformly, and the reward of the whole schedule is read at the end. `batched` does so
side by side with torch, without a loop over schedules; `compiled` goes through the same states bit by bit, on one core,
and `compiled_on_two` on two. `single` schedules are those of gymnasium, one after the other on one core, which make an
observation at each step. A step adds one operation to one schedule. Rounds take turns, so that a slow moment of the
computer falls on all; the first round is not counted, as it compiles.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Annotated, get_args

import numba
import numpy as np
import torch
import typer
from scipy.stats import quantile_test
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.graphs.corpus import synthetic
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.environment.batched import Environment, Sequence
from pipeline.graphs.environment.compiled import CompiledEnvironment
from pipeline.graphs.environment.single import ScheduleEnv
from pipeline.graphs.problems.problem import Problem, Transfers

FAMILY, OPERATIONS, DEVICES = "layered", 50, 4
TRANSFERS = Transfers(slope=1e-6, delay=0.1)  # results are of up to a megabyte, run times of up to a second
BATCHED: dict[str, tuple[type[Environment], int]] = {  # and threads
    "batched": (Environment, 1),
    "compiled": (CompiledEnvironment, 1),
    "compiled_on_two": (CompiledEnvironment, 2),
}
Rates = dict[tuple[str, Sequence], np.ndarray]  # steps per second of each round, by method and sequence


def layered(seed: int) -> Problem:
    """The graph whose schedules are built."""
    graph = synthetic.draw(FAMILY, OPERATIONS, np.random.default_rng(seed))
    return replace(problem_of(graph, DEVICES), transfers=TRANSFERS)


def build_batch(environment: Environment, generator: torch.Generator) -> torch.Tensor:
    """Build every schedule of the batch to its end; returns the rewards, (B,)."""
    for _ in range(environment.operations):
        uniforms = torch.rand(environment.batch, generator=generator, dtype=torch.float64)
        environment.step(*environment.random_actions(uniforms))
    return environment.speedup


def build_one(environment: ScheduleEnv, rng: np.random.Generator) -> float:
    """Build one schedule to its end; returns its reward."""
    _, details = environment.reset()
    reward, ended = 0.0, False
    while not ended:
        allowed = np.flatnonzero(details["action_mask"])
        _, reward, ended, _, details = environment.step(int(allowed[int(rng.random() * len(allowed))]))
    return reward


def rates(problem: Problem, batch: int, batches: int, singles: int, rounds: int, seed: int) -> Rates:
    """Steps per second of each round, (rounds,). `compiled` builds several batches in a round, or it would be short."""
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    measured = defaultdict(list)
    for _ in tqdm(range(rounds + 1), desc="rounds"):
        for sequence in get_args(Sequence):
            for method, (environment, threads) in BATCHED.items():
                numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
                times = 1 if environment is Environment else batches
                began = time.perf_counter()
                for _ in range(times):
                    build_batch(environment(problem, batch, sequence), generator)
                steps = times * batch * len(problem)
                measured[method, sequence].append(steps / (time.perf_counter() - began))
            single_environment = ScheduleEnv(problem, sequence)
            began = time.perf_counter()
            for _ in range(singles):
                build_one(single_environment, rng)
            measured["single", sequence].append(singles * len(problem) / (time.perf_counter() - began))
    return {place: np.array(round_rates[1:]) for place, round_rates in measured.items()}


def rows_of(experiment: str, measured: Rates) -> list[Row]:
    """The median round of each method with its 95% interval, and the same of the batch's ratio to single schedules."""
    rows = []
    for method, sequence in measured:
        place = {"experiment": experiment, "set": FAMILY, "target": sequence, "method": method, "seed": "all"}
        speed = Quantity("steps_per_second", lengths=str(OPERATIONS), unit="steps/s")
        rows.append(_row(place, speed, measured[method, sequence]))
        if method in BATCHED:
            ratio = Quantity("speedup", "ratio", "single", lengths=str(OPERATIONS))
            rows.append(_row(place, ratio, measured[method, sequence] / measured["single", sequence]))
    return rows


def _row(place: dict[str, str], quantity: Quantity, round_numbers: np.ndarray) -> Row:
    interval = quantile_test(round_numbers).confidence_interval(0.95)
    return row(
        place, quantity, float(np.median(round_numbers)), interval.low, interval.high, len(round_numbers), over="rounds"
    )


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "environment_speed",
    batch: Annotated[int, typer.Option(help="Schedules that are built side by side.")] = 1000,
    batches: Annotated[int, typer.Option(help="Of a round, one after the other, where they are compiled.")] = 5,
    singles: Annotated[int, typer.Option(help="Schedules of a round that are built one after the other.")] = 50,
    rounds: Annotated[int, typer.Option(help="Times that each is timed.")] = 21,
    seed: Annotated[int, typer.Option(help="Of the graph and the actions.")] = 0,
) -> None:
    """Time both, and publish."""
    torch.set_num_threads(1)
    table = results(rows_of(output.name, rates(layered(seed), batch, batches, singles, rounds, seed)))
    print(table[["target", "method", "metric", "value", "low", "high"]].to_string(index=False))
    options = {"batch": batch, "batches": batches, "singles": singles, "rounds": rounds, "seed": seed}
    publish(output, {"results": table}, options, ["benchmarks.environment_speed"])


if __name__ == "__main__":
    typer.run(main)
