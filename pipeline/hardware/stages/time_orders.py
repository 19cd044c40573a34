"""Time orders of blocks on the processor of this machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import OracleError
from learned_schedulers.blocks.run.timing_settings import TimingSettings
from learned_schedulers.section import section
from pipeline.corpus.tables import BLOCKS, DAGS, SETS
from pipeline.hardware.tables import TIMED_BLOCKS, TIMINGS
from pipeline.hardware.timing_batch import Block, execute
from pipeline.lab import tables
from pipeline.lab.shared_tables import SCHEDULES
from pipeline.lab.stages import options


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
    """Time the schedulers' orders, random legal orders, and GCC's order twice, of a sample of a set's blocks.

    Only blocks with several legal orders count. The stage runs their machine code in child processes without
    descriptors, under limits and a seccomp filter; the pipeline never runs it by default. It fails on a machine that
    cannot time orders: an empty table must not replace published figures. Table timed_blocks has the reason for each
    block that cannot run.

    Measurements of one process within minutes say nothing about another day. So a series waits until enough time has
    passed since the series before, whose table timed_blocks is `earlier`.
    """
    timing = section(TimingSettings, settings)
    try:
        native = Native()
    except OracleError as error:
        raise ValueError(f"orders cannot be timed on this machine: {error}") from error
    for path in earlier or []:
        _wait(path, timing.minutes_apart)
    with native:
        measured, sampled = execute(native, _blocks(chosen, blocks, dags, schedules or [], timing), timing)
    tables.write(measured, TIMINGS, timings)
    tables.write(sampled, TIMED_BLOCKS, timed_blocks)
    untimed = sampled[sampled["reason"] != ""]
    for reason, count in untimed["reason"].value_counts().items():
        print(f"{count} blocks not timed: {reason}", file=sys.stderr)
    print(f"{len(measured)} orders of {len(sampled) - len(untimed)} of {len(sampled)} blocks timed", file=sys.stderr)


def _wait(earlier: Path, minutes: float) -> None:
    """Sleep until these many minutes have passed since the last block of the earlier series."""
    end = tables.read(TIMED_BLOCKS, earlier, ["timed_at"])["timed_at"].max() + pd.Timedelta(minutes=minutes)
    seconds = int((end - pd.Timestamp.now("UTC").tz_localize(None)).total_seconds()) + 1
    if seconds > 0:
        print(f"waiting until {end:%H:%M} UTC, {minutes:g} minutes after the series before", file=sys.stderr)
    for _ in tqdm(range(max(seconds, 0)), "waiting", unit="s", file=sys.stderr):
        time.sleep(1)


def _blocks(chosen: Path, blocks: Path, dags: Path, schedules: list[Path], timing: TimingSettings) -> list[Block]:
    """A sample of the set's blocks with several legal orders; it does not depend on the schedules."""
    members = tables.of_blocks(tables.read(SETS, chosen, ["block_id"])["block_id"])
    edges = tables.read(DAGS, dags, ["block_id", "n_instructions", "before", "after", "n_legal_orders"], members)
    edges = edges[edges["n_legal_orders"] > 1].sort_values("block_id", ignore_index=True)
    if edges.empty:
        raise ValueError(f"{chosen}: no block has more than one legal order: there is nothing to compare")
    rng = np.random.default_rng(timing.seed)
    drawn = edges.iloc[np.sort(rng.choice(len(edges), min(timing.blocks, len(edges)), replace=False))]
    sampled = tables.of_blocks(drawn["block_id"])
    code = tables.read(BLOCKS, blocks, ["block_id", "code", "address"], sampled)
    orders: dict[str, set[tuple[int, ...]]] = {block_id: set() for block_id in drawn["block_id"]}
    for path in schedules:
        table = tables.read(SCHEDULES, path, ["block_id", "order", "status"], sampled)
        table = table[table["status"] == "ok"]
        for block_id, order in zip(table["block_id"], table["order"], strict=True):
            orders[block_id].add(tuple(order.tolist()))
    merged: pd.DataFrame = drawn.merge(code, on="block_id", validate="one_to_one")
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
        for row in merged.to_dict("records")
    ]
