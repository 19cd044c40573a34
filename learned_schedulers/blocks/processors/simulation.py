"""Orders of blocks -> cycles: every distinct order is simulated once, whichever method proposed it."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from learned_schedulers.blocks.processors import answers
from learned_schedulers.blocks.processors.llvm_mca import Simulation
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import AssemblyError, gas


def distinct(schedules: Iterable[pd.DataFrame], n_instructions: pd.Series) -> pd.DataFrame:
    """The orders to simulate: columns `block_id`, `order` (a tuple), sorted by both, each pair once.

    These are the orders with status `ok` in tables `schedules`, and GCC's order of every block that occurs in them.
    `n_instructions` is indexed by block_id. Raises ValueError for a block that is not in it.
    """
    pairs: set[tuple[str, tuple[int, ...]]] = set()
    blocks: set[str] = set()
    for frame in schedules:
        blocks.update(frame["block_id"])
        valid = frame[frame["status"] == "ok"]
        pairs.update(
            (block, tuple(order.tolist())) for block, order in zip(valid["block_id"], valid["order"], strict=True)
        )
    missing = sorted(blocks - set(n_instructions.index))
    if missing:
        raise ValueError(
            f"{len(missing)} scheduled blocks are not among the DAGs, {missing[0]} first; make both tables again"
        )
    lengths = n_instructions.to_dict()
    pairs.update((block, tuple(range(lengths[block]))) for block in blocks)
    return pd.DataFrame(sorted(pairs), columns=["block_id", "order"])


def simulate(
    orders: pd.DataFrame, masked_code: dict[str, bytes], machine_name: str, machine: Judge, binary: str, threads: int
) -> pd.DataFrame:
    """Table `latency`: a row for every row of `orders` (see `distinct`), simulated by llvm-mca at `binary`.

    `masked_code` maps block_id to the bytes of the block in GCC's order. Bytes that are not instructions, and
    instructions that llvm-mca does not know, give status `unsupported`, a message and NaN cycles.
    Raises ValueError for a block without code, llvm_mca.LlvmMcaError if llvm-mca cannot be used.
    """
    missing = sorted(set(orders["block_id"]) - set(masked_code))
    if missing:
        raise ValueError(
            f"{len(missing)} scheduled blocks are not in the corpus, {missing[0]} first; make both tables again"
        )
    texts: dict[str, list[str]] = {}
    messages: dict[str, str] = {}
    for block in orders["block_id"].unique():
        try:
            texts[block] = gas(masked_code[block])
        except AssemblyError as error:
            messages[block] = str(error)
    simulated = orders[orders["block_id"].isin(texts)]
    regions = [[texts[b][i] for i in order] for b, order in zip(simulated["block_id"], simulated["order"], strict=True)]
    simulations = dict(zip(simulated.index, answers.simulate(regions, machine, binary, threads), strict=True))
    results = [
        simulations[index] if index in simulations else Simulation(float("nan"), "unsupported", messages[block])
        for index, block in orders["block_id"].items()
    ]
    return orders.assign(
        machine=machine_name,
        cycles=[result.cycles for result in results],
        status=[result.status for result in results],
        message=[result.message for result in results],
    )
