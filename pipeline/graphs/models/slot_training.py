"""Training of a network of slots on best known orders; it resumes at any measurement.

Several processes (`torchrun`) share every batch; numbers are those of one process up to rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from pipeline.config.slot_network import SlotNetwork as Settings
from pipeline.graphs.models.slot_network import SlotNetwork
from pipeline.graphs.models.views import Batch, View, batch, view
from pipeline.graphs.problems.problem import Problem
from pipeline.learning import processes
from pipeline.learning.loop import Diverged, warmed_cosine
from pipeline.operators.decoding import hungarian, is_legal
from pipeline.operators.losses import fenchel_young

State = dict[str, Any]  # model, best, optimiser, step, history: tensors, numbers, lists of numbers
_CLIP = 1.0  # largest norm of a step's gradient
_LEAST_RATE = 0.02  # share of the learning rate at the end of the cosine


class Example(NamedTuple):
    """A graph and the order to be learned."""

    graph_view: View
    order: np.ndarray  # (n,) int: the operation in each slot

    @staticmethod
    def of(problem: Problem, order: np.ndarray) -> Example:
        return Example(view(problem), order)


def train(
    training: Sequence[Example],
    development: Sequence[Example],
    settings: Settings,
    seed: int,
    resume: State | None = None,
    save: Callable[[State], None] = lambda state: None,
) -> tuple[SlotNetwork, list[dict[str, Any]]]:
    """Train by a Fenchel-Young loss; returns the network that was best on `development`, and rows of table `history`.

    `save` is called with the whole state at every measurement; a training that resumes from it gives the same numbers.
    Raises ValueError without examples for training or development, Diverged if the loss is not finite.
    """
    if not training or not development:
        raise ValueError(
            f"{len(training)} training and {len(development)} development examples; each set needs at least one"
        )
    threads = torch.get_num_threads()
    torch.manual_seed(seed)
    network = SlotNetwork(settings)
    optimiser = torch.optim.AdamW(
        network.parameters(), settings.learning_rate, betas=(0.9, 0.98), weight_decay=settings.weight_decay, fused=True
    )
    history: list[dict[str, Any]] = []
    first, best = 0, _copied(network)
    if resume is not None:
        network.load_state_dict(resume["model"])
        optimiser.load_state_dict(resume["optimiser"])
        history, first, best = list(resume["history"]), resume["step"], resume["best"]
    interval = max(1, settings.steps // settings.measurements)
    batches = islice(_batches(_sizes(training), settings.batch, seed), first, settings.steps)
    progress = tqdm(
        batches, "training", settings.steps, initial=first, unit="step", file=sys.stderr, mininterval=5,
        disable=not processes.is_first(),
    )  # fmt: skip
    losses: list[float] = []
    for step, items in enumerate(progress, first):
        rate = warmed_cosine(settings.learning_rate, step, settings.warmup, settings.steps, _LEAST_RATE)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.zero_grad()
        share, value = processes.share(items), 0.0
        if len(share):  # a batch may have fewer graphs than there are processes
            loss = _loss(network, *_batch_of(training, share))[0] * (len(share) / len(items))
            torch.set_num_threads(threads)  # the projection has set OpenMP to numba's number of threads
            loss.backward()
            value = float(loss.detach())
        processes.sum_gradients(network)
        torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
        optimiser.step()
        losses.append(value)
        if (step + 1) % interval == 0 or step + 1 == settings.steps:
            mean = float(np.mean(processes.summed(torch.tensor(losses, dtype=torch.float64)).numpy()))
            if not np.isfinite(mean):
                raise Diverged(f"the loss is not finite at step {step + 1}; lower learning_rate")
            measured = measure(network, development)
            earlier = [row["loss"] for row in history if row["split"] == "development"]
            if measured["loss"] < min(earlier, default=np.inf):
                best = _copied(network)
            unknown = {"exact_match": np.nan, "valid_share": np.nan}
            history.append({"step": step + 1, "split": "training", "loss": mean, **unknown, "learning_rate": rate})
            history.append({"step": step + 1, "split": "development", **measured, "learning_rate": rate})
            progress.set_postfix(loss=f"{mean:.4f}", development=f"{measured['loss']:.4f}", refresh=False)
            losses = []
            state = {"model": network.state_dict(), "best": best, "optimiser": optimiser.state_dict()}
            if processes.is_first():
                save({**state, "history": history, "step": step + 1})
    network.load_state_dict(best)
    return network.eval(), history


@torch.no_grad()
def measure(network: SlotNetwork, examples: Sequence[Example]) -> dict[str, float]:
    """Loss per operation; of the orders by Hungarian decoding the share of examples' orders, and of legal orders."""
    network.eval()
    losses, exact, valid = [], 0, 0
    sizes = _sizes(examples)
    for n in np.unique(sizes):
        graphs, order = _batch_of(examples, np.flatnonzero(sizes == n))
        loss, matrix = _loss(network, graphs, order)
        decoded = hungarian(matrix.numpy())
        losses += [float(loss)] * len(order)
        exact += int((decoded == order).all(1).sum())
        valid += int(is_legal(decoded, graphs.orders).sum())
    network.train()
    return {
        "loss": float(np.mean(losses)),
        "exact_match": exact / len(examples),
        "valid_share": valid / len(examples),
    }


def _loss(network: SlotNetwork, graphs: Batch, order: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss per operation, and the soft orders (B, n, n).

    Fenchel-Young: the gradient of the scores is the projection minus the permutation, so no gradient goes through the
    projection; it also learned best in the reproduction of POCSNet (operators/README.md).
    """
    scores = network.scores(graphs)
    with torch.no_grad():
        matrix = network.constrain(scores, graphs.orders)
    slots = torch.from_numpy(np.argsort(order, 1))
    return fenchel_young(scores, matrix, slots) / order.shape[1], matrix


def _batch_of(examples: Sequence[Example], items: np.ndarray) -> tuple[Batch, np.ndarray]:
    """A batch of graphs of one size, and their orders (B, n)."""
    chosen = [examples[item] for item in items]
    return batch([example.graph_view for example in chosen]), np.stack([example.order for example in chosen])


def _sizes(examples: Sequence[Example]) -> np.ndarray:
    return np.array([len(example.order) for example in examples])


def _batches(sizes: np.ndarray, most: int, seed: int) -> Iterator[np.ndarray]:
    """Indices of examples of one size each, epoch after epoch; they depend on the seed and the epoch alone."""
    for epoch in count():
        rng = np.random.default_rng([seed, epoch])
        shuffled = rng.permutation(len(sizes))
        by_size = [shuffled[sizes[shuffled] == n] for n in np.unique(sizes)]
        batches = [items[start : start + most] for items in by_size for start in range(0, len(items), most)]
        yield from (batches[k] for k in rng.permutation(len(batches)))


def _copied(network: SlotNetwork) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in network.state_dict().items()}
