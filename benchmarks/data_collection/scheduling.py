"""Ways of stepping this repository's scheduling environment: whole schedules of one graph by random allowed actions."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium
import numpy as np
import torch

from benchmarks.speed import build_batch, build_one, layered
from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.environment.single import ScheduleEnv

WAYS = ("gymnasium", "gymnasium_vector", "numba")
BATCH, VECTOR = 4096, 16


def make(way: str) -> tuple[Callable[[], None], int]:
    """A function that builds some schedules to their ends, and the number of steps of single environments in it.

    There is no way by NumPy, torch or jax: the effect of an action is a loop over the operation's readers, which
    differs between graphs. Raises ValueError for an unknown way.
    """
    problem = layered(50)
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    if way == "gymnasium":
        environment = ScheduleEnv(problem)
        return lambda: _nothing(build_one(environment, rng)), len(problem)
    if way == "gymnasium_vector":
        return _vector(problem, rng), len(problem) * VECTOR
    if way == "numba":
        return lambda: _nothing(build_batch(Environment(problem, BATCH), generator)), len(problem) * BATCH
    raise ValueError(f"no way {way!r}; there are {', '.join(WAYS)}")


def _vector(problem: object, rng: np.random.Generator) -> Callable[[], None]:
    environments = gymnasium.vector.SyncVectorEnv([lambda: ScheduleEnv(problem) for _ in range(VECTOR)])  # type: ignore[arg-type,list-item,return-value]

    def advance() -> None:
        observed, _ = environments.reset()
        ended = np.zeros(VECTOR, bool)
        while not ended.all():
            allowed = observed["action_mask"].astype(bool)
            uniforms = np.where(allowed, rng.random(allowed.shape), -1.0)
            observed, _, ended, _, _ = environments.step(uniforms.argmax(1))

    return advance


def _nothing(_: object) -> None:
    return None
