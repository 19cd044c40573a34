"""Time orders of blocks on the processor of this machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.execution.native import Native
from pipeline.blocks.execution.oracle import OracleError
from pipeline.blocks.execution.timing_batch import Block, execute
from pipeline.config.section import section
from pipeline.config.timing import TimingSettings
from pipeline.stages import options


def main(
    settings: options.Settings,
    chosen: options.Set,
    blocks: options.Blocks,
    dags: options.Dags,
    timings: options.Out,
    timed_blocks: options.Out,
    schedules: options.SomeTables = None,
    earlier: options.SomeTables = None,
) -> None:
    """Time orders of schedulers, random legal ones, and GCC's twice, of a sample of a set's blocks.

    Of blocks that have several legal orders. It runs their machine code in child processes without descriptors, under
    limits and a seccomp filter; never run by default. It fails where this machine cannot: a table of nothing would take
    the place of figures that were published. A block that cannot run stands in table timed_blocks with the reason.

    A computer has its moods: what one process measures within minutes says nothing of another day. So a series waits
    until enough time has passed since the series before, whose table timed_blocks is `earlier`.
    """
    wanted = section(TimingSettings, settings)
    try:
        native = Native()
    except OracleError as error:
        raise ValueError(f"orders cannot be timed on this machine: {error}") from error
    for path in earlier or []:
        _wait(path, wanted.minutes_apart)
    with native:
        measured, found = execute(native, _blocks(chosen, blocks, dags, schedules or [], wanted), wanted)
    tables.write(measured, "timings", timings)
    tables.write(found, "timed_blocks", timed_blocks)
    lost = found[found["reason"] != ""]
    for reason, count in lost["reason"].value_counts().items():
        print(f"{count} blocks not timed: {reason}", file=sys.stderr)
    print(f"{len(measured)} orders of {len(found) - len(lost)} blocks timed, of {len(found)}", file=sys.stderr)


def _wait(earlier: Path, minutes: float) -> None:
    """Sleep until so much time has passed since the last block of the series before."""
    end = tables.read("timed_blocks", earlier, ["timed_at"])["timed_at"].max() + pd.Timedelta(minutes=minutes)
    seconds = int((end - pd.Timestamp.now("UTC").tz_localize(None)).total_seconds()) + 1
    if seconds > 0:
        print(f"waiting until {end:%H:%M} UTC, {minutes:g} minutes after the series before", file=sys.stderr)
    for _ in tqdm(range(max(seconds, 0)), "waiting", unit="s", file=sys.stderr):
        time.sleep(1)


def _blocks(chosen: Path, blocks: Path, dags: Path, schedules: list[Path], wanted: TimingSettings) -> list[Block]:
    """A sample of the set's blocks that have several legal orders; the same for any schedules."""
    members = tables.of_blocks(tables.read("sets", chosen, ["block_id"])["block_id"])
    edges = tables.read("dags", dags, ["block_id", "n_instructions", "before", "after", "n_legal_orders"], members)
    loose = edges[edges["n_legal_orders"] > 1].sort_values("block_id", ignore_index=True)
    if loose.empty:
        raise ValueError(f"{chosen}: no block has more than one legal order: there is nothing to compare")
    rng = np.random.default_rng(wanted.seed)
    drawn = loose.iloc[np.sort(rng.choice(len(loose), min(wanted.blocks, len(loose)), replace=False))]
    sampled = tables.of_blocks(drawn["block_id"])
    code = tables.read("blocks", blocks, ["block_id", "code", "address"], sampled)
    orders: dict[str, set[tuple[int, ...]]] = {block_id: set() for block_id in drawn["block_id"]}
    for path in schedules:
        table = tables.read("schedules", path, ["block_id", "order", "status"], sampled)
        table = table[table["status"] == "ok"]
        for block_id, order in zip(table["block_id"], table["order"], strict=True):
            orders[block_id].add(tuple(order.tolist()))
    both: pd.DataFrame = drawn.merge(code, on="block_id", validate="one_to_one")
    return [
        Block(
            row["block_id"],
            row["code"],
            int(row["address"]),
            row["before"],
            row["after"],
            int(row["n_instructions"]),
            frozenset(orders[row["block_id"]]),
        )
        for row in both.to_dict("records")
    ]
