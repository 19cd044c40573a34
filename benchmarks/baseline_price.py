"""The price of equal numbers on every processor: the same work with the baseline of instructions and without it.

    python -m benchmarks.baseline_price

The baseline is LEVEL_3 of pipeline/__init__.py. Without it, each library compiles for this processor, or picks its best
kernels. Work: trainings of POCSNet with Sinkhorn and with POPOCS; projections of a batch of the corpus's blocks,
forward and backward; the console command with 5,000 lines, whose own mode of MKL stays. Every round runs a process of
each kind, one after the other, on one core; a first round compiles and does not count. Times of trainings and
projections begin after reading and warming up; the command's time is that of its whole process.

It publishes the experiment `baseline_price`: seconds, as a ratio to those without the baseline; median, smallest and
largest of the rounds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import torch
import typer

from benchmarks.operator.cases import SCALE, once
from benchmarks.operator.dags import corpus_dags
from benchmarks.operator.peers import MAKERS
from benchmarks.publishing import PUBLISHED, publish
from pipeline import LEVEL_3, tables
from pipeline.analysis.rows import Quantity, results, row
from pipeline.blocks.models.pocsnet_training import train
from pipeline.blocks.problems import token_blocks
from pipeline.blocks.problems.token_blocks import Blocks
from pipeline.config.params import load
from pipeline.operators.orders import partial_orders
from pipeline.places import path

_ROUNDS, _STEPS, _BATCH, _REPEATS, _LINES = 5, 150, 256, 20, 5000
_SIZES = (5, 20, 40)  # instructions
_NETWORKS, _PROJECTIONS = ("sinkhorn", "popocs"), ("cyclic", "extrapolated", "nearest")
_DAGS = path("dags", corpus="released", dependencies="full")
_BLOCKS = path("blocks", corpus="released")
_TABLES = [_DAGS, path("splits", dependencies="full"), path("tokens"), path("vocabulary")]
# A process without the baseline forgets it before any library is imported.
_FORGET = "import os, pipeline; [os.environ.pop(name) for name in pipeline.LEVEL_3]; "
_WORK = "from benchmarks.baseline_price import work; work()"
_COMMAND = "from pipeline.command.main import main; main()"
Work = tuple[str, str]  # method, instructions of the blocks: all, 5 ...


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "baseline_price",
    rounds: Annotated[int, typer.Option(help="Times that both kinds of process run.")] = _ROUNDS,
) -> None:
    """Run the same work with the baseline and without it, in turn."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])  # processes inherit it
    with TemporaryDirectory() as name:
        lines, out = Path(name) / "blocks.csv", Path(name) / "out.csv"
        code = tables.read("blocks", Path(_BLOCKS), ["code"])["code"][:_LINES]
        lines.write_text("\n".join(block.hex() for block in code))
        seconds = [[_seconds(start, lines, out) for start in ("import pipeline; ", _FORGET)] for _ in range(rounds + 1)]
    rows = []
    for method, lengths in seconds[0][0]:
        ratios = np.array([with_it[method, lengths] / without[method, lengths] for with_it, without in seconds[1:]])
        numbers = (float(np.median(ratios)), ratios.min(), ratios.max(), rounds)
        print(f"{method:12} {lengths:4} {numbers[0]:.2f} ({numbers[1]:.2f} to {numbers[2]:.2f})")
        quantity = Quantity("seconds", "ratio", "without_baseline", lengths=lengths)
        rows.append(row({"experiment": output.name, "method": method}, quantity, *numbers, over="rounds", seed="all"))
    settings = {"rounds": rounds, "steps": _STEPS, "batch": _BATCH, "repeats": _REPEATS, "lines": _LINES}
    modules = ["benchmarks.baseline_price", "pipeline.command.main"]
    publish(output, {"results": results(rows)}, settings, modules, [*_TABLES, _BLOCKS])


def _seconds(start: str, lines: Path, out: Path) -> dict[Work, float]:
    """Seconds of each work in processes whose program begins with `start`."""
    environment = {name: value for name, value in os.environ.items() if name not in LEVEL_3}
    printed = subprocess.run(
        [sys.executable, "-c", start + _WORK], check=True, capture_output=True, text=True, env=environment
    ).stdout
    seconds = {(method, lengths): duration for method, lengths, duration in json.loads(printed.splitlines()[-1])}
    words = [
        sys.executable,
        "-c",
        start + _COMMAND,
        "order",
        str(lines),
        "-o",
        str(out),
        "--by",
        "imitator",
        "--for",
        "haswell",
    ]
    began = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True, env=environment)
    return seconds | {("order", "all"): time.perf_counter() - began}


def work() -> None:
    """Do the work in this process, and print method, lengths and seconds of each as JSON."""
    torch.set_num_threads(1)
    print(json.dumps([*_trainings(), *_projections()]))


def _trainings() -> list[tuple[str, str, float]]:
    """Seconds of a training of _STEPS steps."""
    parts = token_blocks.load(["training", "development"], *map(Path, _TABLES))
    development = parts["development"]  # a few blocks: its measurements would drown the steps
    few = Blocks(development.block_ids[:8], development.problems[:8], development.input_order[:8], development.trie)
    models, seconds = load().experiments["quick"].models, []
    for name in _NETWORKS:
        for steps in (2, _STEPS):  # the first compiles
            settings = models[name].model_copy(update={"steps": steps})
            start = time.perf_counter()
            train(parts["training"], few, settings, 0)
        seconds.append((name, "5", time.perf_counter() - start))
    return seconds


def _projections() -> list[tuple[str, str, float]]:
    """Seconds of the fastest repetition of a batch."""
    seconds = []
    for n in _SIZES:
        orders = partial_orders(corpus_dags(Path(_DAGS), n, _BATCH))
        rng = np.random.default_rng(n)
        proposal = torch.from_numpy(SCALE * rng.standard_normal((_BATCH, n, n))).float().softmax(-1)
        cotangent = torch.from_numpy(rng.standard_normal((_BATCH, n, n))).float()
        for method in _PROJECTIONS:
            times = [once(MAKERS[method], orders, proposal, cotangent)[0] for _ in range(_REPEATS)]
            seconds.append((method, str(n), min(times)))
    return seconds


if __name__ == "__main__":
    typer.run(main)
