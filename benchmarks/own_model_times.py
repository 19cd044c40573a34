"""Are expected seconds right? Every operation of ten models, on one core of this machine.

    python -m benchmarks.own_model_times         # ten minutes; pip install '.[models]' -c constraints.txt

Expected: the roofline with the rates of core_rates.py, which are measured by operations of its own, so that no rate is
fitted to a model that is judged. Measured: the processor's seconds of each operation within a whole run of its model,
in float32, the median over the rounds. Models come from torchvision, timm, transformers, and from this file.

It publishes the experiment `own_model_times`, by model (`set`) and of `all`, there with an interval over the models:
rank_correlation (Spearman's) of expected and measured seconds; median_error of expected / measured - 1 without sign;
total_ratio of the sums; operations. By kind of operation (`judge`), of `all`: kind_ratio, the median of measured /
expected with its quartiles, of kinds with at least `KIND` operations. Those below 1/2 or above 2 are known outliers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
import typer
from scipy.stats import spearmanr
from torch import Tensor, nn
from tqdm import tqdm

from benchmarks.core_rates import Core, measured, use_all_instructions
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.graphs.plans.module_export import source_of, trace_with_weights
from learned_schedulers.graphs.plans.module_operations import Operations, last_reads
from learned_schedulers.graphs.read.export import Way
from learned_schedulers.graphs.read.node_costs import Prices
from learned_schedulers.graphs.read.roofline import seconds
from pipeline.lab.rows import Quantity, Row, results, row

_DRAWS, _SEED = 1000, 48
KIND = 5  # least number of operations of a kind that is published
_HERE = "benchmarks.own_model_times"
MODELS = {  # name -> module, and the shapes of its inputs
    "resnet18": ("torchvision.models:resnet18", "1,3,224,224"),
    "densenet121": ("torchvision.models:densenet121", "1,3,224,224"),
    "convnext_tiny": ("torchvision.models:convnext_tiny", "1,3,224,224"),
    "swin_t": ("torchvision.models:swin_t", "1,3,224,224"),
    "efficientnet_b0": ("timm.models:efficientnet_b0", "1,3,224,224"),
    "vit_small": ("timm.models:vit_small_patch16_224", "1,3,224,224"),
    "bert": (f"{_HERE}:bert", "int64:1,128"),
    "gpt2": (f"{_HERE}:gpt2", "int64:1,128"),
    "speech": (f"{_HERE}:Speech", "8,1,16000"),
    "unet": (f"{_HERE}:Segments", "2,3,128,128"),
}


def bert() -> nn.Module:
    """Four layers of BERT."""
    from transformers import BertConfig, BertModel

    size = BertConfig(num_hidden_layers=4, hidden_size=384, num_attention_heads=6, intermediate_size=1536)
    return BertModel(size)


def gpt2() -> nn.Module:
    """Four layers of GPT-2, with its vocabulary."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=384, n_head=6, use_cache=False))


class Speech(nn.Module):
    """Convolutions over time, a recurrent network in both directions, and probabilities of letters."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 64, 64, stride=16)
        self.second = nn.Conv1d(64, 128, 5, stride=2)
        self.layers = nn.GRU(128, 128, 2, bidirectional=True, batch_first=True)
        self.letters = nn.Linear(256, 40)

    def forward(self, sound: Tensor) -> Tensor:
        """Sound (batch, 1, samples) -> log-probabilities (batch, steps, 40)."""
        x = self.second(self.first(sound).relu()).relu()
        return torch.log_softmax(self.letters(self.layers(x.transpose(1, 2))[0]), -1)


class Segments(nn.Module):
    """A small U-Net: convolutions, pooling, interpolation, and joins."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(_block(*widths) for widths in ((3, 16), (16, 32), (32, 64)))
        self.up = nn.ModuleList(_block(*widths) for widths in ((96, 32), (48, 16)))
        self.last = nn.Conv2d(16, 5, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Image (batch, 3, height, width) -> probabilities of five classes (batch, 5, height, width)."""
        levels: list[Tensor] = []
        x = image
        for number, block in enumerate(self.down):
            x = block(x if number == 0 else nn.functional.max_pool2d(x, 2))
            levels.append(x)
        for block, level in zip(self.up, levels[-2::-1], strict=True):
            x = block(torch.cat([nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"), level], 1))
        return torch.softmax(self.last(x), 1)


def _block(narrow: int, wide: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(narrow, wide, 3, padding=1), nn.GroupNorm(4, wide), nn.SiLU())


class Times(NamedTuple):
    """Seconds of the n operations of a model."""

    kinds: tuple[str, ...]  # n
    expected: np.ndarray  # (n,)
    measured: np.ndarray  # (n,)


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_model_times",
    only: Annotated[list[str] | None, typer.Option(help="These models alone.")] = None,
    rounds: Annotated[int, typer.Option(help="Runs of each model.")] = 15,
) -> None:
    """Measure the rates, then every operation of every model, and publish how well they agree."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    torch.set_num_threads(1)
    core = measured()
    print(core)
    times = {name: times_of(*MODELS[name], core, rounds) for name in tqdm(only or list(MODELS), "models")}
    os.sched_setaffinity(0, allowed)
    rows = [line for name in times for line in _rows(name, times[name])]
    rows += _together(times)
    settings = {"rounds": rounds, "models": {name: MODELS[name] for name in times}, "core": str(core)}
    publish(output, {"results": results(rows)}, settings)


def times_of(module: str, shape: str, core: Core, rounds: int) -> Times:
    """Expected and measured seconds of a model's operations."""
    trace = trace_with_weights(module, [shape], False, Way())
    source = source_of(module, trace, Prices())
    operations = Operations(trace)
    rates = core.rates_of(source.graph.kinds, source.types)
    expected = seconds(source.graph, core.device, rates)
    return Times(operations.kinds, expected, np.median([_run(operations) for _ in range(rounds + 1)][1:], axis=0))


def _run(operations: Operations) -> np.ndarray:
    """The processor's seconds of each operation in one run of the model, (n,)."""
    instructions = [operations.instructions[node] for node in operations.nodes if node in operations.owners]
    numbers = {operations.number[node]: i for i, node in enumerate(operations.computed)}
    values = list(operations.fixed)
    times = np.zeros(len(numbers))
    with torch.no_grad():
        for instruction, dropped in zip(instructions, last_reads(instructions, operations), strict=True):
            began = time.thread_time_ns()
            instruction.run(values)
            ended = time.thread_time_ns()
            if instruction.node in numbers:
                times[numbers[instruction.node]] = 1e-9 * (ended - began)
            for number in dropped:
                values[number] = None
    return times


def _numbers(times: Times) -> dict[Quantity, float]:
    error = np.median(np.abs(times.expected / times.measured - 1))
    return {
        Quantity("rank_correlation"): float(spearmanr(times.expected, times.measured).statistic),
        Quantity("median_error"): float(error),
        Quantity("total_ratio", unit="ratio"): float(times.expected.sum() / times.measured.sum()),
        Quantity("operations", unit="count"): float(len(times.kinds)),
    }


def _rows(name: str, times: Times) -> list[Row]:
    numbers = _numbers(times)
    print(name, *(f"{quantity.metric} {value:.3f}" for quantity, value in numbers.items()))
    return [row(_place(name), quantity, value, n=len(times.kinds), seed="all") for quantity, value in numbers.items()]


def _joined(parts: Sequence[Times]) -> Times:
    """The operations of all models."""
    kinds = tuple(kind for part in parts for kind in part.kinds)
    expected, measured_ones = (np.concatenate([part[place] for part in parts]) for place in (1, 2))
    return Times(kinds, expected, measured_ones)


def _together(times: dict[str, Times]) -> list[Row]:
    """Numbers over all operations, with intervals over models that are drawn anew; ratios by kind."""
    parts = list(times.values())
    whole = _joined(parts)
    rng = np.random.default_rng(_SEED)
    draws = [_numbers(_joined([parts[i] for i in rng.integers(0, len(parts), len(parts))])) for _ in range(_DRAWS)]
    rows: list[Row] = []
    for quantity, value in _numbers(whole).items():
        low, high = np.quantile([numbers[quantity] for numbers in draws], (0.025, 0.975)).tolist()
        interval = (np.nan, np.nan) if quantity.metric == "operations" else (low, high)
        rows.append(row(_place("all"), quantity, value, *interval, len(whole.kinds), "models", seed="all"))
        print(f"all: {quantity.metric} {value:.3f} ({low:.3f} to {high:.3f})")
    kinds, ratios = np.array(whole.kinds), whole.measured / whole.expected
    for kind in sorted(set(whole.kinds)):
        of_kind = ratios[kinds == kind]
        if len(of_kind) >= KIND:
            low, middle, high = np.quantile(of_kind, (0.25, 0.5, 0.75)).tolist()
            quantity = Quantity("kind_ratio", judge=kind, unit="ratio")
            rows.append(row(_place("all"), quantity, middle, low, high, len(of_kind), "operations", seed="all"))
            print(f"{kind:<40} {len(of_kind):>4} {middle:.2f}" + ("" if 0.5 <= middle <= 2 else "  outlier"))
    return rows


def _place(name: str) -> dict[str, str]:
    return {"experiment": "own_model_times", "set": name, "method": "graph", "target": "this_machine"}


if __name__ == "__main__":
    use_all_instructions()
    typer.run(main)
