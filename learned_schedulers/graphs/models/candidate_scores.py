"""Scores of the operations that may be added, with their gradient: one compiled pass over rows that fit into a cache.

A step of training scores hundreds of thousands of operations. torch writes and reads every layer of all of them, which
takes ten times as long as the arithmetic. On other devices than a CPU it is torch's (policy.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit

FEATURES = 11  # of a candidate, N_OPERATION of observation.py; the kernels' sums are unrolled over them


class Inputs(NamedTuple):
    """R candidates of S states, those of a state one after the other, and what they are scored by."""

    candidates: np.ndarray  # (R, FEATURES) float32
    operations: np.ndarray  # (R,)
    counts: np.ndarray  # (S,) candidates of each state
    table: np.ndarray  # (n, hidden) float32, as all that follow
    weights: np.ndarray  # (FEATURES, hidden)
    scales: np.ndarray  # (S, hidden)
    shifts: np.ndarray  # (S, hidden)
    outs: np.ndarray  # (S, hidden)


class CandidateScores(torch.autograd.Function):
    """relu((table[operations] + candidates @ weights) * scales + shifts) . outs: (R,).

    Arguments are those of Inputs, as tensors; all from `table` on have gradients.
    """

    @staticmethod
    def forward(ctx: Any, *tensors: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*tensors)
        inputs = _arrays(tensors)
        scores = np.empty(len(inputs.candidates), np.float32)
        _forward(inputs, scores)
        return torch.from_numpy(scores)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs = _arrays(ctx.saved_tensors)
        of_table, of_scales = np.zeros_like(inputs.table), np.zeros_like(inputs.scales)
        of_shifts, of_outs = np.zeros_like(inputs.shifts), np.zeros_like(inputs.outs)
        of_weights = np.zeros(inputs.weights.shape)
        _backward(inputs, gradient.contiguous().numpy(), of_table, of_weights, of_scales, of_shifts, of_outs)
        gradients = (of_table, of_weights.astype(np.float32), of_scales, of_shifts, of_outs)
        return None, None, None, *(torch.from_numpy(part) for part in gradients)


def _arrays(tensors: Sequence[torch.Tensor]) -> Inputs:
    return Inputs(*(part.detach().contiguous().numpy() for part in tensors))


@njit(cache=True, nogil=True, error_model="numpy")
def _hidden(numbers: np.ndarray, of_operation: np.ndarray, weights: np.ndarray, hidden: np.ndarray) -> None:
    """of_operation + numbers @ weights, unrolled over the features, so that it is compiled to vector instructions."""
    c0, c1, c2, c3, c4, c5 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    c6, c7, c8, c9, c10 = numbers[6], numbers[7], numbers[8], numbers[9], numbers[10]
    for j in range(len(hidden)):
        x = of_operation[j] + c0 * weights[0, j] + c1 * weights[1, j] + c2 * weights[2, j] + c3 * weights[3, j]
        x = x + c4 * weights[4, j] + c5 * weights[5, j] + c6 * weights[6, j] + c7 * weights[7, j]
        hidden[j] = x + c8 * weights[8, j] + c9 * weights[9, j] + c10 * weights[10, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _forward(
    inputs: Inputs,
    scores: np.ndarray,
) -> None:
    candidates, operations, counts, table, weights, scales, shifts, outs = inputs
    width = table.shape[1]
    hidden, zero = np.empty(width, np.float32), np.float32(0)
    r = 0
    for s in range(len(counts)):
        scale, shift, out = scales[s], shifts[s], outs[s]
        for _ in range(counts[s]):
            _hidden(candidates[r], table[operations[r]], weights, hidden)
            for j in range(width):
                y = hidden[j] * scale[j] + shift[j]
                hidden[j] = (y if y > zero else zero) * out[j]
            left = width
            while left > 1:  # the sum, by halves
                half = (left + 1) // 2
                for j in range(left - half):
                    hidden[j] += hidden[half + j]
                left = half
            scores[r] = hidden[0]
            r += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _backward(
    inputs: Inputs,
    gradient: np.ndarray,
    of_table: np.ndarray,
    of_weights: np.ndarray,
    of_scales: np.ndarray,
    of_shifts: np.ndarray,
    of_outs: np.ndarray,
) -> None:
    """of_weights: float64, to which every state adds its sum."""
    candidates, operations, counts, table, weights, scales, shifts, outs = inputs
    width, zero = table.shape[1], np.float32(0)
    hidden, of_hidden = np.empty(width, np.float32), np.empty(width, np.float32)
    of_state = np.empty(weights.shape, np.float32)
    r = 0
    for s in range(len(counts)):
        scale, shift, out = scales[s], shifts[s], outs[s]
        of_scale, of_shift, of_out = of_scales[s], of_shifts[s], of_outs[s]
        of_state[:] = zero
        for _ in range(counts[s]):
            numbers, of_operation, g = candidates[r], of_table[operations[r]], gradient[r]
            _hidden(numbers, table[operations[r]], weights, hidden)
            for j in range(width):
                y = hidden[j] * scale[j] + shift[j]
                of_y = g * out[j] if y > zero else zero
                of_out[j] += g * (y if y > zero else zero)
                of_scale[j] += of_y * hidden[j]
                of_shift[j] += of_y
                of_hidden[j] = of_y * scale[j]
            for j in range(width):
                of_operation[j] += of_hidden[j]
            for k in range(FEATURES):
                number, of_feature = numbers[k], of_state[k]
                for j in range(width):
                    of_feature[j] += number * of_hidden[j]
            r += 1
        for k in range(FEATURES):
            for j in range(width):
                of_weights[k, j] += of_state[k, j]
