"""The step of an optimiser behind the gradients of a training step: what it takes, and how both sides run it.

Each device updates the weights whose gradients it computes. Its new weights are new tensors, so that each run begins
with the same weights and ends with the same result. Sending them to devices that read them is no part of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor, fx

from learned_schedulers.graphs.read.fx_nodes import value_of
from learned_schedulers.graphs.read.module_memory import Optimiser
from learned_schedulers.graphs.run.core import Core

_RATE, _DECAY, _DECAY_OF_SQUARES = 1e-2, 0.9, 0.999
_LEAST = 1e-2  # added to Adam's root: with torch's 1e-8, a gradient that is rounding alone would be a whole step
# Calls of torch for a weight, and tensors of its size that they read and write, without fused kernels.
_CALLS: dict[Optimiser, tuple[int, int]] = {"sgd": (1, 3), "fused": (1, 3), "momentum": (3, 8), "adam": (7, 18)}


class Step:
    """The new weight of an optimiser's first step, from a weight and its gradient."""

    def __init__(self, optimiser: Optimiser, weight: Tensor) -> None:
        self.__name__ = f"step of {optimiser}"
        self._optimiser = optimiser
        count = {"momentum": 1, "adam": 2}.get(optimiser, 0)
        self._states = [torch.zeros_like(weight) for _ in range(count)]

    def __call__(self, weight: Tensor, gradient: Tensor) -> Tensor:
        if self._optimiser == "adam":
            mean = torch.lerp(self._states[0], gradient, 1 - _DECAY)
            square = (self._states[1] * _DECAY_OF_SQUARES).addcmul_(gradient, gradient, value=1 - _DECAY_OF_SQUARES)
            root = square.sqrt().div_((1 - _DECAY_OF_SQUARES) ** 0.5).add_(_LEAST)
            return weight.addcdiv(mean, root, value=-_RATE / (1 - _DECAY))
        if self._optimiser == "momentum":
            gradient = (self._states[0] * _DECAY).add_(gradient)
        return weight.add(gradient, alpha=-_RATE)


def add_steps(
    nodes: fx.Graph, optimiser: Optimiser, gradients: Mapping[str, fx.Node], weights: Mapping[str, Tensor]
) -> dict[str, fx.Node]:
    """Append the step of each weight to a traced training step; its nodes by the weights' names."""
    placeholders = {
        str(node.meta["desc"].target): node
        for node in nodes.nodes
        if node.op == "placeholder" and type(node.meta["desc"]).__name__ == "ParamAOTInput"
    }
    (output,) = (node for node in nodes.nodes if node.op == "output")
    steps = {}
    with nodes.inserting_before(output):
        for name, gradient in gradients.items():
            step = Step(optimiser, weights[name].detach())
            node = nodes.call_function(step, (placeholders[name], gradient))
            node.meta["val"] = value_of(placeholders[name])
            steps[name] = node
    return steps


def plain_optimizer(optimiser: Optimiser, weights: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """torch's own optimiser, which runs one operation after the other."""
    if optimiser == "adam":
        return torch.optim.Adam(weights, _RATE, (_DECAY, _DECAY_OF_SQUARES), _LEAST, foreach=False)
    return torch.optim.SGD(weights, _RATE, _DECAY if optimiser == "momentum" else 0.0, foreach=False)


def seconds_of_steps(gradients: Iterable[tuple[int, int]], optimiser: Optimiser, core: Core, n: int) -> np.ndarray:
    """(n,) seconds of the steps of the weights whose gradients each operation computes, on this core.

    gradients: the operation of each, and its bytes.
    """
    calls, tensors = _CALLS[optimiser]
    seconds = np.zeros(n)
    for operation, size in gradients:
        seconds[operation] += calls * core.operation_seconds + tensors * size / core.bytes_per_second
    return seconds
