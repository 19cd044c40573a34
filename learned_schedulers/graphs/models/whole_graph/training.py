"""Training of GO's network on many graphs: rounds around the best schedule of each (updates.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from learned_schedulers.graphs.devices.completion import Decisions
from learned_schedulers.graphs.models.whole_graph.network import WholeGraph
from learned_schedulers.graphs.models.whole_graph.search import (
    INVALID,
    LEADS,
    Learn,
    State,
    begin,
    better,
    draw_round,
    losses,
    search,
)
from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from learned_schedulers.graphs.models.whole_graph.updates import MEASURED, Updates, geometric_mean
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.learning import loop


def train(
    training: Sequence[Problem],
    development: Sequence[Problem],
    settings: Generalised,
    seed: int,
    resume: loop.State | None = None,
    save: Callable[[loop.State], None] = lambda state: None,
) -> tuple[WholeGraph, list[loop.Row]]:
    """The network after the last update, and rows of table `whole_graph_history`.

    `save` is called with the whole state at every measurement. Raises ValueError without problems, Diverged if weights
    are not finite.
    """
    if not training or not development:
        raise ValueError(
            f"{len(training)} training and {len(development)} development problems; both need at least one"
        )
    torch.manual_seed(seed)
    network = WholeGraph(settings.settings)
    updates = _Placing(network, training, settings, seed)
    return network, updates.train(lambda: measure(network, development, settings), resume, save)


def measure(network: WholeGraph, problems: Sequence[Problem], settings: Generalised) -> float:
    """Seconds of the best schedule after some evaluations without learning, over one device's; the geometric mean.

    If nothing fits the memory, `INVALID` stands for the ratio.
    """
    chosen = settings.settings

    def ratio(k: int, rng: np.random.Generator) -> float:
        start, spent = begin(problems[k], MEASURED)
        best = search(network, start, chosen, (chosen.placing,), MEASURED, rng, spent=spent).best
        return float(best.seconds[0]) / float(problems[k].seconds.sum()) if best.fits[0] else INVALID

    return geometric_mean(ratio, len(problems))


class _Placing(Updates[State]):
    def __init__(self, network: WholeGraph, problems: Sequence[Problem], settings: Generalised, seed: int) -> None:
        super().__init__(network, len(problems), settings, seed)
        self._placing, self._chosen = network, settings.settings
        self._problems = [begin(problem, len(LEADS))[0].surroundings for problem in problems]

    def begin(self, k: int, turn: int) -> State:
        return self._state(k, Decisions.open(len(self._problems[k].completion.problem)))

    def draw(self, k: int, state: State, rng: np.random.Generator, learn: Learn | None) -> State:
        chosen = self._chosen
        return better(state, draw_round(self._placing, state, chosen, chosen.placing, chosen.samples, rng, learn))

    def cost(self, state: State) -> float:
        return state.loss

    def stored(self, state: State) -> tuple[torch.Tensor, ...]:
        return torch.from_numpy(state.decisions.devices), torch.from_numpy(state.decisions.levels)

    def restored(self, k: int, *stored: torch.Tensor) -> State:
        devices, levels = stored
        return self._state(k, Decisions(devices.numpy(), levels.numpy()))

    def _state(self, k: int, decisions: Decisions) -> State:
        surroundings = self._problems[k]
        evaluated = surroundings.completion(decisions)
        return State(surroundings, decisions, evaluated, float(losses(surroundings.completion, evaluated)[0]))
