"""Ways of stepping many CartPoles: each is a function that advances all environments by some steps."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.data_collection.cartpole import State, action, begin, start, step

Advance = Callable[[], None]  # one call: `fused` steps of each environment
WAYS = (
    *("gymnasium", "gymnasium_vector", "numpy", "numba", "numba_blocks", "torch", "torch_compiled"),
    *("jax_eager", "jax", "jax_scan", "jax_scan_unrolled", "torch_gpu", "torch_compiled_gpu"),
)
UNROLLED = 8


@dataclass(frozen=True)
class Way:
    """A way, for a number of environments, with a number of steps in a call; `unroll` is of a scan."""

    name: str
    environments: int = 4096
    fused: int = 1
    unroll: int = 1

    @property
    def label(self) -> str:
        """A name that is different for every way."""
        return f"{self.name}_{self.environments}_{self.fused}_{self.unroll}"


def make(way: Way) -> tuple[Advance, Callable[[], tuple[np.ndarray, ...]]]:
    """A function that advances the environments, and one that returns x, speed, angle, turn, steps, episode, (B,) each.

    Raises ValueError for an unknown way, ImportError if its package is not installed, RuntimeError without the GPU that
    it runs on.
    """
    if way.name.startswith("jax"):
        return _jax(way)
    makers = {
        "gymnasium": _gymnasium,
        "gymnasium_vector": _vector,
        "numpy": _numpy,
        "numba": _numba,
        "numba_blocks": _numba,
    }
    makers |= dict.fromkeys(["torch", "torch_compiled", "torch_gpu", "torch_compiled_gpu"], _torch)
    if way.name not in makers:
        raise ValueError(f"no way {way.name!r}; there are {', '.join(WAYS)}")
    return makers[way.name](way)


def _gymnasium(way: Way) -> tuple[Advance, Callable[[], tuple[np.ndarray, ...]]]:
    import gymnasium

    poles = [gymnasium.make("CartPole-v1") for _ in range(way.environments)]
    clock = [0]
    episodes = np.zeros(way.environments, np.int32)
    steps = np.zeros(way.environments, np.int32)

    def reset(k: int) -> None:
        poles[k].reset()
        number = np.array([k], np.int32), episodes[k : k + 1]
        poles[k].unwrapped.state = tuple(float(part[0]) for part in start(np, *number, np.float64))  # type: ignore[attr-defined]
        steps[k] = 0

    for k in range(way.environments):
        reset(k)
    numbers = np.arange(way.environments, dtype=np.int32)

    def advance() -> None:
        for _ in range(way.fused):
            pushed = action(numbers, np.int32(clock[0]))
            for k, pole in enumerate(poles):
                _, _, terminated, truncated, _ = pole.step(int(pushed[k]))
                steps[k] += 1
                if terminated or truncated:
                    episodes[k] += 1
                    reset(k)
            clock[0] += 1

    def present_states() -> tuple[np.ndarray, ...]:
        states = np.array([pole.unwrapped.state for pole in poles])  # type: ignore[attr-defined]
        return *states.T, steps, episodes

    return advance, present_states


def _vector(way: Way) -> tuple[Advance, Callable[[], tuple[np.ndarray, ...]]]:
    """gymnasium's own vector entry point; it resets ended episodes in the step after, by its own random numbers."""
    import gymnasium

    poles = gymnasium.make_vec("CartPole-v1", way.environments, vectorization_mode="vector_entry_point")
    poles.reset(seed=0)
    core: Any = poles.unwrapped
    numbers = np.arange(way.environments, dtype=np.int32)
    core.state = np.array(start(np, numbers, numbers * 0, np.float64))
    clock = [0]

    def advance() -> None:
        for _ in range(way.fused):
            poles.step(action(numbers, np.int32(clock[0])))
            clock[0] += 1

    return advance, lambda: (*np.array(core.state), np.array(core.steps), numbers * 0)


def _numpy(way: Way) -> tuple[Advance, Callable[[], tuple[np.ndarray, ...]]]:
    numbers = np.arange(way.environments, dtype=np.int32)
    state = [begin(np, numbers, np.float32)]
    clock = [0]

    def advance() -> None:
        with np.errstate(over="ignore"):
            for _ in range(way.fused):
                state[0], _ = step(np, state[0], numbers, action(numbers, np.int32(clock[0])), np.float32)
                clock[0] += 1

    return advance, lambda: tuple(np.asarray(part) for part in state[0])


def _torch(way: Way) -> tuple[Advance, Callable[[], tuple[np.ndarray, ...]]]:
    import torch

    torch.set_num_threads(1)
    on_gpu = way.name.endswith("_gpu")
    if on_gpu and not torch.cuda.is_available():
        raise RuntimeError("there is no GPU here that torch can use")
    device = "cuda" if on_gpu else "cpu"
    numbers = torch.arange(way.environments, dtype=torch.int32, device=device)
    state = [begin(torch, numbers, torch.float32)]
    time = [torch.zeros((), dtype=torch.int32, device=device)]

    def steps(state: State, clock: torch.Tensor) -> tuple[State, torch.Tensor]:
        for _ in range(way.fused):
            state, _ = step(torch, state, numbers, action(numbers, clock), torch.float32)
            clock = clock + 1
        return state, clock

    run: Any = torch.compile(steps, fullgraph=True) if way.name.startswith("torch_compiled") else steps

    def advance() -> None:
        with torch.no_grad():
            state[0], time[0] = run(state[0], time[0])
        if on_gpu:
            torch.cuda.synchronize()

    return advance, lambda: tuple(part.cpu().numpy() for part in state[0])


def _jax(way: Way) -> tuple[Advance, Callable[[], tuple[np.ndarray, ...]]]:
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax
    import jax.numpy as jnp

    numbers = jnp.arange(way.environments, dtype=jnp.int32)

    def scan_step(carry: tuple[State, Any], _: None = None) -> tuple[tuple[State, Any], None]:
        state, clock = carry
        state, _ = step(jnp, state, numbers, action(numbers, clock), jnp.float32)
        return (state, clock + 1), None

    def scan(carry: tuple[State, Any]) -> tuple[State, Any]:
        final_state: tuple[State, Any] = jax.lax.scan(scan_step, carry, length=way.fused, unroll=way.unroll)[0]
        return final_state

    def loop(carry: tuple[State, Any]) -> tuple[State, Any]:
        for _ in range(way.fused):
            carry, _ = scan_step(carry)
        return carry

    run = {"jax_eager": loop, "jax": jax.jit(loop)}.get(way.name, jax.jit(scan))
    state = [(begin(jnp, numbers, jnp.float32), jnp.int32(0))]

    def advance() -> None:
        state[0] = jax.block_until_ready(run(state[0]))

    return advance, lambda: tuple(np.asarray(part) for part in state[0][0])


def _numba(way: Way) -> tuple[Advance, Callable[[], tuple[np.ndarray, ...]]]:
    from benchmarks.data_collection import compiled

    numbers = np.arange(way.environments, dtype=np.int32)
    state = State(*(part.copy() for part in begin(np, numbers, np.float32)))  # of their own memory
    clock = [0]
    run = compiled.by_environment if way.name == "numba" else compiled.by_block

    def advance() -> None:
        run(*state, way.fused, clock[0])
        clock[0] += way.fused

    return advance, lambda: tuple(part.copy() for part in state)
