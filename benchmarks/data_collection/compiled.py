"""CartPole's step compiled by numba, without contraction or reassociation: environment by environment, or by blocks."""

from __future__ import annotations

import numpy as np
from numba import njit

_SHARE = np.float32(2 * 0.05 / 2**23)
_BLOCK = 512  # environments, whose states stay in the first cache
_LIMIT = np.float32(0.20943951023931953)


@njit(cache=True, inline="always")
def _hash(value: np.uint32) -> np.uint32:
    """As `cartpole.hashed`, of one number: numba multiplies in 64 bits, so that every product is cut to 32."""
    value = np.uint32(np.uint32(value ^ (value >> np.uint32(16))) * np.uint32(0x2C1B3C6D))
    value = np.uint32(np.uint32(value ^ (value >> np.uint32(15))) * np.uint32(0x297A2D39))
    return np.uint32((value ^ (value >> np.uint32(15))) & np.uint32(0x7FFFFFFF))


@njit(cache=True)
def _first(environment: int, episode: int, part: int) -> np.float32:
    """One of the four numbers of an episode's first state."""
    key = _hash(np.uint32(np.uint32(environment) + np.uint32(104729) * np.uint32(episode)))
    drawn = _hash(np.uint32(key + np.uint32(15485863) * np.uint32(part + 1)))
    return np.float32(drawn >> np.uint32(8)) * _SHARE - np.float32(0.05)


@njit(cache=True, inline="always")
def _force(environment: int, clock: int) -> np.float32:
    drawn = _hash(np.uint32(np.uint32(environment) * np.uint32(7919) + np.uint32(clock)))
    return np.float32(drawn & np.uint32(1)) * np.float32(20.0) - np.float32(10.0)


@njit(cache=True, error_model="numpy", nogil=True)
def by_environment(
    x: np.ndarray,
    speed: np.ndarray,
    angle: np.ndarray,
    turn: np.ndarray,
    steps: np.ndarray,
    episode: np.ndarray,
    fused: int,
    clock: int,
) -> None:
    """All steps of one environment before the next one: its state stays in registers."""
    f = np.float32
    for k in range(len(x)):
        a, b, c, d, count, number = x[k], speed[k], angle[k], turn[k], steps[k], episode[k]
        for t in range(fused):
            force = _force(k, clock + t)
            cos, sin = np.cos(c), np.sin(c)
            inner = (force + f(0.05) * d * d * sin) / f(1.1)
            turning = (f(9.8) * sin - cos * inner) / (f(0.5) * (f(4.0 / 3.0) - f(0.1) * cos * cos / f(1.1)))
            speeding = inner - f(0.05) * turning * cos / f(1.1)
            a, b, c, d = a + f(0.02) * b, b + f(0.02) * speeding, c + f(0.02) * d, d + f(0.02) * turning
            count += 1
            if abs(a) > f(2.4) or abs(c) > _LIMIT or count >= 500:
                number += 1
                a, b, c, d = _first(k, number, 0), _first(k, number, 1), _first(k, number, 2), _first(k, number, 3)
                count = 0
        x[k], speed[k], angle[k], turn[k], steps[k], episode[k] = a, b, c, d, count, number


@njit(cache=True, error_model="numpy", nogil=True)
def by_block(
    x: np.ndarray,
    speed: np.ndarray,
    angle: np.ndarray,
    turn: np.ndarray,
    steps: np.ndarray,
    episode: np.ndarray,
    fused: int,
    clock: int,
) -> None:
    """All steps of a block of environments before the next one, each step as short loops without branches.

    The compiler turns each of them into vector instructions: with more arrays in a loop it would not know that they do
    not overlap. Episodes that ended begin anew in a loop of their own. While an episode
    lasts angles are less than 0.25: there five terms of the series of sine and cosine are exact to a rounding.
    """
    forces, turnings = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.float32)
    speedings = np.empty(_BLOCK, np.float32)
    ended = np.zeros(_BLOCK, np.uint8)
    for begin in range(0, len(x), _BLOCK):
        end = min(begin + _BLOCK, len(x))
        for t in range(fused):
            _draw_forces(forces, begin, end, clock + t)
            _accelerate(angle[begin:end], turn[begin:end], forces, turnings, speedings)
            _move(x[begin:end], speed[begin:end])
            _move(speed[begin:end], speedings)
            _move(angle[begin:end], turn[begin:end])
            _move(turn[begin:end], turnings)
            if not _count(x[begin:end], angle[begin:end], steps[begin:end], ended):
                continue
            for k in range(begin, end):
                if ended[k - begin]:
                    episode[k] += np.int32(1)
                    number = episode[k]
                    x[k], speed[k] = _first(k, number, 0), _first(k, number, 1)
                    angle[k], turn[k] = _first(k, number, 2), _first(k, number, 3)
                    steps[k] = 0


@njit(cache=True, error_model="numpy", nogil=True)
def _draw_forces(forces: np.ndarray, begin: int, end: int, clock: int) -> None:
    first = np.uint32(np.uint32(begin) * np.uint32(7919) + np.uint32(clock))
    for k in range(end - begin):
        drawn = _hash(np.uint32(first + np.uint32(np.uint32(k) * np.uint32(7919))))
        forces[k] = np.float32(np.int32(drawn & np.uint32(1))) * np.float32(20.0) - np.float32(10.0)


@njit(cache=True, error_model="numpy", nogil=True)
def _accelerate(
    angle: np.ndarray, turn: np.ndarray, forces: np.ndarray, turnings: np.ndarray, speedings: np.ndarray
) -> None:
    f = np.float32
    for k in range(len(angle)):
        c, d = angle[k], turn[k]
        q = c * c
        sin = c * (f(1.0) + q * (f(-1 / 6) + q * (f(1 / 120) + q * (f(-1 / 5040) + q * f(1 / 362880)))))
        cos = f(1.0) + q * (f(-0.5) + q * (f(1 / 24) + q * (f(-1 / 720) + q * f(1 / 40320))))
        inner = (forces[k] + f(0.05) * d * d * sin) / f(1.1)
        turning = (f(9.8) * sin - cos * inner) / (f(0.5) * (f(4.0 / 3.0) - f(0.1) * cos * cos / f(1.1)))
        turnings[k] = turning
        speedings[k] = inner - f(0.05) * turning * cos / f(1.1)


@njit(cache=True, error_model="numpy", nogil=True)
def _move(values: np.ndarray, rates: np.ndarray) -> None:
    for k in range(len(values)):
        values[k] += np.float32(0.02) * rates[k]


@njit(cache=True, error_model="numpy", nogil=True)
def _count(x: np.ndarray, angle: np.ndarray, steps: np.ndarray, ended: np.ndarray) -> int:
    """How many episodes ended."""
    for k in range(len(steps)):
        steps[k] += np.int32(1)
    for k in range(len(steps)):
        over = (abs(x[k]) > np.float32(2.4)) | (abs(angle[k]) > _LIMIT) | (steps[k] >= np.int32(500))
        ended[k] = np.uint8(over)
    count = 0
    for k in range(len(steps)):
        count += ended[k]
    return count
