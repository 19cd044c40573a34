"""The loop of every training: steps, measurements, history, progress and checkpoints. What is learned is the caller's.

A training that resumes from a saved state ends with the same bytes, because the random numbers of a step depend on the
seed and the step's number alone. Several processes (`torchrun`) take the same steps, those of one up to rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from learned_schedulers.learning import processes

State = dict[str, Any]  # a checkpoint: the training's parts by name, history, number of steps
Row = dict[str, Any]  # of the history
Numbers = TypeVar("Numbers")


class Diverged(ValueError):
    """The numbers of the network are not finite."""


class Part(Protocol):
    """Something that a training changes, as torch's modules and optimisers; its state is tensors and numbers."""

    def state_dict(self) -> dict[Any, Any]: ...

    def load_state_dict(self, state_dict: Any, /) -> Any: ...


class Optimiser(Part, Protocol):
    """As torch's optimisers."""

    @property
    def param_groups(self) -> list[dict[str, Any]]: ...

    def step(self) -> Any: ...

    def zero_grad(self) -> Any: ...


@dataclass(frozen=True)
class Training(Generic[Numbers]):
    """What one training does, and how long."""

    network: nn.Module
    optimiser: Optimiser
    step: Callable[[int], Numbers]  # takes step 0, 1, ..., and returns its numbers
    summary: Callable[[list[Numbers]], Row]  # from the steps since the last measurement to a row's columns
    measure: Callable[[], Row]  # columns of a row on the development set
    steps: int
    measurements: int  # at equal distances
    unit: str = "step"  # name of the steps in the history
    rate: Callable[[int], float] | None = None  # learning rate of step 0, 1, ...; None: the optimiser's
    parts: Mapping[str, Part] = field(default_factory=dict)  # what changes beside the network and the optimiser
    patience: int | None = None  # ends after so many measurements without a lower `loss`, with the best weights


def run(training: Training[Any], resume: State | None, save: Callable[[State], None]) -> list[Row]:
    """Train the network, from a saved state on; it is ready for use afterwards. Returns the rows of the history.

    Every measurement gives a row of split `training` and one of `development`, with the number of steps so far and the
    learning rate; a column that one of them lacks is NaN there. Then the first process calls `save` with the state.
    Raises Diverged if numbers of the steps or weights are not finite at a measurement.
    """
    network, optimiser, unit = training.network, training.optimiser, training.unit
    parts: dict[str, Part] = {"model": network, "optimiser": optimiser, **training.parts}
    if training.patience is not None:
        best = parts["best"] = _Best(network)
    history: list[Row] = []
    first = 0
    if resume is not None:
        for name, part in parts.items():
            part.load_state_dict(resume[name])
        history, first = list(resume["history"]), resume[unit]
        if processes.is_first():
            print(f"resuming at {unit} {first} of {training.steps}", file=sys.stderr)
    interval = max(1, training.steps // training.measurements)
    progress = tqdm(
        range(first, training.steps), "training", training.steps, initial=first, unit=unit, file=sys.stderr,
        mininterval=5, disable=not processes.is_first(),
    )  # fmt: skip
    numbers: list[Any] = []
    for step in progress:
        if training.rate is not None:
            for group in optimiser.param_groups:
                group["lr"] = training.rate(step)
        numbers.append(training.step(step))
        if (step + 1) % interval and step + 1 < training.steps:
            continue
        learned = training.summary(numbers)
        check_finite([*learned.values(), *network.parameters()], unit, step)
        measured = training.measure()
        for split, row in (("training", learned), ("development", measured)):
            place = {unit: step + 1, "split": split, "learning_rate": optimiser.param_groups[0]["lr"]}
            history.append(place | {name: row.get(name, np.nan) for name in learned | measured})
        progress.set_postfix({name: f"{value:.4g}" for name, value in measured.items()}, refresh=False)
        numbers = []
        losses = [row["loss"] for row in history if row["split"] == "development"] if "best" in parts else []
        if losses and losses[-1] < min(losses[:-1], default=np.inf):
            best.take()
        if processes.is_first():
            save({name: part.state_dict() for name, part in parts.items()} | {"history": history, unit: step + 1})
        if training.patience is not None and len(losses) - 1 - int(np.argmin(losses)) >= training.patience:
            break
    if training.patience is not None:
        network.load_state_dict(best.state_dict())
    network.eval()
    return history


def check_finite(numbers: Iterable[float | torch.Tensor], unit: str, step: int) -> None:
    """Raise Diverged unless all numbers of a step are finite."""
    if not all(bool(torch.as_tensor(number).isfinite().all()) for number in numbers):
        raise Diverged(f"the loss is not finite at {unit} {step + 1}; lower learning_rate")


def descend(network: nn.Module, optimiser: Optimiser, clip: float = np.inf, terms: int | None = None) -> torch.Tensor:
    """One step of the optimiser by the gradients of all processes; returns their norm before it is clipped.

    terms: of this process's loss, a sum; the step is by the mean over all terms, and there is none without terms.
    """
    total = processes.sum_gradients(network, terms or 0)
    if terms is not None:
        if not total:
            return torch.zeros(())
        for p in network.parameters():
            if p.grad is not None:
                p.grad /= total
    norm = torch.zeros(())
    if clip < np.inf:
        norm = torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
    optimiser.step()
    return norm


def warmed_cosine(largest: float, step: int, warmup: int, steps: int, least: float) -> float:
    """The rate of step 0, 1, ...: a linear warm-up, then half a cosine, but at least the share `least` of `largest`."""
    cosine = 0.5 * (1 + np.cos(np.pi * step / steps))
    return float(largest * min(1.0, (step + 1) / warmup) * max(least, cosine))


def warmed_constant(largest: float, step: int, warmup: int, steps: int, least: float, decay: float) -> float:
    """As `warmed_cosine`, but constant up to the last share `decay` of the steps, then in a straight line to `least`.

    So a training can be made longer before the fall begins (Haegele et al. 2024).
    """
    falling = (steps - step) / (decay * steps)
    return float(largest * min(1.0, (step + 1) / warmup, max(least, falling)))


class _Best:
    """The best weights so far."""

    def __init__(self, network: nn.Module) -> None:
        self._network = network
        self.take()

    def take(self) -> None:
        self._weights = {name: weight.clone() for name, weight in self._network.state_dict().items()}

    def state_dict(self) -> dict[str, torch.Tensor]:
        return self._weights

    def load_state_dict(self, state: dict[str, torch.Tensor], /) -> None:
        self._weights = state
