"""Updates of GO's network by rounds on many problems, as its trainings for placement and for fusion make them.

Several processes (`torchrun`) draw the same rounds, and each learns from its share of an update's problems; numbers are
those of one process up to rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import nn

from learned_schedulers.graphs.models.fusing.settings import FusionNetwork
from learned_schedulers.graphs.models.whole_graph.search import LONGEST_STEP, Learn
from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from learned_schedulers.learning import loop, processes
from learned_schedulers.learning.loop import Row, State

Best = TypeVar("Best")  # the best that a search has reached
MEASURED = 200  # evaluations of each problem of the development set
_MEASURED_SEED = 2**32 - 1


class Updates(ABC, Generic[Best]):
    """Each update draws some problems, all equally often, and continues from the best state of each so far.

    After `restart` draws a problem starts anew. Random numbers of an update depend on the seed and its number alone.
    """

    def __init__(self, network: nn.Module, n_problems: int, settings: Generalised | FusionNetwork, seed: int) -> None:
        self._network, self._n_problems, self._settings, self._seed = network, n_problems, settings, seed
        self._optimiser = torch.optim.Adam(network.parameters(), settings.settings.learning_rate)
        self._reached: dict[int, tuple[Best, int]] = {}  # of each problem, with the number of its draws

    @abstractmethod
    def begin(self, k: int, turn: int) -> Best:
        """The state from which problem k starts for the first time, the second time, ..., (turn 0, 1, ...)."""

    @abstractmethod
    def draw(self, k: int, state: Best, rng: np.random.Generator, learn: Learn | None) -> Best:
        """The better of the state and what a round draws around it; the round's objective goes to `learn`."""

    @abstractmethod
    def cost(self, state: Best) -> float:
        """What a round shall make smaller."""

    @abstractmethod
    def stored(self, state: Best) -> tuple[torch.Tensor, ...]:
        """The state as tensors."""

    @abstractmethod
    def restored(self, k: int, *stored: torch.Tensor) -> Best:
        """The state of problem k from its tensors."""

    def train(
        self, measure: Callable[[], float], resume: State | None, save: Callable[[State], None]
    ) -> list[dict[str, Any]]:
        """Make all updates; returns rows of table `whole_graph_history`. Raises Diverged if weights are not finite."""

        def summary(gains: list[list[float]]) -> Row:
            return {"value": float(np.mean(np.concatenate(gains)))}

        plan = loop.Training(
            self._network, self._optimiser, self._update, summary, lambda: {"value": measure()},
            self._settings.updates, self._settings.measurements, "update", parts={"reached": self},
        )  # fmt: skip
        return loop.run(plan, resume, save)

    def _update(self, number: int) -> list[float]:
        """The share by which each drawn problem's cost decreases."""
        rank, world = processes.place()
        rng, gains = np.random.default_rng([self._seed, number]), []
        self._optimiser.zero_grad()
        drawn = rng.integers(self._n_problems, size=self._settings.problems).tolist()
        for position, k in enumerate(drawn):
            state, count = self._reached.get(k, (None, 0))
            if state is None or count % self._settings.restart == 0:
                state = self.begin(k, count // self._settings.restart)
            after = self.draw(k, state, rng, self._learn if position % world == rank else None)
            gains.append(1 - self.cost(after) / self.cost(state))
            self._reached[k] = after, count + 1
        loop.descend(self._network, self._optimiser, LONGEST_STEP)
        return gains

    def _learn(self, objective: torch.Tensor, size: torch.Tensor) -> None:
        ((objective + self._settings.decay * size) / self._settings.problems).backward()

    def state_dict(self) -> dict[int, Any]:
        return {k: (*self.stored(state), count) for k, (state, count) in self._reached.items()}

    def load_state_dict(self, state: dict[int, Any], /) -> None:
        self._reached = {int(k): (self.restored(int(k), *stored), count) for k, (*stored, count) in state.items()}


def geometric_mean(ratio: Callable[[int, np.random.Generator], float], n_problems: int) -> float:
    """The mean of ratio(k, random numbers of problem k), which are the same at every measurement."""
    logs = [np.log(ratio(k, np.random.default_rng([_MEASURED_SEED, k]))) for k in range(n_problems)]
    return float(np.exp(np.mean(logs)))
