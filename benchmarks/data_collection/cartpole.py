"""CartPole written once for NumPy, torch and jax: ways of running it differ, its results do not.

The equations, limits and the 500 steps are those of gymnasium's CartPole-v1 (Barto, Sutton & Anderson 1983; Euler
steps). All arrays are (B,) of B environments: float32, or float64 where the state is. Random numbers, for actions and
the first states of episodes, come from a hash of the environment's number, the step and the episode, so that every way
"""

from __future__ import annotations

from typing import Any, NamedTuple

GRAVITY, MASS, TOTAL_MASS, HALF_LENGTH = 9.8, 0.1, 1.1, 0.5
FORCE, SECONDS = 10.0, 0.02
MOST_X, MOST_ANGLE, MOST_STEPS = 2.4, 12 * 2 * 3.141592653589793 / 360, 500
_START = 0.05  # first states are uniform in -_START.._START
_FIRST, _SECOND = 0x2C1B3C6D, 0x297A2D39  # multipliers of lowbias32 (Ellis 2018), but for their sign


class State(NamedTuple):
    """The state of B environments."""

    x: Any
    speed: Any
    angle: Any
    turn: Any
    steps: Any  # int32, of the episode
    episode: Any  # int32


def hashed(values: Any) -> Any:
    """A number from 0 to 2^31 - 1 for each int32."""
    values = (values ^ ((values >> 16) & 0xFFFF)) * _FIRST
    values = (values ^ ((values >> 15) & 0x1FFFF)) * _SECOND
    return (values ^ ((values >> 15) & 0x1FFFF)) & 0x7FFFFFFF


def action(environment: Any, time: Any) -> Any:
    """0 or 1: pushes to the left or to the right, int32. time: steps since the beginning, of all episodes."""
    return hashed(environment * 7919 + time) & 1


def start(xp: Any, environment: Any, episode: Any, kind: Any) -> tuple[Any, Any, Any, Any]:
    """The first state of an episode: four numbers of dtype `kind`."""
    key = hashed(environment + 104729 * episode)
    parts = [hashed(key + 15485863 * (part + 1)) >> 8 for part in range(4)]  # 23 bits
    scale = 2 * _START / 2**23
    x, speed, angle, turn = (_float(xp, part, kind) * scale - _START for part in parts)
    return x, speed, angle, turn


def begin(xp: Any, environment: Any, kind: Any) -> State:
    """All environments at the beginning of episode 0."""
    zero = environment * 0
    return State(*start(xp, environment, zero, kind), zero, zero)


def physics(xp: Any, state: State, pushed: Any, kind: Any) -> tuple[Any, Any, Any, Any]:
    """x, speed, angle, turn after a step; pushed: (B,), 0 or 1."""
    force = _float(xp, pushed, kind) * (2 * FORCE) - FORCE
    cos, sin = xp.cos(state.angle), xp.sin(state.angle)
    inner = (force + MASS * HALF_LENGTH * state.turn * state.turn * sin) / TOTAL_MASS
    turning = (GRAVITY * sin - cos * inner) / (HALF_LENGTH * (4.0 / 3.0 - MASS * cos * cos / TOTAL_MASS))
    speeding = inner - MASS * HALF_LENGTH * turning * cos / TOTAL_MASS
    x, speed = state.x + SECONDS * state.speed, state.speed + SECONDS * speeding
    return x, speed, state.angle + SECONDS * state.turn, state.turn + SECONDS * turning


def is_over(x: Any, angle: Any) -> Any:
    """(B,) bool: the cart or the pole is beyond its limits."""
    return (x < -MOST_X) | (x > MOST_X) | (angle < -MOST_ANGLE) | (angle > MOST_ANGLE)


def step(xp: Any, state: State, environment: Any, pushed: Any, kind: Any) -> tuple[State, Any]:
    """The state after a step, and whether an episode ended, (B,) bool; where it did, the next one has begun."""
    x, speed, angle, turn = physics(xp, state, pushed, kind)
    steps = state.steps + 1
    ended = is_over(x, angle) | (steps >= MOST_STEPS)
    episode = xp.where(ended, state.episode + 1, state.episode)
    first = start(xp, environment, episode, kind)
    moved = (xp.where(ended, new, old) for new, old in zip(first, (x, speed, angle, turn), strict=True))
    return State(*moved, xp.where(ended, steps * 0, steps), episode), ended


def _float(xp: Any, integers: Any, kind: Any) -> Any:
    """The integers as numbers of `kind`: torch has `to`, the others have `astype`."""
    return integers.to(kind) if hasattr(integers, "to") and not hasattr(integers, "astype") else integers.astype(kind)
