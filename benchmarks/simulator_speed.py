"""The speed of the simulator of schedules, and a comparison with plain Python: `python -m benchmarks.simulator_speed`.

Warmed up, on one core: schedules per second of random valid schedules on four devices with transfers, by the number of
operations, and the exponent of its growth (the slope of seconds per schedule over operations, both logarithms; edges
grow with the operations). Then the makespans of random schedules of many drawn problems, against longest paths by
networkx (tests/graphs/devices/oracle.py): the run ends with an error at the first that is not equal to rounding.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.config.graph_methods import graph_entry
from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.problems.problem import Edges, Problem, Transfers
from pipeline.graphs.schedulers import Budget, make
from tests.graphs.devices import oracle
from tests.graphs.problems import drawn

SIZES = [50, 200, 1_000, 5_000, 20_000, 80_000]  # operations of a graph
PARENTS, NEAR = 3, 30  # of each operation, drawn from so many before it
DEVICES = 4
SCHEDULED = 2_000_000  # operations of all schedules of a batch
TOLERANCE = 1e-12  # relative: sums of the same seconds in another sequence
OF_EACH = 100  # schedules of each drawn problem


def near(n: int, rng: np.random.Generator) -> Problem:
    """A graph whose edges grow with its operations: each has a few parents among those shortly before it."""
    targets = np.repeat(np.arange(1, n), PARENTS)
    sources = targets - 1 - (rng.random(len(targets)) * np.minimum(targets, NEAR)).astype(int)
    sources, targets = np.unique(np.stack([sources, targets]), axis=1)
    offsets = np.r_[0, np.cumsum(np.bincount(sources, minlength=n))]
    edges = Edges(offsets.astype(np.int32), targets.astype(np.int32))
    return Problem(rng.random(n), rng.random(n), edges, DEVICES, Transfers(0.1, 0.1))


def speeds(rng: np.random.Generator, rounds: int) -> dict[int, np.ndarray]:
    """Schedules per second of each round, by operations."""
    method = make(graph_entry("random_valid"))
    measured = {}
    for n in tqdm(SIZES, desc="sizes"):
        problem = near(n, rng)
        few = method.propose(problem, rng, Budget(proposals=max(1, min(1000, SCHEDULED // n))))
        repeats = max(1, SCHEDULED // few.orders.size)
        orders, placements = np.tile(few.orders, (repeats, 1)), np.tile(few.placements, (repeats, 1))
        seconds = []
        for _ in range(rounds + 1):
            began = time.perf_counter()
            makespans(problem, orders, placements)
            seconds.append(time.perf_counter() - began)
        measured[n] = len(orders) / np.array(seconds[1:])
    return measured


def largest_difference(rng: np.random.Generator, schedules: int) -> float:
    """The largest relative difference to the oracle over that many schedules. Raises ValueError above rounding."""
    largest = 0.0
    for _ in tqdm(range(schedules // OF_EACH), desc="problems"):
        problem = drawn.problem(rng, int(rng.integers(1, 20)), int(rng.integers(1, 6)), float(rng.random()))
        orders, placements = drawn.schedules(problem, rng, OF_EACH)
        for order, placement, makespan in zip(orders, placements, makespans(problem, orders, placements), strict=True):
            expected = max(oracle.ends(problem, order, placement).values())
            difference = abs(makespan - expected) / expected if expected else makespan
            if difference > TOLERANCE:
                raise ValueError(f"{problem}, order {order}, placement {placement}: {makespan}, not {expected}")
            largest = max(largest, difference)
    return largest


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "simulator_speed",
    rounds: Annotated[int, typer.Option(help="Times that each size is timed.")] = 9,
    schedules: Annotated[int, typer.Option(help="Schedules that are compared with the oracle.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Of all graphs and schedules.")] = 0,
) -> None:
    """Time the simulator, compare it, and publish both."""
    rng = np.random.default_rng(seed)
    rows = speed_rows(output.name, speeds(rng, rounds))
    place = {"experiment": output.name, "method": "simulator", "seed": str(seed)}
    against = Quantity("largest_difference", baseline="oracle", unit="1")
    rows.append(row(place, against, largest_difference(rng, schedules), n=schedules))
    table = results(rows)
    print(table[["metric", "lengths", "value", "low", "high", "n"]].to_string(index=False))
    options = {"rounds": rounds, "schedules": schedules, "seed": seed}
    publish(
        output, {"results": table}, options, ["benchmarks.simulator_speed", "pipeline.graphs.schedulers.random_valid"]
    )


def speed_rows(experiment: str, measured: dict[int, np.ndarray]) -> list[Row]:
    """Rows of each size: the median round with the slowest and the fastest; and the exponent of growth."""
    place = {"experiment": experiment, "method": "simulator", "seed": "all"}
    rows = []
    for n, round_speeds in measured.items():
        quantity = Quantity("schedules_per_second", lengths=str(n), unit="schedules/s")
        rows.append(
            row(
                place,
                quantity,
                float(np.median(round_speeds)),
                round_speeds.min(),
                round_speeds.max(),
                len(round_speeds),
                over="rounds",
            )
        )
    medians = [float(np.median(round_speeds)) for round_speeds in measured.values()]
    exponent = -np.polyfit(np.log(list(measured)), np.log(medians), 1)[0]
    span = Quantity("growth_exponent", lengths=f"{min(measured)}-{max(measured)}")
    return [*rows, row(place, span, float(exponent), n=len(measured))]


if __name__ == "__main__":
    typer.run(main)
