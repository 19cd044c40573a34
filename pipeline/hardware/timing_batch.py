"""Many blocks timed on this processor: tables `timings` and `timed_blocks`, even if blocks crash."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.run.legal_orders import Order
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.timing import Lost, Timing, time_orders
from learned_schedulers.blocks.run.timing_settings import TimingSettings
from pipeline.hardware.tables import TIMED_BLOCKS, TIMINGS
from pipeline.lab.table import Table


@dataclass(frozen=True)
class Block:
    """A block, and the orders that schedulers chose for it."""

    block_id: str
    code: bytes
    address: int
    before: np.ndarray  # (E,) edges before[e] -> after[e]
    after: np.ndarray  # (E,)
    n_instructions: int
    scheduled: frozenset[Order]


def processor() -> str:
    """The operating system's name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    entries = dict(
        reversed([(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in lines)])
    )
    family, model = entries.get("cpu family", "?"), entries.get("model", "?")
    return f"{entries.get('model name', 'unknown')} (family {family}, model {model})"


def random_orders(block: Block, count: int, rng: np.random.Generator) -> list[Order]:
    """Distinct legal orders of a block, `count` at most, by `sampling.random_ready`."""
    n = block.n_instructions
    precedes = np.zeros((count, n, n), bool)
    precedes[:, block.before, block.after] = True
    return list(dict.fromkeys(map(tuple, random_ready(precedes, rng).tolist())))


def execute(native: Native, blocks: Sequence[Block], settings: TimingSettings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `timings` and `timed_blocks`. An order of several schedulers is timed once, GCC's order twice.

    Blocks are timed one after the other. If the machine has other work, times are longer and vary more.
    """
    timing_rows: list[tuple] = []
    block_rows: list[tuple] = []
    processor_name = processor()
    for block in tqdm(blocks, "blocks timed", unit="block", file=sys.stderr):
        rng = np.random.default_rng([settings.seed, int(block.block_id[:16], 16)])
        drawn = random_orders(block, settings.random_orders, rng)
        gcc: Order = tuple(range(block.n_instructions))
        orders = [gcc, gcc, *sorted({*drawn, *block.scheduled} - {gcc})]
        timing = time_orders(native, block.code, block.address, orders, settings, rng)
        block_columns = (block.block_id, block.n_instructions)
        if isinstance(timing, Lost):
            block_rows.append((*block_columns, timing.reason, timing.example, 0, 0.0, 0.0, processor_name, _now()))
            continue
        block_rows.append(
            (*block_columns, "", "", timing.pages, timing.fence_cycles, timing.cycles_per_tick, processor_name, _now())
        )
        timing_rows += _rows(block.block_id, orders, set(drawn), timing)
    return _frame(timing_rows, TIMINGS), _frame(block_rows, TIMED_BLOCKS)


def _now() -> pd.Timestamp:
    return pd.Timestamp(int(time.time()), unit="s")


def _rows(block_id: str, orders: list[Order], drawn: set[Order], timing: Timing) -> list[tuple]:
    return [
        (block_id, order, number == 1, order in drawn and number != 1, *cycles)
        for number, (order, *cycles) in enumerate(zip(orders, timing.cycles, *timing.halves, strict=True))
    ]


def _frame(rows: list[tuple], table: Table) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=table.schema.names)
