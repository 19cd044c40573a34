"""Random numbers of a module in a run: both sides draw the same, each operation from a seed of its own.

Dropout of training, and noise, differ from run to run. So that results can be compared, the first operation that draws
begins from one seed, the second from the next, and so on, whichever process runs it. The module by itself draws so
where its results are computed; where its time is measured, it draws as always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.utils._python_dispatch import TorchDispatchMode

from learned_schedulers.graphs.read.fx_nodes import kind_of

_FIRST = 1_000_003  # seed of the first operation that draws
_ATTENTION = "scaled_dot_product_attention"


class Seeded:
    """A function that draws random numbers, with its seed."""

    def __init__(self, function: Callable[..., Any], seed: int) -> None:
        self._function, self._seed = function, seed

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        torch.default_generator.manual_seed(self._seed)
        return self._function(*args, **keywords)


class Draws:
    """Which operations of a trace draw random numbers: those after which torch's generator is in another state."""

    def __init__(self) -> None:
        self._seed = _FIRST
        self._attended: list[tuple[fx.Node, int]] = []  # attention with dropout, whose gradient has not come yet

    def seeded(self, node: fx.Node, function: Callable[..., Any]) -> Seeded | None:
        """The node's function with its seed, if it draws; to be called in program order, `drew` after the first run.

        A gradient of attention drops the scores that its forward operation drops.
        """
        if kind_of(node) != f"{_ATTENTION}_backward":
            return Seeded(function, self._seed)
        for place in reversed(range(len(self._attended))):
            forward, seed = self._attended[place]
            if forward.args[:3] == node.args[1:4]:
                del self._attended[place]
                return Seeded(function, seed)
        return None

    def drew(self, node: fx.Node) -> bool:
        """Whether the node that has just run has drawn; the next one gets another seed then."""
        if kind_of(node) == f"{_ATTENTION}_backward":
            return True
        if not _has_drawn(self._seed):
            return False
        if kind_of(node) == _ATTENTION:
            self._attended.append((node, self._seed))
        self._seed += 1
        return True

    @property
    def count(self) -> int:
        """Operations that have drawn."""
        return self._seed - _FIRST


class SeededCalls(TorchDispatchMode):
    """The module by itself draws the same numbers while this is entered. torch.cond does not run in it."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0  # of calls that have drawn

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seed = _FIRST + self.count
        torch.default_generator.manual_seed(seed)
        result = func(*args, **(kwargs or {}))
        self.count += _has_drawn(seed)
        return result


def _has_drawn(seed: int) -> bool:
    """Whether the generator's state has changed since it got this seed."""
    state = torch.default_generator.get_state()
    before = torch.Generator().manual_seed(seed).get_state()
    return not torch.equal(state, before)
