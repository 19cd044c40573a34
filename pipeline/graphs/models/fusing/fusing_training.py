"""Training of GO's head for fusion on many graphs; it resumes at any measurement, and ends with the same bytes.

Several processes (`torchrun`) draw the same rounds, and each learns from its share of an update's graphs; numbers are
those of one process up to rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from pipeline.config.fusion import FusionNetwork
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.models.fusing.fusing_network import Fusing
from pipeline.graphs.models.fusing.fusing_search import Fused, Judge, best_default, better, draw_round, judged, search
from pipeline.graphs.models.fusing.numbers import Fusible
from pipeline.graphs.models.whole_graph.search import LONGEST_STEP
from pipeline.learning import processes
from pipeline.learning.diverged import Diverged

_MEASURED = 200  # evaluations of each development graph
_MEASURED_SEED = 2**32 - 1


def train(
    training: Sequence[FusionProblem],
    development: Sequence[FusionProblem],
    settings: FusionNetwork,
    seed: int,
    resume: Mapping[str, Any] | None = None,
    save: Callable[[dict[str, Any]], None] = lambda state: None,
    judge: Judge = judged,
    default: Callable[[FusionProblem], Fused] = best_default,
) -> tuple[Fusing, list[dict[str, Any]]]:
    """The network after the last update, and rows of table `whole_graph_history`.

    Each update draws some graphs, all equally often, and continues from the best plan of each so far. After `restart`
    draws a graph starts anew, in turn from nothing fused and from the default. Random numbers of an update depend on
    the seed and the update's number alone. judge, default: of the compiler for which the network learns.
    Raises ValueError without graphs, Diverged if weights are not finite.
    """
    if not training or not development:
        raise ValueError(f"{len(training)} training and {len(development)} development graphs; both need at least one")
    rank, world = processes.place()
    torch.manual_seed(seed)
    network = Fusing(settings.settings)
    optimiser = torch.optim.Adam(network.parameters(), settings.settings.learning_rate)
    graphs = [Fusible.of(problem) for problem in training]
    live: dict[int, tuple[Fused, int]] = {}
    history: list[dict[str, Any]] = []
    first = 0
    if resume is not None:
        network.load_state_dict(resume["model"])
        optimiser.load_state_dict(resume["optimiser"])
        history, first = list(resume["history"]), resume["update"]
        live = {int(k): (judge(training[int(k)], levels.numpy()), n) for k, (levels, n) in resume["live"].items()}
    interval = max(1, settings.updates // settings.measurements)
    gains: list[float] = []
    search_settings = settings.settings

    def learn(objective: torch.Tensor, size: torch.Tensor) -> None:
        ((objective + settings.decay * size) / settings.problems).backward()

    updates = range(first, settings.updates)
    for update in tqdm(
        updates, "training", settings.updates, initial=first, file=sys.stderr, mininterval=5, disable=rank > 0
    ):
        rng = np.random.default_rng([seed, update])
        optimiser.zero_grad()
        for position, k in enumerate(rng.integers(len(graphs), size=settings.problems).tolist()):
            state, count = live.get(k, (None, 0))
            if state is None or count % settings.restart == 0:
                turn = count // settings.restart
                state = default(training[k]) if turn % 2 else judge(training[k], _nothing_fused(training[k]))
            learns = learn if position % world == rank else None
            drawn = draw_round(network, graphs[k], state, search_settings, search_settings.samples, rng, learns, judge)
            after = better(state, drawn)
            gains.append(1 - after.seconds / state.seconds)
            live[k] = after, count + 1
        processes.sum_gradients(network)
        torch.nn.utils.clip_grad_norm_(network.parameters(), LONGEST_STEP)
        optimiser.step()
        if (update + 1) % interval == 0 or update + 1 == settings.updates:
            if not all(bool(weights.isfinite().all()) for weights in network.parameters()):
                raise Diverged(f"weights are not finite at update {update + 1}; lower learning_rate")
            history.append({"update": update + 1, "split": "training", "value": float(np.mean(gains))})
            measured = measure(network, development, settings, judge, default)
            history.append({"update": update + 1, "split": "development", "value": measured})
            gains = []
            saved_states = {k: (torch.from_numpy(state.levels), count) for k, (state, count) in live.items()}
            states = {"model": network.state_dict(), "optimiser": optimiser.state_dict()}
            if rank == 0:
                save({**states, "history": history, "live": saved_states, "update": update + 1})
    return network.eval(), history


def measure(
    network: Fusing,
    problems: Sequence[FusionProblem],
    settings: FusionNetwork,
    judge: Judge,
    default: Callable[[FusionProblem], Fused],
) -> float:
    """Seconds of the best plan after some evaluations from nothing fused, over the default's; the geometric mean."""
    ratios = []
    for rank, problem in enumerate(problems):
        rng = np.random.default_rng([_MEASURED_SEED, rank])
        start = judge(problem, _nothing_fused(problem))
        result = search(network, Fusible.of(problem), start, settings.settings, _MEASURED, rng, judge=judge)
        ratios.append(np.log(result.best.seconds / default(problem).seconds))
    return float(np.exp(np.mean(ratios)))


def _nothing_fused(problem: FusionProblem) -> np.ndarray:
    return np.zeros(problem.n, np.int8)
