"""Is a pipeline as fast as it was planned? Four networks in two stages, on two processes of one thread each.

    python -m benchmarks.pipelines         # a quarter of an hour; needs two cores

Expected: what `graph --for throughput --write split_spec` goes by, with the rates of one core (core_rates.py) and of
messages between two processes, both measured first by operations of their own. Measured: the same stages, run by
torch.distributed.pipelining (GPipe, gloo), each process on a core, for every layer that the second stage may begin
with, and the whole network on one core; the median over rounds, in which all of them take turns.

Three ways to choose that layer are compared: ours, the least expected seconds; as many layers before as behind; as many
bytes of weights, as accelerate's `balanced` map has them. It publishes the experiment `pipelines`: by network (`set`),
and with a step of training or without, the rank correlation over layers, and the seconds of ours over each way's.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import torch
import typer
from scipy.stats import spearmanr
from torch import Tensor, distributed, multiprocessing, nn
from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline

from benchmarks.core_rates import Core, measured, use_all_instructions
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.graphs.devices.settings import Link
from learned_schedulers.graphs.devices.targets import transfers_over
from learned_schedulers.graphs.plans.module_export import read_module
from learned_schedulers.graphs.plans.pipelines.modules import first_operations
from learned_schedulers.graphs.plans.pipelines.search import Split, Task, plan_of
from learned_schedulers.graphs.plans.pipelines.stages import with_sums
from learned_schedulers.graphs.plans.splits.units import units_of
from learned_schedulers.graphs.read.roofline import problem_of
from pipeline.lab.rows import Quantity, Row, results, row

_MICRO_BATCHES = 8
_ROUNDS = 15
# Memory of a step stays with its process, as on a GPU: pages that the system clears anew would be most of some steps.
_KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 26)}
_ALONE = ""  # the place of the whole network on one core
_SMALL, _LARGE = 4, 1 << 22  # bytes of messages
WAYS = ("planned", "equal_layers", "equal_weights")


class Mixed(nn.Module):
    """A residual block of attention and of two products."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.wide, self.narrow, self.norm = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
            nn.LayerNorm(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(batch, steps, width) -> the same."""
        normed = self.norm(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        return x + self.narrow(nn.functional.gelu(self.wide(x)))


def _convolutions(narrow: int, wide: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(narrow, wide, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))


def language() -> tuple[nn.Sequential, Tensor]:
    """A transformer with a vocabulary: the last layer has a third of the work."""
    return nn.Sequential(nn.Embedding(8000, 192), *(Mixed(192) for _ in range(8)), nn.Linear(192, 8000)), torch.randint(
        8000, (4, 64)
    )


def vision() -> tuple[nn.Sequential, Tensor]:
    """Convolutions over smaller and smaller images: the first layers have the most work, the last ones the weights."""
    widths = (3, 24, 48, 96, 192, 384)
    layers = [_convolutions(*pair) for pair in pairwise(widths)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(384 * 16, 2048), nn.ReLU(), nn.Linear(2048, 10)), torch.rand(
        4, 3, 128, 128
    )


def widening() -> tuple[nn.Sequential, Tensor]:
    """Products that become larger."""
    widths = [64 * 2 ** (k // 2) for k in range(10)]
    layers = [nn.Sequential(nn.Linear(*pair), nn.Tanh()) for pair in pairwise(widths)]
    return nn.Sequential(*layers), torch.rand(256, 64)


def patches() -> tuple[nn.Sequential, Tensor]:
    """Patches of images, a transformer, and classes: almost equal layers."""
    first = nn.Sequential(nn.Conv2d(3, 128, 8, stride=8), nn.Flatten(2), nn.GELU())
    return nn.Sequential(first, *(Mixed(64) for _ in range(10)), nn.Linear(64, 16)), torch.rand(8, 3, 64, 64)


NETWORKS = {each.__name__: each for each in (language, vision, widening, patches)}


def main(
    only: Annotated[list[str] | None, typer.Option(help="These networks alone.")] = None,
    rounds: Annotated[int, typer.Option(help="Steps of each split.")] = _ROUNDS,
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "pipelines",
) -> None:
    """Measure rates, plan, run, and publish how well both agree."""
    os.environ |= _KEPT_MEMORY  # of the processes that are started
    core, link = measured(), _link()
    print(core, link)
    frames = []
    for name in only or NETWORKS:
        for training in (False, True):
            frame = _times(name, training, core, link, rounds)
            print(f"{name}, {'training' if training else 'inference'}\n{frame.to_string()}", flush=True)
            frames.append(frame.assign(network=name, step="training" if training else "inference"))
    times = pd.concat(frames, ignore_index=True)
    rows = list(_rows(times))
    for each in rows:
        print(
            each["set"], each["method"], each["metric"], f"{each['value']:.3f} [{each['low']:.3f}, {each['high']:.3f}]"
        )
    settings = {"rounds": rounds, "micro_batches": _MICRO_BATCHES, "core": str(core), "link": link.model_dump()}
    publish(output, {"results": results(rows), "pipeline_times": times}, settings)


def _times(name: str, training: bool, core: Core, link: Link, rounds: int) -> pd.DataFrame:
    """Of each layer that the second stage may begin with: expected and measured seconds; and of one core alone."""
    torch.manual_seed(0)
    network, batch = NETWORKS[name]()
    expected = _expected(network, batch, training, core, link)
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_run, (name, training, list(expected), rounds, folder), nprocs=2)
        seconds = np.load(Path(folder) / "seconds.npy")
    chosen = {"planned": min((each for each in expected if each), key=lambda each: expected[each])}
    for way, number in (("equal_layers", len(network) // 2), ("equal_weights", _equal_weights(network))):
        chosen[way] = next(each for each in expected if each and int(each) >= number)  # some layers compute nothing
    ways = {place: [way for way in WAYS if chosen[way] == place] for place in expected}
    return pd.DataFrame(
        {
            "place": place,
            "ways": " ".join(ways[place]),
            "expected": expected[place],
            "measured": float(np.median(seconds[:, k])),
            "low": float(np.quantile(seconds[:, k], 0.25)),
            "high": float(np.quantile(seconds[:, k], 0.75)),
        }
        for k, place in enumerate(expected)
    )


def _expected(network: nn.Sequential, batch: Tensor, training: bool, core: Core, link: Link) -> dict[str, float]:
    """Seconds of a step by the layer that the second stage begins with; of one core alone at `_ALONE`."""
    source = read_module(network, (batch,), training, "sum")
    rates = core.rates_of(source.graph.kinds, source.types)
    problem = problem_of(source.graph, 2, core.device, np.inf, rates, *source.in_memory)
    problem = with_sums(source, replace(problem, transfers=transfers_over(link)), core.device, _MICRO_BATCHES)
    task = Task(source, problem, np.inf, _MICRO_BATCHES)
    labels = units_of(task.workload(2)).labels
    _, firsts = np.unique(labels, return_index=True)
    seconds = {_ALONE: _MICRO_BATCHES * float(problem.seconds.sum())}
    for operation, module in sorted(first_operations(source).items()):
        if module.isdecimal():  # a layer, of which nothing else is split
            stage_of = (firsts[labels] >= operation).astype(np.int64)
            plan = plan_of(task, Split(stage_of, ((0,), (1,)), True), "gpipe")
            if plan is not None:
                seconds[module] = plan.seconds
    return seconds


def _equal_weights(network: nn.Sequential) -> int:
    """The layer before and behind which the bytes of weights differ least, as accelerate's `balanced` map wants it."""
    *before, whole = np.cumsum([sum(weight.nbytes for weight in layer.parameters()) for layer in network])
    return 1 + int(np.abs(whole - 2 * np.array(before)).argmin())


def _joined(rank: int, folder: str) -> None:
    """Make this process a member of two, on a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)


def _run(rank: int, name: str, training: bool, places: Sequence[str], rounds: int, folder: str) -> None:
    """Seconds of a step of each split, in turns, (rounds, splits), in the folder's `seconds.npy`."""
    _joined(rank, folder)
    torch.manual_seed(0)
    network, example = NETWORKS[name]()
    network.train(training)
    batch = torch.cat([example] * _MICRO_BATCHES)
    schedules = {}
    for place in [each for each in places if each != _ALONE]:
        stages = pipeline(deepcopy(network), (example,), split_spec={place: SplitPoint.BEGINNING})
        stage = stages.build_stage(rank, torch.device("cpu"))
        loss = (lambda output, target: output.sum()) if training else None
        schedules[place] = ScheduleGPipe(stage, _MICRO_BATCHES, loss_fn=loss)

    def alone() -> None:
        for part in batch.chunk(_MICRO_BATCHES) if rank == 0 else ():
            output = network(part)
            if training:
                output.sum().backward()

    def step(place: str) -> None:
        if place == _ALONE:
            alone()
        elif rank == 0:
            schedules[place].step(batch)
        elif training:
            schedules[place].step(target=batch)
        else:
            schedules[place].step()

    seconds = np.zeros((rounds + 1, len(places)))
    with torch.set_grad_enabled(training):
        for number in range(rounds + 1):
            for k, place in enumerate(places):
                distributed.barrier()
                began = time.perf_counter()
                step(place)
                distributed.barrier()
                seconds[number, k] = time.perf_counter() - began
    if rank == 0:
        np.save(f"{folder}/seconds.npy", seconds[1:])
    distributed.destroy_process_group()


def _link() -> Link:
    """The rate of messages between two processes."""
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_exchange, (folder,), nprocs=2)
        small, large = np.median(np.load(Path(folder) / "seconds.npy"), 0)
    return Link(bytes_per_second=(_LARGE - _SMALL) / (large - small), seconds=small)


def _exchange(rank: int, folder: str) -> None:
    """Seconds of a message of each size, half of those there and back, (rounds, sizes), in `seconds.npy`."""
    _joined(rank, folder)
    seconds = np.zeros((50, 2))
    for number in range(len(seconds)):
        for k, size in enumerate((_SMALL, _LARGE)):
            message = torch.zeros(size, dtype=torch.uint8)
            distributed.barrier()
            began = time.perf_counter()
            for sender in (0, 1):
                (distributed.send if rank == sender else distributed.recv)(message, 1 - rank)
            seconds[number, k] = (time.perf_counter() - began) / 2
    if rank == 0:
        np.save(f"{folder}/seconds.npy", seconds[5:])
    distributed.destroy_process_group()


def _rows(times: pd.DataFrame) -> list[Row]:
    """Numbers of each network and step (judge), and of all: the median correlation, and how often ours is slower.

    Ours is slower where even its lower quartile is above the other's upper one.
    """
    rows, correlations, slower = [], [], 0
    place = {"experiment": "pipelines", "target": "this_machine", "method": "planned"}
    for (network, step), group in times.groupby(["network", "step"], sort=False):
        of_network, of_step = place | {"set": str(network)}, {"judge": str(step)}
        split, alone = group[group["place"] != _ALONE], group[group["place"] == _ALONE].iloc[0]
        correlations.append(float(spearmanr(split["expected"], split["measured"]).statistic))
        rows.append(
            row(of_network, Quantity("rank_correlation", **of_step), correlations[-1], n=len(split), seed="all")
        )
        ratios = (split["expected"] / split["measured"]).quantile([0.5, 0, 1])
        quantity = Quantity("total_ratio", unit="ratio", **of_step)
        rows.append(row(of_network, quantity, *ratios, len(split), "splits", seed="all"))
        by_way = {way: split[split["ways"].str.contains(way)].iloc[0] for way in WAYS} | {"alone": alone}
        ours = by_way.pop("planned")
        for way, other in by_way.items():
            value, low, high = (ours[a] / other[b] for a, b in (("measured",) * 2, ("low", "high"), ("high", "low")))
            quantity = Quantity("time", "ratio", way, **of_step)
            rows.append(row(of_network, quantity, value, low, high, len(split), "rounds", seed="all"))
            slower += way != "alone" and low > 1
    whole, count = place | {"set": "all"}, len(correlations)
    numbers = np.median(correlations), min(correlations), max(correlations)
    rows.append(row(whole, Quantity("rank_correlation"), *numbers, count, "networks", seed="all"))
    rows.append(row(whole, Quantity("slower_networks", unit="count"), slower, n=count, seed="all"))
    return rows


if __name__ == "__main__":
    use_all_instructions()
    typer.run(main)
