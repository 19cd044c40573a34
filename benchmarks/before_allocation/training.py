"""Train the weights of the learned order, by an evolution strategy on measured cycles of training functions.

    python -m benchmarks.before_allocation.training FUNCTIONS WORK --minutes 60      # goes on where it stopped

FUNCTIONS: the folder that `python -m benchmarks.before_allocation` builds. Only functions are used for which LLVM's
default spills: elsewhere an order changes hardly anything. In each generation the orders that drawn weights give are
compiled and measured for some functions, beside LLVM's default; the strategy moves to weights of fewer cycles. Every
few generations the centre is tried on the development functions, and the best one is written: WORK/weights.safetensors.
A later call begins with the last centre and spreads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.before_allocation.bench import SEED, Bench
from benchmarks.before_allocation.orders import QUICK
from benchmarks.before_allocation.subject import Conditions, NotRunning, Subject, conditions, measured, subject
from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.before_allocation.learned_search import Weights, read, strategy, untrained, write
from learned_schedulers.blocks.before_allocation.policy import follow

_WORST = 1.5  # ratio to the default from which a function counts no worse: some weights do not fit it at all
_EVERY = 5  # generations between two trials on the development functions
_LARGEST = 1300  # instructions of a block: larger ones take too long to compile


class Team:
    """Functions that one process of each kind compiles and measures."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._bench = Bench()
        self.members: list[tuple[Subject, Conditions, Image]] = []
        self._ratios: dict[tuple[str, bytes], float] = {}
        for path in paths:
            of = subject(path)
            try:
                where = conditions(of, self._bench.native, self._bench.default)
            except NotRunning:
                continue
            if sum(of.counts(self._bench.default)[1:]):
                self.members.append((of, where, of.image(self._bench.default)))

    def ratios(self, weights: Sequence[np.ndarray], members: Sequence[int], rng: np.random.Generator) -> np.ndarray:
        """Cycles over the default's, (weights, members); equal orders are measured once."""
        ratios = np.zeros((len(weights), len(members)))
        for column, (of, where, default) in enumerate(self.members[member] for member in members):
            orders = [follow(of.problem, each) for each in weights]
            keys = [(of.name, order.tobytes()) for order in orders]
            fresh = {key: order for key, order in zip(keys, orders, strict=True) if key not in self._ratios}
            if fresh:
                forms = [of.image(self._bench.standing, order) for order in fresh.values()]
                cycles = measured(of, self._bench.native, [default, *forms], where, QUICK, rng)
                self._ratios.update(zip(fresh, (cycles[1:] / cycles[0]).tolist(), strict=True))
            ratios[:, column] = [self._ratios[key] for key in keys]
        return ratios


def main(
    functions: Annotated[Path, typer.Argument(help="Folder with functions.csv and a file for each function.")],
    work: Annotated[Path, typer.Argument(help="Folder for checkpoints and the log.")],
    minutes: Annotated[float, typer.Option(help="Time after which it stops; run it again to go on.")] = 60,
    batch: Annotated[int, typer.Option(help="Functions of a generation.")] = 40,
    jobs: Annotated[int, typer.Option(help="Teams of processes.")] = 2,
    limit: Annotated[int, typer.Option(help="Only so many functions of each set.")] = 1_000_000,
) -> None:
    """Train, and write the best weights so far."""
    work.mkdir(parents=True, exist_ok=True)
    log, checkpoint = work / "log.jsonl", work / "centre.safetensors"
    began = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        training, development = (
            list(pool.map(Team, (paths[job::jobs] for job in range(jobs))))
            for paths in (_paths(functions, chosen, limit) for chosen in ("training", "development"))
        )

        def ratios(teams: list[Team], weights: list[np.ndarray], members: list[np.ndarray], seed: int) -> np.ndarray:
            rngs = [np.random.default_rng([SEED, seed, job]) for job in range(jobs)]
            parts = pool.map(lambda team, some, rng: team.ratios(weights, some.tolist(), rng), teams, members, rngs)
            return np.concatenate(list(parts), 1)

        everyone = [np.arange(len(team.members)) for team in development]
        records = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        generation = records[-1]["generation"] if records else 0
        least = min((record["development"] for record in records), default=np.inf)
        rng = np.random.default_rng([SEED, generation])
        moving = strategy(read(checkpoint) if records else untrained(), rng)
        print(f"{sum(len(team.members) for team in training)} training and ", end="")
        print(f"{sum(len(team.members) for team in development)} development functions", flush=True)
        while time.monotonic() - began < 60 * minutes:
            members = [np.sort(rng.permutation(len(team.members))[: batch // jobs]) for team in training]
            drawn = moving.ask()
            of_drawn = ratios(training, [_shaped(each) for each in drawn], members, generation)
            fitness = np.log(np.minimum(of_drawn, _WORST)).mean(1)
            moving.tell(drawn, fitness.tolist())
            generation += 1
            if generation % _EVERY == 0:
                centre = _shaped(moving.mean)
                of_centre = float(np.exp(np.log(ratios(development, [centre], everyone, generation)).mean()))
                weights = Weights(centre, _shaped(moving.stds))
                write(checkpoint, weights)
                if of_centre < least:
                    least = of_centre
                    write(work / "weights.safetensors", weights)
                record = {"generation": generation, "training": float(np.exp(fitness.mean())), "development": of_centre}
                with log.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(f"{time.monotonic() - began:.0f} s: {record}", flush=True)


def _paths(functions: Path, chosen: str, limit: int) -> list[Path]:
    table = pd.read_csv(functions / "functions.csv")
    rows = table[(table.set == chosen) & (table.block_instructions <= _LARGEST)]
    return [functions / f"{name}.ll" for name in rows.name.sample(frac=1, random_state=SEED)[:limit]]


def _shaped(flat: np.ndarray) -> np.ndarray:
    return np.reshape(flat, untrained().centre.shape)


if __name__ == "__main__":
    typer.run(main)
