"""Training of GO's head for fusion on many graphs: rounds around the best plan of each (whole_graph/updates.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing
from learned_schedulers.graphs.models.fusing.fusing_search import (
    Fused,
    Judge,
    best_default,
    better,
    draw_round,
    judged,
    search,
)
from learned_schedulers.graphs.models.fusing.numbers import Fusible
from learned_schedulers.graphs.models.fusing.settings import FusionNetwork
from learned_schedulers.graphs.models.whole_graph.search import Learn
from learned_schedulers.graphs.models.whole_graph.updates import MEASURED, Updates, geometric_mean
from learned_schedulers.learning.loop import Row, State

Default = Callable[[FusionProblem], Fused]


def train(
    training: Sequence[FusionProblem],
    development: Sequence[FusionProblem],
    settings: FusionNetwork,
    seed: int,
    resume: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    judge: Judge = judged,
    default: Default = best_default,
) -> tuple[Fusing, list[Row]]:
    """The network after the last update, and rows of table `whole_graph_history`.

    A graph starts in turn from nothing fused and from the default. judge, default: of the compiler for which the
    network learns. Raises ValueError without graphs, Diverged if weights are not finite.
    """
    if not training or not development:
        raise ValueError(f"{len(training)} training and {len(development)} development graphs; both need at least one")
    torch.manual_seed(seed)
    network = Fusing(settings.settings)
    updates = _Plans(network, training, settings, seed, judge, default)
    return network, updates.train(lambda: measure(network, development, settings, judge, default), resume, save)


def measure(
    network: Fusing, problems: Sequence[FusionProblem], settings: FusionNetwork, judge: Judge, default: Default
) -> float:
    """Seconds of the best plan after some evaluations from nothing fused, over the default's; the geometric mean."""

    def ratio(k: int, rng: np.random.Generator) -> float:
        problem = problems[k]
        start = judge(problem, _nothing_fused(problem))
        result = search(network, Fusible.of(problem), start, settings.settings, MEASURED, rng, judge=judge)
        return result.best.seconds / default(problem).seconds

    return geometric_mean(ratio, len(problems))


class _Plans(Updates[Fused]):
    def __init__(
        self,
        network: Fusing,
        problems: Sequence[FusionProblem],
        settings: FusionNetwork,
        seed: int,
        judge: Judge,
        default: Default,
    ) -> None:
        super().__init__(network, len(problems), settings, seed)
        self._fusing, self._chosen, self._judge, self._default = network, settings.settings, judge, default
        self._problems, self._graphs = problems, [Fusible.of(problem) for problem in problems]

    def begin(self, k: int, turn: int) -> Fused:
        problem = self._problems[k]
        return self._default(problem) if turn % 2 else self._judge(problem, _nothing_fused(problem))

    def draw(self, k: int, state: Fused, rng: np.random.Generator, learn: Learn | None) -> Fused:
        samples = self._chosen.samples
        drawn = draw_round(self._fusing, self._graphs[k], state, self._chosen, samples, rng, learn, self._judge)
        return better(state, drawn)

    def cost(self, state: Fused) -> float:
        return state.seconds

    def stored(self, state: Fused) -> tuple[torch.Tensor, ...]:
        return (torch.from_numpy(state.levels),)

    def restored(self, k: int, *stored: torch.Tensor) -> Fused:
        return self._judge(self._problems[k], stored[0].numpy())


def _nothing_fused(problem: FusionProblem) -> np.ndarray:
    return np.zeros(problem.n, np.int8)
