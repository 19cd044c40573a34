"""The strategies of the paper on XLA's fusion, on CartPole by jax (Snider & Liang 2023, "Operator Fusion in XLA").

baseline: the state is one array that every step puts together again, and actions are drawn in the loop.
no_concatenation: the state is separate arrays. random_outside: in addition, actions are drawn before the loop.
unrolled_U: in addition, the loop's body is U steps. Episodes do not end, as in the paper: only the compilation of the
step is compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.data_collection.cartpole import State, physics

ENVIRONMENTS, STEPS = 2048, 1024
UNROLLED = (2, 4, 8, 16, 32)
STRATEGIES = ("baseline", "no_concatenation", "random_outside", *(f"unrolled_{unroll}" for unroll in UNROLLED))


@dataclass(frozen=True)
class Compiled:
    """A compiled run of all steps."""

    run: Callable[[], None]
    states: Callable[[], np.ndarray]  # (4, environments) x, speed, angle, turn after all steps
    kernels: int  # fusions and library calls in the compiled text, of one iteration of the loop
    moved_bytes: float  # by one iteration of the loop, as XLA's own cost analysis counts; NaN where it does not say


def compiled(strategy: str, environments: int = ENVIRONMENTS, steps: int = STEPS) -> Compiled:
    """A strategy's run. Raises ValueError for an unknown strategy."""
    if strategy not in STRATEGIES:
        raise ValueError(f"no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax
    import jax.numpy as jnp

    unroll = int(strategy.split("_")[1]) if strategy.startswith("unrolled") else 1
    key, first, pushed = _drawn(environments, steps)

    def moved(parts: Any, pushed: Any) -> tuple[Any, Any, Any, Any]:
        zero = jnp.zeros(environments, jnp.int32)
        return physics(jnp, State(*parts, zero, zero), pushed, jnp.float32)

    def drawn(number: Any) -> Any:
        return _actions(key, number, environments)

    def whole(state: Any) -> Any:
        def body(carry: Any, number: Any) -> tuple[Any, None]:
            return jnp.concatenate([part[None] for part in moved(tuple(carry), drawn(number))]), None

        return jax.lax.scan(body, state, jnp.arange(steps))[0]

    def parts(*state: Any) -> Any:
        return jax.lax.scan(lambda carry, number: (moved(carry, drawn(number)), None), state, jnp.arange(steps))[0]

    def with_pushes(pushed: Any, *state: Any) -> Any:
        return jax.lax.scan(lambda carry, row: (moved(carry, row), None), state, pushed, unroll=unroll)[0]

    function, inputs = {"baseline": (whole, (first,)), "no_concatenation": (parts, tuple(first))}.get(
        strategy, (with_pushes, (pushed, *first))
    )
    executable = jax.jit(function).lower(*inputs).compile()
    costs = executable.cost_analysis()
    analysed = costs[0] if isinstance(costs, list) else costs or {}

    def run() -> None:
        jax.block_until_ready(executable(*inputs))

    def states() -> np.ndarray:
        return np.array(executable(*inputs))

    return Compiled(run, states, kernels_of(executable.as_text()), float(analysed.get("bytes accessed", float("nan"))))


def drawn(environments: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """First states, (4, environments), and pushes, (steps, environments): those of every strategy."""
    _, first, pushed = _drawn(environments, steps)
    return np.array(first), np.array(pushed)


def _drawn(environments: int, steps: int) -> tuple[Any, Any, Any]:
    import jax
    import jax.numpy as jnp

    key = jax.random.key(0)
    first = jax.random.uniform(key, (4, environments), minval=-0.05, maxval=0.05)
    return key, first, jax.vmap(lambda number: _actions(key, number, environments))(jnp.arange(steps))


def _actions(key: Any, number: Any, environments: int) -> Any:
    """Of the step with this number: 0 or 1 for each environment."""
    import jax

    return jax.random.bernoulli(jax.random.fold_in(key, number), shape=(environments,)).astype("int32")


def kernels_of(text: str) -> int:
    """Fusions and calls in a compiled module, outside of the fusions' own computations."""
    return len(re.findall(r"= [^=]*\b(?:fusion|call|custom-call)\(", text))
