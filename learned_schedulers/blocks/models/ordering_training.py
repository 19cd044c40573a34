"""Training of a network on GCC's orders, on every choice in millions of blocks; resumable, with one process or several.

Several processes (`torchrun`, gloo) share every batch. They sum gradients and counts, so without dropout the numbers
are those of one process up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import torch

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.models.inputs import Bags, Vocabulary
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.ordering_settings import Ordering as Settings
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.instructions import Encodings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations, relations
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore
from learned_schedulers.learning import loop, processes
from learned_schedulers.learning.loop import Row, State
from learned_schedulers.learning.muon import MuonWithAdamW

_INFERENCE_INSTRUCTIONS = 8192  # per batch
_CLIP = 1.0  # largest norm of a step's gradient
_LEAST_RATE = 0.02  # share of the learning rate at the end of the cosine


def measure(network: OrderingNetwork, store: BlockStore, encodings: Encodings, sample: Sample) -> dict[str, float]:
    """Loss, exact match and valid share of the head's decoder, on blocks in their stored orders."""
    network.eval()
    bags = network.vocabulary.bags(encodings)
    total, terms, exact, valid = 0.0, 0, 0, 0
    for items in by_length(store.lengths[sample.rows], _INFERENCE_INSTRUCTIONS):
        problems, related, target = _problems(store, encodings, sample, items)
        with torch.no_grad():
            embedded = network.embed(problems, related, bags)
            loss, choices = network.head.loss(embedded, problems, related, target)
            order = network.head.decode(network.head.output(embedded), problems, related)
        total, terms = total + float(loss), terms + choices
        exact += int((order == target).all(1).sum())
        valid += int((count_violations(problems.precedes, order) == 0).sum())
    network.train()
    n_blocks = len(sample.rows)
    return {"loss": total / max(terms, 1), "exact_match": exact / n_blocks, "valid_share": valid / n_blocks}


def _problems(
    store: BlockStore, encodings: Encodings, sample: Sample, items: np.ndarray
) -> tuple[Problems, Relations, np.ndarray]:
    """Blocks as shown, their relations, and GCC's orders of them, (B, n)."""
    shown = np.stack([sample.orders[item] for item in items])
    problems = store.problems(sample.rows[items], shown)
    return problems, relations(problems, encodings.compared), np.argsort(shown, axis=1)


def _loss(
    network: OrderingNetwork, store: BlockStore, encodings: Encodings, bags: Bags, sample: Sample, items: np.ndarray
) -> tuple[torch.Tensor, int]:
    problems, related, target = _problems(store, encodings, sample, items)
    return network.head.loss(network.embed(problems, related, bags), problems, related, target)


def train(
    store: BlockStore,
    encodings: Encodings,
    training: Sample,
    development: Sample,
    settings: Settings,
    seed: int,
    resume: State | None = None,
    save: Callable[[State], None] = lambda state: None,
) -> tuple[OrderingNetwork, list[Row]]:
    """Train on blocks of the store; returns the best network on `development`, and the rows of table `history`.

    Every measurement calls `save` with the whole state; a training that resumes from it ends with the same numbers.
    The training ends early after settings.patience measurements without a lower loss on the development blocks.
    Raises Diverged if the loss is not finite.
    """
    rank, world = processes.place()
    threads = torch.get_num_threads()
    torch.manual_seed(seed)
    chosen = np.arange(len(training.rows))
    if settings.blocks is not None:
        chosen = np.sort(np.random.default_rng([seed, 0]).permutation(chosen)[: settings.blocks])
    instructions = store.instructions_of(training.rows[chosen])
    if settings.encoder.following:
        behind = store.following[training.rows[chosen]]
        instructions = np.concatenate([instructions, behind[behind >= 0]])
    vocabulary = Vocabulary.of(encodings, instructions, settings.min_count)
    chosen = chosen[store.has_choice(training.rows[chosen])]  # blocks with one legal order have no loss
    network = OrderingNetwork(vocabulary, settings)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    bags = network.vocabulary.bags(encodings)
    rates = settings.learning_rate, settings.weight_decay
    optimiser: loop.Optimiser
    if settings.optimiser == "muon":
        optimiser = MuonWithAdamW(network, *rates)
    else:
        optimiser = torch.optim.AdamW(network.parameters(), rates[0], (0.9, 0.98), weight_decay=rates[1], fused=True)
    first = 0 if resume is None else resume["step"]
    batches = _batches(store.lengths[training.rows[chosen]], settings, seed, first)

    def rate(number: int) -> float:
        plan = settings.learning_rate, number, settings.warmup, settings.steps, _LEAST_RATE
        return loop.warmed_cosine(*plan) if settings.decay is None else loop.warmed_constant(*plan, settings.decay)

    def step(number: int) -> tuple[torch.Tensor, int]:
        # Dropout depends on the step alone, so a resumed training repeats it.
        torch.manual_seed((seed << 32) + number * world + rank)
        share = processes.share(next(batches))
        optimiser.zero_grad()
        loss, choices = torch.zeros(()), 0
        if len(share):
            loss, choices = _loss(network, store, encodings, bags, training, chosen[share])
            loss.backward()
        loop.descend(network, optimiser, _CLIP, choices)
        return loss.detach().cpu(), choices

    def summary(numbers: list[tuple[torch.Tensor, int]]) -> Row:
        total = sum((loss for loss, _ in numbers), torch.zeros(()))
        return {"loss": processes.mean(total, sum(choices for _, choices in numbers))}

    def measured() -> Row:
        # The first process's, because all of them have to end at the same step.
        row: Row = processes.of_first(measure(network, store, encodings, development))
        torch.set_num_threads(threads)  # decoding sets the number of OpenMP's threads to numba's
        return row

    plan = loop.Training(
        network, optimiser, step, summary, measured, settings.steps, settings.measurements, rate=rate,
        patience=settings.patience,
    )  # fmt: skip
    return network, loop.run(plan, resume, save)


def _batches(lengths: np.ndarray, settings: Settings, seed: int, first: int) -> Iterator[np.ndarray]:
    """Batches of items of all epochs, from step `first` on; they depend on the seed and the step alone."""
    for epoch in count():
        batches = by_length(lengths, settings.batch_instructions, np.random.default_rng([seed, 1, epoch]))
        yield from batches[first:]
        first = max(0, first - len(batches))
