"""What orders of users' code are worth by the models, and the price of the order of memory that other threads see.

    python -m benchmarks.own_cycles

Blocks: those of a set of test blocks, ordered as `learned-schedulers order` orders lines of hexadecimal: nothing is
known of their surroundings, so no slot of a frame is exempt. Each is ordered by every method for every processor that
it serves, under both models of memory, and judged by llvm-mca: cycles of a single pass. Blocks that llvm-mca does not
know are left out.

It publishes the experiment `own_cycles`: metric cycles, ratio to GCC's order, geometric mean over blocks, column
`dependencies` tso or single_thread, judge = target; method `best`: the method with the smallest ratio. `choice_share`:
blocks with several legal orders. One seed; the interval is over blocks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.blocks.dag.memory_order import MemoryOrder
from learned_schedulers.blocks.order.methods import GUESS, IMITATOR, MEASURED, By, policy_file, serves
from learned_schedulers.blocks.order.orderer import Orderer, Status
from learned_schedulers.blocks.order.targets import TARGETS, Target
from learned_schedulers.blocks.processors import answers, llvm_mca
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import AssemblyError, gas
from learned_schedulers.statistics.bootstrap import Bootstrap
from pipeline.corpus.tables import BLOCKS, SETS
from pipeline.lab import tables
from pipeline.lab.places import path
from pipeline.lab.rows import Quantity, Row, results, row

_MEMORIES: tuple[MemoryOrder, ...] = ("tso", "single_thread")
_SAMPLES, _CONFIDENCE, _PIECE = 1000, 0.95, 1000


def main(
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "own_cycles",
    chosen: Annotated[str, typer.Option("--set", help="Set whose blocks are ordered.")] = "test_10_40",
    most: Annotated[int, typer.Option(help="Most blocks of the set; 0: all.")] = 0,
) -> None:
    """Order blocks by every method, and judge the orders."""
    binary = llvm_mca.find()
    if binary is None:
        raise ValueError(f"llvm-mca is needed: {llvm_mca.INSTALL}")
    inputs = [path("sets", set=chosen), path("blocks", corpus="released")]
    ids = tables.read(SETS, Path(inputs[0]), ["block_id"])["block_id"][: most or None]
    codes = tables.read(BLOCKS, Path(inputs[1]), ["block_id", "masked_code"], tables.of_blocks(ids))["masked_code"]
    rows: list[Row] = []
    for target in TARGETS:
        rows += _of_target(target, list(codes), chosen, binary)
    for shown in rows:
        if shown["metric"] == "cycles":
            numbers = f"{shown['value']:.4f} [{shown['low']:.4f}, {shown['high']:.4f}]"
            print(f"{shown['target']:<11} {shown['dependencies']:<14} {shown['method']:<9} {numbers}")
    settings = {"set": chosen, "blocks": len(codes), "samples": _SAMPLES, "confidence": _CONFIDENCE}
    weights = [GUESS, IMITATOR, *map(policy_file, TARGETS)]
    publish(output, {"results": results(rows)}, settings, inputs, weights)


def _of_target(target: Target, codes: list[bytes], chosen: str, binary: str) -> list[Row]:
    """The rows of one processor."""
    orders: dict[tuple[str, By], list[tuple[int, ...]]] = {}
    shares: dict[str, float] = {}
    is_known = np.ones(len(codes), bool)
    for memory in _MEMORIES:
        for by in MEASURED:
            try:
                serves(by, target)
            except ValueError:
                continue
            ordered, status = _ordered(codes, by, target, memory)
            is_known &= status != Status.UNSUPPORTED
            orders[memory, by] = ordered
            shares[memory] = float((status != Status.SINGLE).mean())
    cycles = _judged(codes, is_known, orders, target, binary)
    gcc = cycles["gcc"]
    usable = is_known & ~np.isnan(gcc)
    bootstrap = Bootstrap(int(usable.sum()), _SAMPLES, _CONFIDENCE)
    rows: list[Row] = []
    for memory in _MEMORIES:
        place = {"experiment": "own_cycles", "set": chosen, "dependencies": memory, "target": target, "seed": "all"}
        rows.append(row(place, Quantity("choice_share"), shares[memory], n=len(codes), method="none"))
        of_memory: dict[By, Row] = {}
        for by in MEASURED:
            if (memory, by) in orders:
                logs = np.log(cycles[memory, by][usable] / gcc[usable])
                [_], estimate = bootstrap.estimates(logs[None])
                numbers = (*np.exp([estimate.value, estimate.low, estimate.high]).tolist(), estimate.n)
                quantity = Quantity("cycles", "ratio", "gcc", target)
                of_memory[by] = row(place, quantity, *numbers, method=by)
        best = min(of_memory.values(), key=lambda shown: shown["value"])
        rows += [*of_memory.values(), best | {"method": "best"}]
    return rows


def _ordered(
    codes: Sequence[bytes], by: By, target: Target, memory: MemoryOrder
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """The order of each block, and its `Status`."""
    orderer = Orderer(by, target, memory)
    orders: list[tuple[int, ...]] = []
    status: list[np.ndarray] = []
    for begin in tqdm(range(0, len(codes), _PIECE), f"{by}, {target}, {memory}", leave=False):
        answer = orderer.order(codes[begin : begin + _PIECE], None, begin)
        orders += [tuple(answer.of(k).tolist()) for k in range(len(answer.status))]
        status.append(answer.status)
    return orders, np.concatenate(status)


def _judged(
    codes: list[bytes],
    is_known: np.ndarray,
    orders: dict[tuple[str, By], list[tuple[int, ...]]],
    target: Target,
    binary: str,
) -> dict[object, np.ndarray]:
    """llvm-mca's cycles of all blocks, NaN for unknown ones: under `gcc` as they are, else by model and method."""
    every: dict[object, list[tuple[int, ...]]] = dict(orders)
    texts: list[list[str]] = []
    for code in codes:
        try:
            texts.append(gas(code))
        except AssemblyError:
            texts.append([])
    every["gcc"] = [tuple(range(len(text))) for text in texts]
    pairs = sorted(
        {
            (block, order)
            for of_blocks in every.values()
            for block, order in enumerate(of_blocks)
            if texts[block] and is_known[block]
        }
    )
    regions = [[texts[block][i] for i in order] for block, order in pairs]
    judge = Judge(cpu=target, iterations=1)
    simulated = answers.simulate(regions, judge, binary, len(os.sched_getaffinity(0)))
    cycles = {pair: answer.cycles for pair, answer in zip(pairs, simulated, strict=True) if answer.status == "ok"}
    return {
        key: np.array([cycles.get((block, order), np.nan) for block, order in enumerate(of_blocks)])
        for key, of_blocks in every.items()
    }


if __name__ == "__main__":
    typer.run(main)
