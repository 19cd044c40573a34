"""Does a training step need as much memory as `graph --training` says? Torch's own account on a CPU, of five steps.

    python -m benchmarks.own_model_memory        # needs the extra [models]; two minutes

Each model is trained for five steps by torch itself, whose tracker (MemTracker) notes each tensor's memory from its
allocation to its release: weights, states, gradients, results. The most bytes at a time are compared with the peak of
the predicted schedule: one device, in the order of the program. The optimiser is torch's fused one, which needs no
tensors of its own; `fused` of the command takes a step with each gradient, as hooks on parameters do. What a library
allocates within an operator (oneDNN reorders the operands of convolutions) counts on neither side. No model
drops anything: on a CPU torch keeps what was dropped as numbers of 4 bytes, on a GPU, as predicted, of one byte.

It publishes the experiment `own_model_memory`, by model (`set`) and optimiser (`method`): measured_bytes,
predicted_bytes, and error, their difference over the measured ones; and the median error of all models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
import typer
from torch import Tensor, nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.nn import functional
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.plans.sources import on_devices
from learned_schedulers.graphs.read.module_memory import Optimiser
from pipeline.lab.rows import Quantity, Row, results, row

OPTIMISERS: tuple[Optimiser, ...] = ("sgd", "momentum", "adam", "fused")
_STEPS, _CLASSES = 5, 100


class Case(NamedTuple):
    """A model as `graph` takes it."""

    named: str  # module:Class(arguments)
    inputs: tuple[str, ...]


_MINE = "benchmarks.own_model_memory"
CASES = {
    "perceptron": Case(f"{_MINE}:Perceptron", ("64,1024",)),
    "deep_perceptron": Case(f"{_MINE}:Perceptron(depth=24, width=256)", ("4096,256",)),
    "transformer": Case(f"{_MINE}:Transformer", ("16,128,256",)),
    "language_model": Case(f"{_MINE}:LanguageModel", ("int64:16,128",)),
    "convolutions": Case(f"{_MINE}:Convolutions", ("16,3,64,64",)),
    "resnet18": Case("torchvision.models:resnet18", ("16,3,96,96",)),
    "mobilenet_v2": Case("torchvision.models:mobilenet_v2", ("16,3,96,96",)),
    "convnext_tiny": Case("torchvision.models:convnext_tiny", ("8,3,96,96",)),
    "vit_b_16": Case("torchvision.models:vit_b_16(image_size=64)", ("8,3,64,64",)),
    "densenet121": Case("torchvision.models:densenet121", ("8,3,96,96",)),
}


class Perceptron(nn.Sequential):
    def __init__(self, depth: int = 4, width: int = 1024) -> None:
        layers = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.GELU())]
        super().__init__(*layers, nn.Linear(width, _CLASSES))


class Transformer(nn.Module):
    """Four encoder layers over (B, tokens, 256)."""

    def __init__(self) -> None:
        super().__init__()
        layers = [nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True) for _ in range(4)]
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(256, _CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x).mean(1))  # type: ignore[no-any-return]


class LanguageModel(nn.Module):
    """Embedding and last layer are one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(4000, 256)
        self.body = Transformer()
        self.head = nn.Linear(256, 4000, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.body.layers(self.words(tokens)))  # type: ignore[no-any-return]


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = [3, 32, 64, 128, 256]
        self.parts = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.ReLU()) for a, b in pairwise(widths)
        )
        self.head = nn.Linear(256, _CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return self.head(x.mean((2, 3)))  # type: ignore[no-any-return]


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_model_memory",
    only: Annotated[list[str] | None, typer.Option(help="These models alone.")] = None,
) -> None:
    """Measure, predict, publish."""
    rows: list[Row] = []
    errors = []
    for name in tqdm(only or list(CASES), "models"):
        for optimiser in OPTIMISERS:
            case = CASES[name]
            measured, predicted = measured_bytes(case, optimiser), predicted_bytes(case, optimiser)
            errors.append(abs(predicted - measured) / measured)
            tqdm.write(f"{name:<16} {optimiser:<9} {measured / 1e6:9.1f} MB {predicted / 1e6:9.1f} {errors[-1]:7.1%}")
            rows += _rows(name, optimiser, measured, predicted)
    place = {"experiment": "own_model_memory", "dependencies": "data", "target": "cpu", "seed": "all", "set": "all"}
    median = Quantity("memory_error", unit="share")
    rows.append(row(place | {"method": "all"}, median, float(np.median(errors)), n=len(errors), over="models"))
    publish(output, {"results": results(rows)}, {"steps": _STEPS, "cases": {n: list(c) for n, c in CASES.items()}})


def _rows(name: str, optimiser: str, measured: float, predicted: float) -> Iterator[Row]:
    place = {"experiment": "own_model_memory", "dependencies": "data", "target": "cpu", "seed": "all"}
    place |= {"set": name, "method": optimiser}
    yield row(place, Quantity("measured_bytes", unit="bytes"), measured, n=_STEPS, over="steps")
    yield row(place, Quantity("predicted_bytes", unit="bytes"), predicted, n=1, over="models")
    yield row(place, Quantity("memory_error", unit="share"), predicted / measured - 1, n=1, over="models")


def predicted_bytes(case: Case, optimiser: Optimiser) -> float:
    """Peak of a training step on one device, in the order of the program."""
    source = export_module(case.named, case.inputs, training=True, optimizer=optimiser)
    problem = on_devices(source, 1)
    n = len(problem)
    return float(peaks(problem, np.arange(n, dtype=np.int32), np.zeros(n, np.int32))[0])


def measured_bytes(case: Case, optimiser: Optimiser) -> float:
    """Most bytes that weights, states, gradients and results occupy at a time, by torch's tracker."""
    from learned_schedulers.graphs.plans.module_words import imported

    torch.manual_seed(0)
    with imported(case.named) as make:
        module = make()
    inputs = [_input(text) for text in case.inputs]
    step = _step(module, optimiser)
    tracker = MemTracker()
    tracker.track_external(module, *inputs, *([step.optimiser] if step.optimiser else []))
    with tracker:
        for _ in range(_STEPS):
            _loss(module(*inputs)).backward()
            step()
            tracker.reset_mod_stats()
    return float(sum(tracker.get_tracker_snapshot("peak")[torch.device("cpu")].values()) / 2)  # the total is among them


class _Step:
    """Takes the step of an optimiser and frees the gradients."""

    def __init__(self, optimiser: torch.optim.Optimizer | None) -> None:
        self.optimiser = optimiser

    def __call__(self) -> None:
        if self.optimiser is not None:
            self.optimiser.step()
            self.optimiser.zero_grad()


def _step(module: nn.Module, optimiser: Optimiser) -> _Step:
    if optimiser == "fused":
        for parameter in module.parameters():
            parameter.register_post_accumulate_grad_hook(_at_once)
        return _Step(None)
    kinds: dict[Optimiser, Callable[[], torch.optim.Optimizer]] = {
        "sgd": lambda: torch.optim.SGD(module.parameters(), 1e-3, fused=True),
        "momentum": lambda: torch.optim.SGD(module.parameters(), 1e-3, momentum=0.9, fused=True),
        "adam": lambda: torch.optim.Adam(module.parameters(), 1e-3, fused=True),
    }
    return _Step(kinds[optimiser]())


@torch.no_grad()
def _at_once(parameter: Tensor) -> None:
    assert parameter.grad is not None
    parameter.add_(parameter.grad, alpha=-1e-3)
    parameter.grad = None


def _input(text: str) -> Tensor:
    kind, _, sizes = text.rpartition(":")
    shape = [int(size) for size in sizes.split(",")]
    return torch.zeros(shape, dtype=torch.int64) if kind else torch.randn(shape)


def _loss(scores: Tensor) -> Tensor:
    """The command's default: cross-entropy over the last dimension."""
    flat = scores.reshape(-1, scores.shape[-1])
    return functional.cross_entropy(flat, torch.zeros(len(flat), dtype=torch.int64))


if __name__ == "__main__":
    typer.run(main)
