"""Many blocks on several processes: tables `verification` and `sensitivity`, whatever a block does."""

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

from pipeline import tables
from pipeline.blocks.execution.executors import open_executor
from pipeline.blocks.execution.oracle import Executor
from pipeline.blocks.execution.sensitivity import Swap, swaps
from pipeline.blocks.execution.verification import Block, Verdict, verify
from pipeline.config.dags import Dependencies
from pipeline.config.verification import Verification
from pipeline.wiring import ROOT, closure

MODES: tuple[Dependencies, ...] = ("full", "conservative")
CONTROL: tuple[Dependencies, ...] = ("paper",)  # leaves flags out, so that differences must show
_CHUNK = 16  # blocks handed to a process at once
_PART = 512  # blocks after which an interrupted run goes on

_executor: Executor | None = None  # one per process of the pool


@dataclass(frozen=True)
class Work:
    """What is done with one block."""

    block: Block
    control: bool
    sensitivity: bool


def _open() -> None:
    global _executor
    _executor = open_executor()


def _do(settings: Verification, work: Work) -> tuple[list[Verdict], list[Swap]]:
    assert _executor is not None
    block = work.block
    verdicts, ran = verify(_executor, block, MODES, settings)
    found: list[Swap] = []
    if ran and work.sensitivity:
        found = swaps(_executor, block, MODES, settings)
    if ran and work.control:
        verdicts += verify(_executor, block, CONTROL, settings)[0]
    return verdicts, found


def plan(chosen: pd.DataFrame, settings: Verification) -> list[Work]:
    """Work for the rows that `strata.choose` chose, in their sequence."""
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
    """Of everything that the tables come from: blocks, settings, and the code that runs them."""
    found = hashlib.sha256(repr((settings, work)).encode())
    for source in closure(__name__):
        found.update((ROOT / source).read_bytes())
    return found.hexdigest()


def execute(work: Sequence[Work], settings: Verification, cores: int, kept: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `verification` and `sensitivity`, in the sequence of `work`; the same for any number of cores.

    `kept`: a folder for the parts that are done, of this work and these settings alone; what lies there is not done
    again.
    """
    verdicts, found = [], []
    # Fresh processes: a forked one would share the threads' locks of the libraries that this one has loaded.
    with (
        ProcessPoolExecutor(cores, get_context("spawn"), initializer=_open) as pool,
        tqdm(desc="blocks", total=len(work), unit="block", file=sys.stderr) as bar,
    ):
        for begin in range(0, len(work), _PART):
            part = work[begin : begin + _PART]
            verification, sensitivity = (kept / f"{begin}_{name}.parquet" for name in ("verification", "sensitivity"))
            if sensitivity.exists():  # which is written last
                bar.update(len(part))
            else:
                made, exchanged = [], []
                for some, more in pool.map(partial(_do, settings), part, chunksize=_CHUNK):
                    made += some
                    exchanged += more
                    bar.update()
                tables.write(_frame(made, "verification"), "verification", verification)
                tables.write(_frame(exchanged, "sensitivity"), "sensitivity", sensitivity)
            verdicts.append(tables.read("verification", verification))
            found.append(tables.read("sensitivity", sensitivity))
    return pd.concat(verdicts, ignore_index=True), pd.concat(found, ignore_index=True)


def _frame(rows: Sequence[Verdict | Swap], name: str) -> pd.DataFrame:
    return pd.DataFrame([asdict(row) for row in rows], columns=tables.SCHEMAS[name].names)
