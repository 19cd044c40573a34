"""Training of a network on orders, on every choice in millions of blocks; resumable, with one process or several.

Several processes (`torchrun`, gloo) share every batch. They sum gradients and counts, so without dropout the numbers
are those of one process up to rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from pipeline.blocks.dag.topology import count_violations
from pipeline.blocks.models.inputs import Bags, Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations, relations
from pipeline.blocks.problems.sample import Sample
from pipeline.blocks.problems.store import BlockStore
from pipeline.config.ordering import Ordering as Settings
from pipeline.learning import processes
from pipeline.learning.diverged import Diverged
from pipeline.learning.rates import warmed_cosine

State = dict[str, Any]  # model, best, optimiser, step, history: tensors, numbers, lists of numbers
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
            order = network.head.decode(network.head.output(embedded, problems), problems, related)
        total, terms = total + float(loss), terms + choices
        exact += int((order == target).all(1).sum())
        valid += int((count_violations(problems.precedes, order) == 0).sum())
    network.train()
    n_blocks = len(sample.rows)
    return {"loss": total / max(terms, 1), "exact_match": exact / n_blocks, "valid_share": valid / n_blocks}


def _problems(
    store: BlockStore, encodings: Encodings, sample: Sample, items: np.ndarray
) -> tuple[Problems, Relations, np.ndarray]:
    """Blocks as shown, their relations, and their target orders, (B, n)."""
    shown = np.stack([sample.orders[item] for item in items])
    problems = store.problems(sample.rows[items], shown)
    order = np.argsort(shown, axis=1)
    if sample.targets is not None:
        order = np.take_along_axis(order, np.stack([sample.targets[item] for item in items]).astype(np.int64), 1)
    return problems, relations(problems, encodings.compared), order


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
) -> tuple[OrderingNetwork, list[dict[str, Any]]]:
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
    lengths = store.lengths[training.rows[chosen]]
    network = OrderingNetwork(vocabulary, settings)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    bags = network.vocabulary.bags(encodings)
    optimiser = torch.optim.AdamW(
        network.parameters(), settings.learning_rate, betas=(0.9, 0.98), weight_decay=settings.weight_decay, fused=True
    )
    history: list[dict[str, Any]] = []
    first, best = 0, {name: weight.clone() for name, weight in network.state_dict().items()}
    if resume is not None:
        network.load_state_dict(resume["model"])
        optimiser.load_state_dict(resume["optimiser"])
        history, first, best = list(resume["history"]), resume["step"], resume["best"]
    every = max(1, settings.steps // settings.measurements)
    progress = tqdm(
        _batches(lengths, settings, seed, first), "training", settings.steps, initial=first, unit="step",
        file=sys.stderr, mininterval=5, disable=rank > 0,
    )  # fmt: skip
    total, terms = torch.zeros(()), 0
    for step, items in zip(range(first, settings.steps), progress, strict=False):
        rate = warmed_cosine(settings.learning_rate, step, settings.warmup, settings.steps, _LEAST_RATE)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.zero_grad()
        # Dropout depends on the step alone, so a resumed training repeats it.
        torch.manual_seed((seed << 32) + step * world + rank)
        share = items[rank::world]
        choices = 0
        if len(share):
            loss, choices = _loss(network, store, encodings, bags, training, chosen[share])
            loss.backward()
            total, terms = total + loss.detach().cpu(), terms + choices
        choices = processes.sum_gradients(network, choices)
        if choices:
            for p in network.parameters():
                if p.grad is not None:
                    p.grad /= choices
            torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
            optimiser.step()
        if (step + 1) % every == 0 or step + 1 == settings.steps:
            mean = processes.mean(total, terms)
            if not np.isfinite(mean):
                raise Diverged(f"the loss is not finite at step {step + 1}; lower learning_rate")
            # The first process's, because all of them have to end at the same step.
            measured = processes.of_first(measure(network, store, encodings, development))
            torch.set_num_threads(threads)  # decoding sets the number of OpenMP's threads to numba's
            earlier = [row["loss"] for row in history if row["split"] == "development"]
            if measured["loss"] < min(earlier, default=np.inf):
                best = {name: weight.clone() for name, weight in network.state_dict().items()}
            unknown = {"exact_match": np.nan, "valid_share": np.nan}
            history.append({"step": step + 1, "split": "training", "loss": mean, **unknown, "learning_rate": rate})
            history.append({"step": step + 1, "split": "development", **measured, "learning_rate": rate})
            progress.set_postfix(loss=f"{mean:.4f}", exact=f"{measured['exact_match']:.4f}", refresh=False)
            total, terms = torch.zeros(()), 0
            state = {"model": network.state_dict(), "best": best, "optimiser": optimiser.state_dict()}
            if rank == 0:
                save({**state, "history": history, "step": step + 1})
            since = len(earlier) - int(np.argmin([*earlier, measured["loss"]]))
            if since >= settings.patience:
                break
    network.load_state_dict(best)
    return network.eval(), history


def _batches(lengths: np.ndarray, settings: Settings, seed: int, first: int) -> Iterator[np.ndarray]:
    """Batches of items of all epochs, from step `first` on; they depend on the seed and the step alone."""
    for epoch in count():
        batches = by_length(lengths, settings.batch_instructions, np.random.default_rng([seed, 1, epoch]))
        yield from batches[first:]
        first = max(0, first - len(batches))
