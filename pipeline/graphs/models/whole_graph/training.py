"""Training of GO's network on many graphs; it resumes at any measurement, and ends with the same bytes.

Several processes (`torchrun`) draw the same rounds, and each learns from its share of an update's problems; numbers are
those of one process up to rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from pipeline.config.whole_graph import Generalised
from pipeline.graphs.devices.completion import Completion, Decisions
from pipeline.graphs.models.whole_graph.network import WholeGraph
from pipeline.graphs.models.whole_graph.search import INVALID, LONGEST_STEP, State, better, draw_round, losses, search
from pipeline.graphs.models.whole_graph.surroundings import Surroundings
from pipeline.graphs.problems.problem import Problem
from pipeline.learning import processes
from pipeline.learning.diverged import Diverged

_MEASURED = 200  # evaluations of each development problem
_MEASURED_SEED = 2**32 - 1


def train(
    training: Sequence[Problem],
    development: Sequence[Problem],
    settings: Generalised,
    seed: int,
    resume: Mapping[str, Any] | None = None,
    save: Callable[[dict[str, Any]], None] = lambda state: None,
) -> tuple[WholeGraph, list[dict[str, Any]]]:
    """The network after the last update, and rows of table `whole_graph_history`.

    Each update draws some of the training problems, all equally often, and continues from the best decision of each so
    far. After `restart` draws a problem starts anew. Random numbers of an update depend on the seed and the update's
    number alone. `save` is called with the whole state at every measurement. Raises ValueError without problems,
    Diverged if weights are not finite.
    """
    if not training or not development:
        raise ValueError(
            f"{len(training)} training and {len(development)} development problems; both need at least one"
        )
    rank, world = processes.place()
    torch.manual_seed(seed)
    network = WholeGraph(settings.settings)
    optimiser = torch.optim.Adam(network.parameters(), settings.settings.learning_rate)
    problems = [Surroundings.of(Completion(problem)) for problem in training]
    live: dict[int, tuple[State, int]] = {}
    history: list[dict[str, Any]] = []
    first = 0
    if resume is not None:
        network.load_state_dict(resume["model"])
        optimiser.load_state_dict(resume["optimiser"])
        history, first = list(resume["history"]), resume["update"]
        live = {int(k): (_state(problems[int(k)], *arrays), count) for k, (*arrays, count) in resume["live"].items()}
    interval = max(1, settings.updates // settings.measurements)
    gains: list[float] = []
    updates = range(first, settings.updates)
    search_settings = settings.settings

    def learn(objective: torch.Tensor, size: torch.Tensor) -> None:
        ((objective + settings.decay * size) / settings.problems).backward()

    for update in tqdm(
        updates, "training", settings.updates, initial=first, file=sys.stderr, mininterval=5, disable=rank > 0
    ):
        rng = np.random.default_rng([seed, update])
        optimiser.zero_grad()
        for position, k in enumerate(rng.integers(len(problems), size=settings.problems).tolist()):
            state, count = live.get(k, (None, 0))
            if state is None or count >= settings.restart:
                state, count = _state(problems[k]), 0
            learns = learn if position % world == rank else None
            drawn = draw_round(
                network, state, search_settings, search_settings.placing, search_settings.samples, rng, learns
            )
            after = better(state, drawn)
            gains.append(1 - after.loss / state.loss)
            live[k] = after, count + 1
        processes.sum_gradients(network)
        torch.nn.utils.clip_grad_norm_(network.parameters(), LONGEST_STEP)
        optimiser.step()
        if (update + 1) % interval == 0 or update + 1 == settings.updates:
            if not all(bool(weights.isfinite().all()) for weights in network.parameters()):
                raise Diverged(f"weights are not finite at update {update + 1}; lower learning_rate")
            measured = measure(network, development, settings)
            history.append({"update": update + 1, "split": "training", "value": float(np.mean(gains))})
            history.append({"update": update + 1, "split": "development", "value": measured})
            gains = []
            saved_states = {k: (*map(torch.from_numpy, _arrays(state)), count) for k, (state, count) in live.items()}
            states = {"model": network.state_dict(), "optimiser": optimiser.state_dict()}
            if rank == 0:
                save({**states, "history": history, "live": saved_states, "update": update + 1})
    return network.eval(), history


def measure(network: WholeGraph, problems: Sequence[Problem], settings: Generalised) -> float:
    """Seconds of the best schedule after some evaluations without learning, over one device's; the geometric mean.

    If nothing fits the memory, `INVALID` stands for the ratio.
    """
    ratios = []
    for rank, problem in enumerate(problems):
        rng = np.random.default_rng([_MEASURED_SEED, rank])
        search_settings = settings.settings
        result = search(
            network, State.begin(Completion(problem)), search_settings, (search_settings.placing,), _MEASURED, rng
        )
        alone = float(problem.seconds.sum())
        ratios.append(np.log(result.best.seconds[0] / alone) if result.best.fits[0] else np.log(INVALID))
    return float(np.exp(np.mean(ratios)))


def _arrays(state: State) -> tuple[np.ndarray, np.ndarray]:
    return state.decisions.devices, state.decisions.levels


def _state(surroundings: Surroundings, devices: Any = None, levels: Any = None) -> State:
    """The state at the start of a problem, or that of saved decisions."""
    n = len(surroundings.completion.problem)
    decisions = Decisions.open(n) if devices is None else Decisions(devices.numpy(), levels.numpy())
    evaluated = surroundings.completion(decisions)
    return State(surroundings, decisions, evaluated, float(losses(surroundings.completion, evaluated)[0]))
