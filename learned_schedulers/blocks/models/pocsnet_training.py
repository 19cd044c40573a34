"""Training of POCSNet: new random input orders in each step, cross-entropy to GCC's order; resumable.

Several processes (`torchrun`) share every batch; numbers are those of one process up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from learned_schedulers.blocks.dag.sampling import SAMPLERS
from learned_schedulers.blocks.dag.settings import Sampler
from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.models.pocsnet import POCSNet, assign
from learned_schedulers.blocks.models.pocsnet_settings import Training
from learned_schedulers.blocks.problems.token_blocks import Blocks
from learned_schedulers.learning import loop, processes
from learned_schedulers.learning.batch_norm import share_statistics
from learned_schedulers.learning.loop import Row, State
from learned_schedulers.operators.losses import cross_entropy, fenchel_young
from learned_schedulers.operators.matching import hungarian
from learned_schedulers.operators.orders import PartialOrders, partial_orders

_MEASUREMENTS = 20  # per training, at equal distances


def loss_of(model: POCSNet, logits: torch.Tensor, orders: PartialOrders, slots: torch.Tensor) -> torch.Tensor:
    """The loss that the model's settings name. logits: (B, n, n); slots: (B, n) true slot of each instruction."""
    settings = model.settings
    if settings.loss == "fenchel_young":
        with torch.no_grad():
            matrix = model.constrain(logits, orders, settings.iterations)
        return fenchel_young(model.proposal(logits), matrix, slots)
    return cross_entropy(model.constrain(logits, orders, settings.iterations), slots, settings.floor)


def measure(model: POCSNet, blocks: Blocks) -> dict[str, float]:
    """Loss, exact match and valid share with Hungarian decoding, on the stored input orders."""
    # Instruction i as shown is GCC's instruction truth[i], which GCC put into slot truth[i].
    shown, truth = blocks.shown(blocks.input_order), blocks.input_order.astype(np.int64)
    model.eval()
    matrix = assign(model, shown, blocks.trie, model.settings.iterations)
    model.train()
    order = hungarian(matrix).astype(np.int64)
    exact = (np.take_along_axis(truth, order, 1) == np.arange(model.n)).all(1)
    loss = cross_entropy(torch.from_numpy(matrix), torch.from_numpy(truth), model.settings.floor)
    valid = count_violations(shown.precedes, order) == 0
    return {"loss": float(loss), "exact_match": float(exact.mean()), "valid_share": float(valid.mean())}


def _batch(size: int, batch_size: int, step: int, seed: int) -> np.ndarray:
    """Items of a step. Epochs are random permutations; the items depend on the seed and the step's number alone."""
    epoch, within = divmod(step, max(1, size // batch_size))
    return _permutation(size, seed, epoch)[within * batch_size : (within + 1) * batch_size]


@lru_cache(maxsize=1)
def _permutation(size: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, 0, epoch]).permutation(size)


def _optimiser(model: POCSNet, settings: Training) -> tuple[torch.optim.Optimizer, Any]:
    optimiser: torch.optim.Optimizer
    if settings.optimiser == "adam":
        optimiser = torch.optim.Adam(model.parameters(), settings.learning_rate, fused=True)
    else:  # the paper names Nesterov's method but not its momentum
        optimiser = torch.optim.SGD(model.parameters(), settings.learning_rate, momentum=0.9, nesterov=True, fused=True)
    if settings.decay == "cosine":
        return optimiser, torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.steps)
    return optimiser, torch.optim.lr_scheduler.ConstantLR(optimiser, 1.0, 0)


def train(
    training: Blocks,
    development: Blocks,
    settings: Training,
    seed: int,
    resume: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    sampler: Sampler = "random_ready",
) -> tuple[POCSNet, list[Row]]:
    """Train the network; returns it and the rows of table `history`.

    Every batch shows its blocks in new legal orders from `sampler` (POCSNet, section 4). Every measurement calls
    `save` with the whole state; a training that resumes from it ends with the same numbers.
    Raises Diverged if the loss or the assignments are not finite, ValueError if a batch has fewer blocks than there are
    processes.
    """
    if len(_batch(len(training.block_ids), settings.batch_size, 0, seed)) < processes.place()[1]:
        raise ValueError("a batch has fewer blocks than there are processes; start fewer, or raise batch_size")
    torch.manual_seed(seed)
    model = POCSNet(training.input_order.shape[1], training.trie.n_tokens, settings)
    share_statistics(model)
    optimiser, decay = _optimiser(model, settings)

    def step(number: int) -> torch.Tensor:
        items = _batch(len(training.block_ids), settings.batch_size, number, seed)
        orders = SAMPLERS[sampler](training.problems.precedes[items], np.random.default_rng([seed, 1, number]))
        weight = len(processes.share(items)) / len(items)  # of the process's mean loss in the batch's
        orders, items = processes.share(orders), processes.share(items)
        problems = training.shown(orders, items)
        logits = model.logits(problems, training.trie)
        loss = weight * loss_of(model, logits, partial_orders(problems.precedes), torch.from_numpy(orders).long())
        optimiser.zero_grad()
        loss.backward()
        loop.descend(model, optimiser)
        decay.step()
        return loss.detach()

    def summary(losses: list[torch.Tensor]) -> Row:
        return {"loss": float(processes.summed(torch.stack(losses)).mean())}

    plan = loop.Training(
        model, optimiser, step, summary, lambda: measure(model, development), settings.steps, _MEASUREMENTS,
        parts={"decay": decay},
    )  # fmt: skip
    return model, loop.run(plan, resume, save)
