"""Learn the first guess: a perceptron that chooses among the ready instructions, from what each choice costs.

Rounds of trials (methods/on_machine/exploration.py), each along the orders of the network so far; after each, the
network is trained anew on the trials of all rounds. The loss is the expected regret of a choice drawn by the softmax of
the scores, in cycles, and a little of the cross-entropy of choosing any best instruction, which has a gradient where
the softmax is sure and wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import nn

from learned_schedulers.blocks.methods.on_machine.choice import FEATURES
from learned_schedulers.blocks.methods.on_machine.exploration import Course, Trials, explore
from learned_schedulers.blocks.methods.on_machine.guessing import Weights, guesses
from learned_schedulers.blocks.methods.search import WALKS, improve, starting_orders
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.processors import supported
from learned_schedulers.blocks.problems.store import BlockStore
from learned_schedulers.blocks.processors import model
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.settings import Guessing as Settings
from learned_schedulers.learning import loop
from learned_schedulers.learning.loop import Row

_INSTRUCTIONS = 8192  # of a batch
_MOST_REGRET = 4.0  # cycles; larger ones count as much, so that few blocks do not decide everything
_ENTROPY = 0.1  # weight of the cross-entropy
_FURTHEST = 8.0  # standard deviations to which features are cut in training
_WIDTHS, _RETIRED = (1, 2, 3, 4, 6), (0, 1, 2, 3, 4, 8)  # of drawn processors; 0: in order
_SLOWER = (0.7, 1.0, 1.0, 1.5)  # factors of all latencies
_LEAST_RATE = 0.01  # share of the learning rate at the end of the cosine


class Perceptron(nn.Module):
    """Scores of ready instructions from their features, as `guessing.score`; it scales the features itself."""

    def __init__(self, mean: torch.Tensor, deviation: torch.Tensor, hidden: tuple[int, int]) -> None:
        super().__init__()
        self._mean, self._deviation = mean, deviation
        self.first, self.second = nn.Linear(len(FEATURES), hidden[0]), nn.Linear(*hidden)
        self.last = nn.Linear(hidden[1], 1, bias=False)

    def forward(self, scaled: torch.Tensor) -> torch.Tensor:
        """scaled: (C, F). Returns (C,)."""
        scores: torch.Tensor = self.last(self.second(self.first(scaled).relu()).relu()).squeeze(-1)
        return scores

    def weights(self) -> Weights:
        """The same function of features that are not scaled."""
        with torch.no_grad():
            first = self.first.weight.T / self._deviation[:, None]
            parts = (first, self.first.bias - self._mean @ first, self.second.weight.T, self.second.bias)
            return Weights(*(np.ascontiguousarray(part.numpy()) for part in (*parts, self.last.weight[0])))


def drawn_processor(chip: Processor, rng: np.random.Generator) -> Processor:
    """A processor that does not exist: another width and retirement, in order or not, quicker or slower results.

    A network that learns on such processors, too, cannot rely on what a few real ones have in common (domain
    randomisation, Tobin et al. 2017).
    """
    width, retired = int(rng.choice(_WIDTHS)), int(rng.choice(_RETIRED))
    slower = np.maximum(1, np.rint(chip.latencies * rng.choice(_SLOWER))).astype(chip.latencies.dtype)
    latencies = np.where(chip.latencies > 0, slower, chip.latencies)
    return replace(chip, issue_width=width, retire_width=retired, latencies=latencies)


def courses(
    store: BlockStore, rows: np.ndarray, chip: Processor, evaluations: int, rng: np.random.Generator
) -> list[Course]:
    """Batches of blocks on a processor, with the best orders that a search finds; GCC's order counts as found.

    rows: (B,) of the store. A block with an instruction that the processor's model does not know is left out.
    """
    rows = rows[supported(store, rows, chip)]
    batches = []
    for items in by_length(store.lengths[rows], _INSTRUCTIONS):
        problems = store.as_emitted(rows[items])
        timed = model.costs(chip, problems.instructions)
        best = starting_orders(problems, timed, chip.costs(problems.instructions))
        cycles, _ = improve(problems, timed, best, WALKS.index("annealing"), evaluations, rng)
        emitted = np.broadcast_to(np.arange(best.shape[1], dtype=np.int16), best.shape)
        as_emitted = model.makespans(timed, emitted[:, None])[:, 0]
        best = np.where((as_emitted < cycles)[:, None], emitted, best).astype(np.int64)
        batches.append(
            Course(
                chip.out_of_order_costs(problems.instructions),
                timed,
                np.ascontiguousarray(problems.precedes),
                best,
                np.minimum(cycles, as_emitted).astype(np.int64),
            )
        )
    return batches


def gap(measured: Sequence[Course], weights: Weights) -> float:
    """Geometric mean of the cycles of greedy orders over those of the best orders, less 1."""
    logarithms = []
    for course in measured:
        order = guesses(course.costs, course.precedes, weights)
        logarithms.append(np.log(model.makespans(course.timed, order[:, None])[:, 0] / course.cycles))
    return float(np.exp(np.concatenate(logarithms).mean()) - 1)


def learn(
    training: Sequence[Course], development: Sequence[Course], settings: Settings, seed: int
) -> tuple[Weights, list[Row]]:
    """The weights after the last round, and the history: loss, gap on the development blocks, by step of each round.

    Raises ValueError if no choice of the training blocks matters, Diverged if the loss is not finite.
    """
    weights: Weights | None = None
    rounds: list[Trials] = []
    history: list[Row] = []
    for number in range(settings.rounds):
        rng = np.random.default_rng([seed, number])
        rounds += [explore(course, weights, settings.randomness, settings.moves, rng) for course in training]
        trials = _joined(rounds)
        if not len(trials.step):
            raise ValueError("no choice of these blocks matters; learn from more of them, or longer ones")
        torch.manual_seed(seed)
        network, rows = _fit(trials, development, settings, np.random.default_rng([seed, settings.rounds + number]))
        weights = network.weights()
        history += [row | {"round": number} for row in rows]
    assert weights is not None
    return weights, history


def _joined(parts: Sequence[Trials]) -> Trials:
    counts = [part.step[-1] + 1 if len(part.step) else 0 for part in parts]
    before = np.cumsum(counts) - counts
    steps = [part.step + offset for part, offset in zip(parts, before, strict=True)]
    return Trials(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.regret for part in parts]),
        np.concatenate(steps),
    )


def _fit(
    trials: Trials, development: Sequence[Course], settings: Settings, rng: np.random.Generator
) -> tuple[Perceptron, list[Row]]:
    deviation = np.maximum(trials.features.std(0), np.float32(1e-3))
    mean = trials.features.mean(0)
    scaled = torch.from_numpy(((trials.features - mean) / deviation).clip(-_FURTHEST, _FURTHEST))
    regret = torch.from_numpy(trials.regret).clamp(max=_MOST_REGRET)
    first = np.searchsorted(trials.step, np.arange(trials.step[-1] + 2))
    network = Perceptron(torch.from_numpy(mean), torch.from_numpy(deviation), settings.hidden)
    optimiser = torch.optim.AdamW(network.parameters(), settings.learning_rate, weight_decay=1e-4)

    def step(number: int) -> float:
        chosen = rng.integers(len(first) - 1, size=settings.batch)
        counts = first[chosen + 1] - first[chosen]
        rows = torch.from_numpy(np.repeat(first[chosen] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum()))
        slot = torch.from_numpy(np.repeat(np.arange(len(chosen)), counts))
        expected, right = _expected(network(scaled[rows]), regret[rows], slot, len(chosen))
        optimiser.zero_grad()
        (expected.mean() - _ENTROPY * right.clamp(min=1e-6).log().mean()).backward()
        loop.descend(network, optimiser)
        return float(expected.detach().mean())

    plan = loop.Training(
        network,
        optimiser,
        step,
        lambda losses: {"loss": float(np.mean(losses))},
        lambda: {"gap": gap(development, network.weights())},
        settings.steps,
        measurements=1,
        rate=partial(_rate, settings),
    )
    return network, loop.run(plan, None, lambda state: None)


def _rate(settings: Settings, step: int) -> float:
    return loop.warmed_cosine(settings.learning_rate, step, 1, settings.steps, _LEAST_RATE)


def _expected(
    scores: torch.Tensor, regret: torch.Tensor, slot: torch.Tensor, slots: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Expected regret at each slot, and the probability of a choice without any, (S,) each, by the softmax of scores.

    scores, regret, slot: (C,), of each ready instruction.
    """
    with torch.no_grad():
        highest = scores.new_full((slots,), -torch.inf).scatter_reduce(0, slot, scores, "amax")
    raised = (scores - highest[slot]).exp()
    probability = raised / torch.zeros(slots).index_add(0, slot, raised)[slot]
    zeros = torch.zeros(slots)
    return zeros.index_add(0, slot, probability * regret), zeros.index_add(0, slot, probability * (regret == 0))
