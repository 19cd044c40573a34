"""From soft assignments to orders: every relaxation with every decoder, on real DAGs with a known answer.

    python -m benchmarks.decoding

Blocks: a seeded draw of 2,000 of the corpus (dependencies `full`) at each of n = 5, 10, 20 and 40
instructions, or all where there are fewer, only blocks with more than one legal order. The instructions are
renumbered by a random legal order, so that numbers say nothing. Answer: GCC's order. Logits: 4 on the answer's
entries, 0 elsewhere, plus normal noise; a stand-in for a network that is right on average, with errors
independent of the block. Their row softmax, or the logits for Sinkhorn, goes through a relaxation and then
through a decoder.

It publishes the experiment `operator_decoding`: method = relaxation, set = `noise_` and the standard deviation, or
`speed`. Metrics, by n (column lengths):

- exact_match, slot_accuracy, kendall_tau_distance, valid_share, with bootstrap intervals over blocks;
- the difference of exact_match to `none` and, for `time_indexed`, to `popocs_extrapolated`: the exact match less that
  of the other relaxation with the same decoder on the same logits, paired by block;
- gap: mean of (bound - weight) / bound, weight that of the decoded order in the relaxed matrix and bound a
  proven upper bound on the weight of every legal order (the best order's own, where it is proven best);
  not for `hungarian`, which may exceed it;
- optimal_share: blocks whose `best` order is proven best;
- residual_max and converged_share (decoder `none`, relaxation `time_indexed`): violation of its
  constraints, and blocks at or below 1e-5 within its 200 iterations;
- blocks_per_second (set `speed`): the same blocks repeated to a batch of at least 0.1 s, row softmax, the
  largest noise, float64, partial orders read before, compiled and warmed up, two threads; median, smallest
  and largest of 5 runs.
  `hungarian_scipy` is a loop over scipy's linear_sum_assignment.

All but blocks_per_second are the same on every run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import numba
import numpy as np
import torch
import typer
from pyarrow import compute
from scipy.optimize import linear_sum_assignment

from benchmarks.publishing import PUBLISHED, publish
from pipeline import tables
from pipeline.analysis import metrics
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.analysis.statistics import Bootstrap
from pipeline.blocks.dag.topology import adjacency
from pipeline.operators.decoding import best_order, expected_slots, hungarian, is_legal, topological_fill, weight_of
from pipeline.operators.orders import PartialOrders, partial_orders
from pipeline.operators.popocs import popocs
from pipeline.operators.sinkhorn import sinkhorn
from pipeline.operators.time_indexed import time_indexed, time_indexed_residual
from pipeline.places import path

EXPERIMENT = "operator_decoding"
SIZES = (5, 10, 20, 40)
SCALE = 4.0  # logits; with the levels of noise below exact matches lie between 20% and 95%
NOISE = (1.75, 2.25)
ITERATIONS = 20  # of Sinkhorn and of the cyclic loop, as in the paper
THREADS = 2
TOLERANCE = 1e-5
SAMPLES, CONFIDENCE = 1000, 0.95
DAGS = Path(path("dags", corpus="released", dependencies="full"))
_GROUP = 500  # blocks at once in plain PyTorch, for memory
_REPEATS, _SECONDS = 5, 0.1

Relax = Callable[[torch.Tensor, PartialOrders], torch.Tensor]
RELAXATIONS: dict[str, Relax] = {
    "none": lambda logits, _: logits.softmax(-1),
    "sinkhorn": lambda logits, _: sinkhorn(logits, ITERATIONS),
    "popocs_cyclic": lambda logits, orders: popocs(logits.softmax(-1), orders, method="cyclic", iterations=ITERATIONS),
    "popocs_extrapolated": lambda logits, orders: popocs(logits.softmax(-1), orders, method="extrapolated"),
    "popocs_nearest": lambda logits, orders: popocs(logits.softmax(-1), orders, method="nearest"),
    "time_indexed": lambda logits, orders: _in_groups(logits.softmax(-1), orders),
}

BESIDE = {"none": (), "time_indexed": ("none", "popocs_extrapolated")}  # what a relaxation is compared with


def _in_groups(proposal: torch.Tensor, orders: PartialOrders) -> torch.Tensor:
    groups = np.array_split(np.arange(len(orders)), max(1, len(orders) // _GROUP))
    return torch.cat([time_indexed(proposal[group], orders.take(group), tolerance=TOLERANCE) for group in groups])


def draw(dags: Path, n: int, blocks: int, rng: np.random.Generator) -> tuple[PartialOrders, np.ndarray, np.ndarray]:
    """Partial orders of up to `blocks` blocks of n instructions in a random legal numbering, and how to read it.

    Returns also names (B, n): GCC's number of each instruction; and answer (B, n): GCC's order in the new numbers.
    """
    condition = (compute.field("n_instructions") == n) & (compute.field("n_legal_orders") > 1)
    candidates = tables.read("dags", dags, ["block_id", "before", "after"], condition).sort_values("block_id")
    if candidates.empty:
        raise typer.BadParameter(f"{dags}: no block of {n} instructions has more than one legal order")
    blocks = min(blocks, len(candidates))
    rows = candidates.iloc[rng.choice(len(candidates), blocks, replace=False)]
    precedes = adjacency(n, rows["before"].tolist(), rows["after"].tolist())
    names = topological_fill(rng.random(precedes.shape), precedes).astype(np.int64)
    items = np.arange(blocks)[:, None, None]
    return partial_orders(precedes[items, names[:, :, None], names[:, None, :]]), names, np.argsort(names, 1)


def logits_of(answer: np.ndarray, noise: float, rng: np.random.Generator) -> torch.Tensor:
    """(B, n, n) float64 logits; [b, i, j]: instruction i in slot j."""
    size, n = answer.shape
    values = noise * rng.normal(size=(size, n, n))
    values[np.arange(size)[:, None], answer, np.arange(n)] += SCALE
    return torch.from_numpy(values)


def accuracy(dags: Path, n: int, blocks: int, noises: tuple[float, ...]) -> Iterator[Row]:
    """Rows of every noise, relaxation and decoder at one size."""
    rng = np.random.default_rng(n)
    orders, names, answer = draw(dags, n, blocks, rng)
    blocks = len(orders)
    bootstrap = Bootstrap(blocks, SAMPLES, CONFIDENCE)
    for noise in noises:
        logits = logits_of(answer, noise, rng)
        exact: dict[tuple[str, str], np.ndarray] = {}
        for relaxation, relax in RELAXATIONS.items():
            projected = relax(logits, orders)
            lengths = str(n)
            measured = {
                (decoder, Quantity(metric, lengths=lengths)): numbers
                for decoder, by_metric in per_block(projected.numpy(), orders, names).items()
                for metric, numbers in by_metric.items()
            }
            for (decoder, quantity), numbers in list(measured.items()):
                if quantity.metric == "exact_match":
                    exact[relaxation, decoder] = numbers
                    for compared in BESIDE.get(relaxation, ("none",)):
                        beside = Quantity("exact_match", "difference", compared, lengths=lengths)
                        measured[decoder, beside] = numbers - exact[compared, decoder]
            if relaxation == "time_indexed":
                residuals = time_indexed_residual(projected, orders).numpy()
                measured["none", Quantity("converged_share", lengths=lengths)] = (residuals <= TOLERANCE).astype(float)
                largest = [abs(float(residuals.max()))] * 3
                yield _row(noise, relaxation, "none", Quantity("residual_max", lengths=lengths), largest, blocks)
            for (decoder, quantity), numbers in measured.items():
                _, mean = bootstrap.estimates(numbers[None])
                yield _row(noise, relaxation, decoder, quantity, [mean.value, mean.low, mean.high], blocks)
            shown = (
                f"{name} {values.mean():.3f}"
                for (of_relaxation, name), values in exact.items()
                if of_relaxation == relaxation
            )
            print(f"n = {n}, noise {noise:g}, {relaxation}: exact match", *shown, flush=True)


def per_block(matrix: np.ndarray, orders: PartialOrders, names: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """decoder -> metric -> (B,) of relaxed matrices; names (B, n): GCC's number of each instruction."""
    best = best_order(matrix, orders)
    bound = weight_of(matrix, best.order, orders.sizes) + best.gap
    decoded = {
        "hungarian": hungarian(matrix),
        "topological": topological_fill(matrix, orders),
        "expected_slots": expected_slots(matrix, orders),
        "best": best.order,
    }
    figures: dict[str, dict[str, np.ndarray]] = {}
    for decoder, order in decoded.items():
        named = np.take_along_axis(names, order.astype(np.int64), 1)  # [b, t]: GCC's number
        figures[decoder] = {
            "exact_match": metrics.exact_match(named),
            "slot_accuracy": metrics.slot_accuracy(named),
            "kendall_tau_distance": metrics.kendall_tau_distance(named),
            "valid_share": is_legal(order, orders).astype(float),
        }
        if decoder != "hungarian":
            figures[decoder]["gap"] = (bound - weight_of(matrix, order, orders.sizes)) / bound
    figures["best"]["optimal_share"] = best.optimal.astype(float)
    return figures


def speed(dags: Path, n: int, blocks: int, noise: float) -> Iterator[Row]:
    """Rows of every decoder's speed at one size."""
    rng = np.random.default_rng(n)
    orders, _, answer = draw(dags, n, blocks, rng)
    matrix = logits_of(answer, noise, rng).softmax(-1).numpy()
    decoders: dict[str, Callable[[np.ndarray, PartialOrders], object]] = {
        "hungarian": lambda matrix, _: hungarian(matrix),
        "hungarian_scipy": lambda matrix, _: [linear_sum_assignment(item, maximize=True) for item in matrix],
        "topological": topological_fill,
        "expected_slots": expected_slots,
        "best": best_order,
    }
    for decoder, decode in decoders.items():
        batch, part = matrix, orders
        while (seconds := _timed(decode, batch, part)) < _SECONDS:  # the first call compiles or reads the cache
            times = int(np.clip(np.ceil(1.5 * _SECONDS / seconds), 2, 16))
            batch, part = np.tile(batch, (times, 1, 1)), part.take(np.tile(np.arange(len(part)), times))
        rates = sorted(len(part) / _timed(decode, batch, part) for _ in range(_REPEATS))
        numbers = [float(np.median(rates)), rates[0], rates[-1]]
        quantity = Quantity("blocks_per_second", lengths=str(n))
        yield _row(None, "none", decoder, quantity, numbers, len(part), "runs")
        print(n, decoder, f"{numbers[0]:,.0f} blocks/s in batches of {len(part)}", flush=True)


def _timed(decode: Callable[[np.ndarray, PartialOrders], object], matrix: np.ndarray, orders: PartialOrders) -> float:
    start = time.perf_counter()
    decode(matrix, orders)
    return time.perf_counter() - start


def _row(
    noise: float | None,
    relaxation: str,
    decoder: str,
    quantity: Quantity,
    numbers: list[float],
    blocks: int,
    over: str = "blocks",
) -> Row:
    set_name = "speed" if noise is None else f"noise_{noise:g}"
    place = {"experiment": EXPERIMENT, "set": set_name, "method": relaxation, "decoder": decoder}
    value, low, high = numbers
    return row(place, quantity, value, low, high, blocks, over)


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / EXPERIMENT,
    dags: Annotated[Path, typer.Option(help="Table `dags`, dependencies `full`.")] = DAGS,
    blocks: Annotated[int, typer.Option(help="Blocks drawn at each length, or all.", min=1)] = 2000,
    sizes: Annotated[str, typer.Option(help="Lengths, separated by commas.")] = ",".join(map(str, SIZES)),
    noises: Annotated[str, typer.Option(help="Standard deviations, by commas.")] = ",".join(map(str, NOISE)),
    parts: Annotated[str, typer.Option(help="What is measured: accuracy, speed, or both by comma.")] = "accuracy,speed",
) -> None:
    torch.set_num_threads(THREADS)
    numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))
    lengths, levels = [int(n) for n in sizes.split(",")], tuple(float(noise) for noise in noises.split(","))
    rows: list[Row] = []
    for n in lengths:
        if "accuracy" in parts:
            rows += accuracy(dags, n, blocks, levels)
        if "speed" in parts:
            rows += speed(dags, n, blocks, max(levels))
    settings = {"blocks": blocks, "lengths": lengths, "noises": list(levels), "threads": THREADS, "parts": parts}
    publish(output, {"results": results(rows)}, settings, ["benchmarks.decoding"], [dags])


if __name__ == "__main__":
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(help="\n\n".join(f"\b\n{part}" for part in (__doc__ or "").split("\n\n")))(main)  # lines as they are
    app()
