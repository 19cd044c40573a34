"""Number of backend calls that a way of stepping CartPole makes for one step of all environments, by counting.

A call is one operation that Python requests from a library, or one call of a compiled function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data_collection.cartpole import action, begin, step
from benchmarks.data_collection.ways import Way

_ENVIRONMENTS = 8  # as many as it takes: the number of calls is the same


def calls(way: Way) -> float:
    """Calls for one step of all environments; NaN where they cannot be counted from outside: gymnasium's vector."""
    if way.name == "gymnasium":
        return float(way.environments)
    if way.name in _OPERATIONS:
        return float(_OPERATIONS[way.name]())
    return np.nan if way.name == "gymnasium_vector" else 1 / way.fused


class _Counted(np.ndarray):
    """An array that counts the operations on it."""

    count = 0

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        _Counted.count += 1
        plain = (value.view(np.ndarray) if isinstance(value, _Counted) else value for value in inputs)
        return np.asarray(getattr(function, method)(*plain, **options)).view(_Counted)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        _Counted.count += 1
        plain = (value.view(np.ndarray) if isinstance(value, _Counted) else value for value in inputs)
        return np.asarray(function(*plain, **options)).view(_Counted)

    def astype(self, *inputs: Any, **options: Any) -> Any:
        """Counts as an operation of its own."""
        _Counted.count += 1
        return super().astype(*inputs, **options)


def _numpy() -> int:
    numbers = np.arange(_ENVIRONMENTS, dtype=np.int32).view(_Counted)
    state = begin(np, numbers, np.float32)
    _Counted.count = 0
    with np.errstate(over="ignore"):
        step(np, state, numbers, action(numbers, np.int32(3)), np.float32)
    return _Counted.count


def _torch() -> int:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.count += 1
            return func(*args, **(kwargs or {}))

    numbers = torch.arange(_ENVIRONMENTS, dtype=torch.int32)
    state, clock = begin(torch, numbers, torch.float32), torch.zeros((), dtype=torch.int32)
    with Counting() as counting:
        step(torch, state, numbers, action(numbers, clock), torch.float32)
    return counting.count


def _jax() -> int:
    """Primitives of the traced step: each is a call when it is not compiled."""
    import jax
    import jax.numpy as jnp

    numbers = jnp.arange(_ENVIRONMENTS, dtype=jnp.int32)
    state = begin(jnp, numbers, jnp.float32)

    def traced_step(state: Any, clock: Any) -> Any:
        return step(jnp, state, numbers, action(numbers, clock), jnp.float32)

    return len(jax.make_jaxpr(traced_step)(state, jnp.int32(3)).jaxpr.eqns)


_OPERATIONS = {"numpy": _numpy, "torch": _torch, "torch_gpu": _torch, "jax_eager": _jax}
