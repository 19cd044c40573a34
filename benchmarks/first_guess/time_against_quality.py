"""Cycles of orders against the time that they take, for every method and budget, on one core.

    python -m benchmarks.first_guess.time_against_quality

The first blocks of the fresh set of the experiment `first_guess`, with the weights of the package. Timed: from blocks
and dependencies in flat arrays to orders, the processor's costs included. Not timed: reading files, building DAGs,
compiling (one run before). Methods take turns, round after round; those that take long have one round. llvm-mca judges
the orders; the best order of a block is the best of this benchmark, GCC's included.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numba
import numpy as np
import typer

from benchmarks.first_guess.blocks import Blocks, binary, blocks_on, inputs
from benchmarks.publishing import PUBLISHED, in_turns, of_rounds, publish
from learned_schedulers.blocks.method_settings import entry
from learned_schedulers.blocks.methods import Budget, Method, make
from learned_schedulers.blocks.order.methods import GUESS, policy_file
from learned_schedulers.blocks.order.targets import TARGETS
from learned_schedulers.statistics.bootstrap import Bootstrap
from pipeline.lab.config import params
from pipeline.lab.rows import Quantity, Row, once, results

BUDGETS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)  # orders of each block that are timed
_TIME = "microseconds_per_block"
_QUICK = 1000  # budgets that are measured in several rounds


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "time_against_quality",
    n_blocks: Annotated[int, typer.Option(help="Blocks on each processor.")] = 1000,
    rounds: Annotated[int, typer.Option(help="Times that each quick method is timed.")] = 3,
    most: Annotated[int, typer.Option(help="Largest budget, orders of each block.")] = 3000,
) -> None:
    """Time all methods on all processors and judge their orders."""
    numba.set_num_threads(1)
    evaluation = params.load().evaluation
    rows: list[Row] = []
    files: list[str] = []
    for blocks in blocks_on(TARGETS, n_blocks):
        measured = _measured(
            blocks, rounds, most, Bootstrap(len(blocks.texts), evaluation.bootstrap_samples, evaluation.confidence)
        )
        rows += [line | {"experiment": output.name} for line in measured]
        files += inputs(blocks.target)
    of_guess = [line for line in rows if (line["method"], line["decoder"]) == ("first_guess", "evaluations_1")]
    slowest = max((line for line in of_guess if line["metric"] == _TIME), key=lambda line: line["value"])
    rows.append(slowest | {"target": "slowest"})
    publish(output, {"results": results(rows)}, {"blocks": n_blocks, "rounds": rounds}, sorted(set(files)), [GUESS])


def _methods(blocks: Blocks, most: int) -> dict[tuple[str, int], tuple[Method, Budget]]:
    """Method and budget -> the method, ready to solve."""
    entries = {("list_scheduling", 1): entry("list_scheduling", priority="weighted_height")}
    entries[("policy", 1)] = entry("policy")
    for evaluations in BUDGETS:
        if evaluations <= most:
            entries[("first_guess", evaluations)] = entry("first_guess", evaluations=evaluations)
            entries[("search", evaluations)] = entry("search", evaluations=evaluations)
    weights = {"first_guess": GUESS, "policy": policy_file(blocks.target)}
    methods = {}
    for (name, evaluations), chosen in entries.items():
        resources = {"machine": blocks.chip} | ({"weights": weights[name]} if name in weights else {})
        methods[name, evaluations] = make(chosen, resources), Budget.of(chosen.settings)
    return methods


def _measured(blocks: Blocks, rounds: int, most: int, bootstrap: Bootstrap) -> list[Row]:
    methods = _methods(blocks, most)
    orders: dict[tuple[str, int], list[np.ndarray]] = {}

    def solve(key: tuple[str, int]) -> None:
        method, budget = methods[key]
        solved: dict[int, np.ndarray] = {}
        for batch in blocks.batches:
            order = next(iter(method.solve(batch.problems, np.random.default_rng(0), budget).orders.values()))
            emitted = np.take_along_axis(batch.shown, order.astype(np.int64), 1)
            solved |= dict(zip(batch.items.tolist(), emitted, strict=True))
        orders[key] = [solved[item] for item in range(len(blocks.texts))]

    quick = {key: lambda key=key: solve(key) for key in methods if key[1] <= _QUICK}
    slow = {key: lambda key=key: solve(key) for key in methods if key[1] > _QUICK}
    seconds = in_turns(quick, rounds) | in_turns(slow, 1)
    program = binary()
    cycles = {key: blocks.cycles(order, program, 2) for key, order in orders.items()}
    emitted = blocks.cycles(blocks.emitted(), program, 2)
    best = np.minimum.reduce([emitted, *cycles.values()])
    rows = []
    for (name, evaluations), counted in cycles.items():
        place = {
            "set": "fresh_guess_10_40",
            "target": blocks.target,
            "method": name,
            "decoder": f"evaluations_{evaluations}",
        }
        rows.append(of_rounds(place, Quantity(_TIME), 1e6 * seconds[name, evaluations] / len(best), len(best)))
        for baseline, base in (("best", best), ("gcc", emitted)):
            quantity = Quantity("cycles", "ratio", baseline, blocks.target)
            rows.append(once(place, quantity, np.log(counted / base), bootstrap, np.exp))
        print(
            f"{blocks.target:11} {name:16} {evaluations:7} {rows[-3]['value']:12.1f} us {rows[-2]['value']:.4f}",
            flush=True,
        )
    return rows


if __name__ == "__main__":
    typer.run(main)
