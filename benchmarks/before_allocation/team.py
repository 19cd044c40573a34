"""Processes that measure the orders of policies on many functions that spill, each process on its share of them."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

import numpy as np

from benchmarks.before_allocation.bench import Bench
from benchmarks.before_allocation.orders import Stand
from benchmarks.before_allocation.spilling_functions import stand
from learned_schedulers.blocks.before_allocation.policy import follow


class Team:
    """Functions that run here and spill, ready to be measured while it is open."""

    def __init__(self, paths: Sequence[Path], jobs: int) -> None:
        self._shares = [paths[job::jobs] for job in range(jobs)]
        self._pipes: list[Connection] = []

    def __enter__(self) -> Self:
        context = get_context("spawn")
        for share in self._shares:
            pipe, of_child = context.Pipe()
            context.Process(target=_work, args=(share, of_child), daemon=True).start()
            of_child.close()  # so that the end of the process is noticed
            self._pipes.append(pipe)
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.close()
        self._pipes.clear()

    def ratios(self, weights: np.ndarray) -> np.ndarray:
        """Cycles over LLVM's default, (functions, k), of weights (k, PARTS, FEATURES). Raises EOFError if one ended."""
        for pipe in self._pipes:
            pipe.send(weights)
        return np.concatenate([pipe.recv() for pipe in self._pipes])


def _work(paths: Sequence[Path], pipe: Connection) -> None:
    with Bench() as bench:
        stands = [each for each in (stand(path, bench) for path in paths) if each is not None]
        measured: list[dict[bytes, float]] = [{} for _ in stands]  # ratios of orders
        while True:
            try:
                weights = pipe.recv()
            except EOFError:
                return
            ratios = [_ratios(*each, weights) for each in zip(stands, measured, strict=True)]
            pipe.send(np.array(ratios).reshape(len(stands), len(weights)))


def _ratios(of: Stand, measured: dict[bytes, float], weights: np.ndarray) -> list[float]:
    orders = [follow(of.problem, each) for each in weights]
    fresh = list({key: order for order in orders if (key := order.tobytes()) not in measured}.values())
    if fresh:
        measured.update(zip((order.tobytes() for order in fresh), of.ratios(fresh).tolist(), strict=True))
    return [measured[order.tobytes()] for order in orders]
