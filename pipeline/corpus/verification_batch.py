"""Many blocks on several processes: tables `verification` and `sensitivity`, even if blocks crash."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from learned_schedulers.blocks.dag.settings import Dependencies
from learned_schedulers.blocks.run.executors import open_executor
from learned_schedulers.blocks.run.oracle import Executor
from learned_schedulers.blocks.run.sensitivity import Swap, swaps
from learned_schedulers.blocks.run.verification import Block, Verdict, verify
from learned_schedulers.blocks.run.verification_settings import Verification
from pipeline.corpus.tables import SENSITIVITY, VERIFICATION
from pipeline.lab import tables
from pipeline.lab.table import Table
from pipeline.lab.wiring import ROOT, closure

MODES: tuple[Dependencies, ...] = ("full", "conservative")
CONTROL: tuple[Dependencies, ...] = ("paper",)  # this mode ignores flags, so that differences must appear
_CHUNK = 16  # blocks that a process receives at once
_PART = 512  # blocks per saved part; an interrupted run continues after the last one

_executor: Executor | None = None  # one per process of the pool


@dataclass(frozen=True)
class Work:
    """One block, and the parts of the test that apply to it."""

    block: Block
    control: bool
    sensitivity: bool


def _initialize() -> None:
    global _executor
    _executor = open_executor()


def _test(settings: Verification, work: Work) -> tuple[list[Verdict], list[Swap]]:
    assert _executor is not None
    block = work.block
    verdicts, is_runnable = verify(_executor, block, MODES, settings)
    swap_rows: list[Swap] = []
    if is_runnable and work.sensitivity:
        swap_rows = swaps(_executor, block, MODES, settings)
    if is_runnable and work.control:
        verdicts += verify(_executor, block, CONTROL, settings)[0]
    return verdicts, swap_rows


def plan(chosen: pd.DataFrame, settings: Verification) -> list[Work]:
    """Work for the rows of `strata.choose`, in their sequence."""
    columns = ["block_id", "source", "instruction_class", "n_instructions", "code", "address", "relocatable"]
    return [
        Work(
            Block(block_id, source, kind, int(n), code, int(address), not relocatable),
            control=number < settings.control_blocks,
            sensitivity=number < settings.sensitivity_blocks,
        )
        for number, (block_id, source, kind, n, code, address, relocatable) in enumerate(
            chosen[columns].itertuples(index=False, name=None)
        )
    ]


def digest(work: Sequence[Work], settings: Verification) -> str:
    """SHA-256 of the sources of the tables: blocks, settings, and the code that runs the blocks."""
    hash_ = hashlib.sha256(repr((settings, work)).encode())
    for source in closure(__name__):
        hash_.update((ROOT / source).read_bytes())
    return hash_.hexdigest()


def execute(
    work: Sequence[Work], settings: Verification, cores: int, folder: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `verification` and `sensitivity`, in the sequence of `work`; the same for any number of cores.

    `folder`: holds the finished parts of this work with these settings alone; a part that lies there is not repeated.
    """
    verdict_frames, swap_frames = [], []
    # The processes are spawned: a forked one would inherit the locks of the loaded libraries' threads.
    with (
        ProcessPoolExecutor(cores, get_context("spawn"), initializer=_initialize) as pool,
        tqdm(desc="blocks", total=len(work), unit="block", file=sys.stderr) as bar,
    ):
        for begin in range(0, len(work), _PART):
            part = work[begin : begin + _PART]
            verification_path, sensitivity_path = (
                folder / f"{begin}_{name}.parquet" for name in ("verification", "sensitivity")
            )
            if sensitivity_path.exists():  # this table is written last
                bar.update(len(part))
            else:
                verdict_rows, swap_rows = [], []
                for block_verdicts, block_swaps in pool.map(partial(_test, settings), part, chunksize=_CHUNK):
                    verdict_rows += block_verdicts
                    swap_rows += block_swaps
                    bar.update()
                tables.write(_frame(verdict_rows, VERIFICATION), VERIFICATION, verification_path)
                tables.write(_frame(swap_rows, SENSITIVITY), SENSITIVITY, sensitivity_path)
            verdict_frames.append(tables.read(VERIFICATION, verification_path))
            swap_frames.append(tables.read(SENSITIVITY, sensitivity_path))
    return pd.concat(verdict_frames, ignore_index=True), pd.concat(swap_frames, ignore_index=True)


def _frame(rows: Sequence[Verdict | Swap], table: Table) -> pd.DataFrame:
    return pd.DataFrame([asdict(row) for row in rows], columns=table.schema.names)
