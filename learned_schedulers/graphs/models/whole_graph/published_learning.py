"""PPO of GO's own policy (Zhou et al. 2020; Schulman et al. 2017), on one graph or on many.

A batch of schedules is drawn from one pass of the network, judged, and learned from in several steps. The reward is the
paper's -sqrt(run time), here of the run time over the graph's own on one device without a memory limit: a reference
that no method influences, that every graph has, and that gives graphs of all sizes rewards of about the same size. A
schedule that exceeds the memory has a constant reward. Nothing is repaired, and no search starts from a rule.

What the paper leaves open, and what is chosen here:
- the ratio of PPO is that of each single choice, all with the advantage of their schedule. That of a whole schedule is
  a product over all operations, which has no bounds on large graphs; on two small ones neither was clearly faster;
- the baseline is the mean reward of the batch, and advantages count in its standard deviation. Running means and
  deviations learned more slowly on two small graphs, with one seed;
- a device starts, of its operations that can start first, the one of the highest priority (devices/ordering.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
from learned_schedulers.graphs.devices.ordering import ordered
from learned_schedulers.graphs.models.whole_graph.published import Operations, PublishedGo, initial
from learned_schedulers.graphs.models.whole_graph.search import INVALID, LONGEST_STEP, SearchResult
from learned_schedulers.graphs.models.whole_graph.settings import Generalised
from learned_schedulers.graphs.models.whole_graph.settings import Published as Settings
from learned_schedulers.graphs.models.whole_graph.updates import MEASURED, geometric_mean
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.learning import loop, processes


@dataclass(frozen=True)
class Batch:
    """S schedules that were drawn from one pass of the network, and judged."""

    operations: Operations
    choices: list[Tensor]  # (n, S) int64 of each task: devices, levels
    logs: list[Tensor]  # (n, S) log-probabilities with which they were drawn
    evaluated: Evaluated  # S
    rewards: np.ndarray  # (S,)


def draw(
    logs: list[Tensor], operations: Operations, settings: Settings, count: int, generator: torch.Generator
) -> Batch:
    """Draw `count` schedules from the log-probabilities of one pass, and judge all of them at once."""
    choices = [torch.multinomial(task.exp(), count, replacement=True, generator=generator) for task in logs]
    problem = operations.problem
    placements, *levels = (task.T.numpy() for task in choices)  # (S, n)
    judged = evaluated(problem, ordered(problem, placements, *levels), placements)
    return Batch(operations, choices, _of(logs, choices), judged, rewards(problem, judged, settings.invalid))


def rewards(problem: Problem, judged: Evaluated, invalid: float) -> np.ndarray:
    """(S,) -sqrt(run time / run time of all operations on one device); -invalid where the memory is exceeded."""
    alone = float(problem.seconds.sum()) or 1.0
    return np.where(judged.fits, -np.sqrt(judged.seconds / alone), -invalid)


def objective(network: PublishedGo, batch: Batch, settings: Settings) -> Tensor:
    """What PPO makes smaller, (): the clipped objective less the entropy, means over choices, summed over tasks."""
    logs = network(batch.operations)
    advantage = torch.tensor(advantages(batch.rewards), dtype=torch.float32)  # (S,)
    total = torch.zeros(())
    for before, after, task in zip(batch.logs, _of(logs, batch.choices), logs, strict=True):
        ratio = (after - before).exp()  # (n, S)
        clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        entropy = -(task.exp() * task).sum(1).mean()
        total = total - torch.minimum(ratio * advantage, clipped * advantage).mean() - settings.entropy * entropy
    return total


def advantages(reward: np.ndarray) -> np.ndarray:
    """(S,) rewards less their mean, in their standard deviations; 0 if all are equal."""
    centred = reward - reward.mean()
    return centred / max(float(centred.std()), 1e-12)


def learn(
    network: PublishedGo, optimiser: loop.Optimiser, settings: Settings, batches: Sequence[Batch], total: int
) -> None:
    """The epochs of PPO. batches: this process's share of `total`."""
    for _ in range(settings.epochs):
        optimiser.zero_grad()
        for batch in batches:
            (objective(network, batch, settings) / total).backward()
        loop.descend(network, optimiser, LONGEST_STEP)


def search(
    network: PublishedGo,
    problem: Problem,
    settings: Settings,
    evaluations: int,
    rng: np.random.Generator,
    learns: bool = True,
) -> SearchResult:
    """The best of so many schedules; the network learns from each batch, or does not."""
    operations, generator = Operations.of(problem, network.vocabulary), _generator(rng)
    optimiser = torch.optim.Adam(network.parameters(), settings.learning_rate)
    best, least, costs = None, (np.inf, np.inf), []
    logs = _read(network, operations)
    for first in range(0, evaluations, settings.samples):
        batch = draw(logs, operations, settings, min(settings.samples, evaluations - first), generator)
        judged = batch.evaluated
        costs.append(judged.costs)
        chosen = int(np.lexsort((judged.seconds, judged.excess))[0])  # the soonest of what exceeds the memory least
        key = float(judged.excess[chosen]), float(judged.seconds[chosen])
        if best is None or key < least:
            best, least = judged[[chosen]], key
        if learns:
            learn(network, optimiser, settings, [batch], 1)
            logs = _read(network, operations)
    assert best is not None  # a budget has one evaluation at least
    return SearchResult(best, np.concatenate(costs))


def train(
    training: Sequence[Problem],
    development: Sequence[Problem],
    settings: Generalised,
    seed: int,
    resume: loop.State | None = None,
    save: Callable[[loop.State], None] = lambda state: None,
) -> tuple[PublishedGo, list[loop.Row]]:
    """The network after the last update, and rows of table `whole_graph_history`; as `training.train`.

    An update draws a batch of each of some problems, and learns from all of them at once. Raises ValueError without
    problems or without settings of this policy, Diverged if weights are not finite.
    """
    chosen = settings.published
    if chosen is None or not training or not development:
        raise ValueError(
            f"{len(training)} training and {len(development)} development problems, settings {chosen}; all are needed"
        )
    vocabulary = sorted({kind for problem in training for kind in problem.kinds})
    devices = max(problem.devices for problem in (*training, *development))
    network = initial(chosen, vocabulary, devices, seed)
    optimiser = torch.optim.Adam(network.parameters(), chosen.learning_rate)
    readings = [Operations.of(problem, vocabulary) for problem in training]

    def update(number: int) -> float:
        """Minus the mean reward."""
        rank, world = processes.place()
        rng = np.random.default_rng([seed, number])
        drawn = [readings[k] for k in rng.integers(len(readings), size=settings.problems)]
        batches = [
            draw(_read(network, operations), operations, chosen, chosen.samples, _generator(rng))
            for operations in drawn
        ]
        learn(network, optimiser, chosen, batches[rank::world], len(batches))
        return -float(np.mean([batch.rewards for batch in batches]))

    def measure() -> loop.Row:
        def ratio(k: int, rng: np.random.Generator) -> float:
            best = search(network, development[k], chosen, MEASURED, rng, learns=False).best
            return float(best.seconds[0]) / float(development[k].seconds.sum()) if best.fits[0] else INVALID

        return {"value": geometric_mean(ratio, len(development))}

    plan = loop.Training(
        network, optimiser, update, lambda losses: {"value": float(np.mean(losses))}, measure,
        settings.updates, settings.measurements, "update",
    )  # fmt: skip
    return network, loop.run(plan, resume, save)


def _read(network: PublishedGo, operations: Operations) -> list[Tensor]:
    with torch.no_grad():
        logs: list[Tensor] = network(operations)
    return logs


def _of(logs: list[Tensor], choices: list[Tensor]) -> list[Tensor]:
    """(n, S) log-probabilities of the choices of each task."""
    return [task.gather(1, chosen) for task, chosen in zip(logs, choices, strict=True)]


def _generator(rng: np.random.Generator) -> torch.Generator:
    return torch.Generator().manual_seed(int(rng.integers(2**63)))
