"""Weights of a policy that serve all training functions together: an evolution strategy on the mean of their ratios."""

from __future__ import annotations

import json
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from tqdm import trange

from benchmarks.before_allocation.bench import SEED, Bench
from benchmarks.before_allocation.spilling_functions import stand
from learned_schedulers.blocks.before_allocation.learned_search import Weights, shaped, strategy
from learned_schedulers.blocks.before_allocation.policy import follow
from learned_schedulers.blocks.before_allocation.stand import Stand

WORST = 1.5  # ratio to the default from which weights count no worse


def fit(paths: Sequence[Path], start: Weights, generations: int, jobs: int, log: Path) -> np.ndarray:
    """The centre of the strategy, of `start`'s first weights' shape.

    log: a file of a line for each generation, from which an earlier run goes on.
    """
    moving = strategy(start.portfolio[0], start.spread, np.random.default_rng(SEED))
    earlier = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    for means in earlier[:generations]:
        moving.tell(moving.ask(), means)
    if len(earlier) >= generations:
        return shaped(moving.mean)
    team = _Team(paths, jobs)
    try:
        with log.open("a") as file, trange(len(earlier), generations, desc="together") as progress:
            for _ in progress:
                drawn = moving.ask()
                logs = np.log(np.minimum(team.ratios(np.array([shaped(each) for each in drawn])), WORST))
                means = logs.mean(0).tolist()
                moving.tell(drawn, means)
                file.write(json.dumps(means) + "\n")
                file.flush()
                progress.set_postfix(mean=f"{np.exp(np.mean(means)):.4f}", best=f"{np.exp(min(means)):.4f}")
    finally:
        team.close()
    return shaped(moving.mean)


class _Team:
    """Processes that measure weights on functions, each its share of them."""

    def __init__(self, paths: Sequence[Path], jobs: int) -> None:
        context = get_context("spawn")
        self._pipes: list[Connection] = []
        for job in range(jobs):
            pipe, of_child = context.Pipe()
            context.Process(target=_work, args=(paths[job::jobs], of_child), daemon=True).start()
            self._pipes.append(pipe)

    def ratios(self, weights: np.ndarray) -> np.ndarray:
        """(functions, k) by weights (k, PARTS, FEATURES)."""
        for pipe in self._pipes:
            pipe.send(weights)
        return np.concatenate([pipe.recv() for pipe in self._pipes])

    def close(self) -> None:
        """End the processes."""
        for pipe in self._pipes:
            pipe.send(None)


def _work(paths: Sequence[Path], pipe: Connection) -> None:
    with Bench() as bench:
        stands = [each for each in (stand(path, bench) for path in paths) if each is not None]
        measured: list[dict[bytes, float]] = [{} for _ in stands]  # ratios of orders
        while (weights := pipe.recv()) is not None:
            pipe.send(np.array([_ratios(*each, weights) for each in zip(stands, measured, strict=True)]))


def _ratios(of: Stand, measured: dict[bytes, float], weights: np.ndarray) -> list[float]:
    orders = [follow(of.problem, each) for each in weights]
    fresh = list({key: order for order in orders if (key := order.tobytes()) not in measured}.values())
    if fresh:
        measured.update(zip((order.tobytes() for order in fresh), of.ratios(fresh).tolist(), strict=True))
    return [measured[order.tobytes()] for order in orders]
