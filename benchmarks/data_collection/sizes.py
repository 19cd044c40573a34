"""States larger than CartPole's 16 bytes: the gain of stepping many environments at once, and of fusing steps.

A synthetic step: each of P float32 components of a state moves towards the next one, s_i <- 0.99 s_i + 0.01 s_(i + 1),
the last towards the first. An environment takes all steps of a call before the next one begins, so that its state stays
in the cache.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np

BYTES = (16, 64, 256, 1024, 4096, 16384)  # of a state
FUSED = (1, 4, 16, 64)  # steps of a call
STATES_BYTES = 64 * 2**20  # of all environments at most


def environments(size: int) -> int:
    """Number of environments that are stepped at once: 4,096, or as many as fit STATES_BYTES."""
    return min(4096, STATES_BYTES // size)


def advance(size: int, fused: int) -> tuple[Callable[[], None], np.ndarray]:
    """A call of `fused` steps of all environments, and their states, (B, P)."""
    states = np.random.default_rng(0).random((environments(size), size // 4), np.float32)
    _step(states, fused)
    return lambda: _step(states, fused), states


@numba.njit(cache=True, nogil=True)
def _step(states: np.ndarray, fused: int) -> None:
    count, parts = states.shape
    keep, take = np.float32(0.99), np.float32(0.01)
    for k in range(count):
        state = states[k]
        for _ in range(fused):
            first = state[0]
            for i in range(parts - 1):
                state[i] = keep * state[i] + take * state[i + 1]
            state[parts - 1] = keep * state[parts - 1] + take * first
