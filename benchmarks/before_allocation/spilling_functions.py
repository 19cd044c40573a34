"""Functions in which LLVM's default spills: elsewhere an order changes hardly anything."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.before_allocation.bench import SEED, Bench
from benchmarks.before_allocation.orders import generator
from benchmarks.before_allocation.subject import subject
from learned_schedulers.blocks.before_allocation.conditions import NotRunning, conditions
from learned_schedulers.blocks.before_allocation.stand import Stand

_LARGEST = 1300  # instructions of a block: larger ones take too long to compile


def stand(path: Path, bench: Bench) -> Stand | None:
    """What measures a function; None if it does not run here, or spills nothing."""
    of = subject(path)
    try:
        where = conditions(of, bench.native, bench.emitter)
    except NotRunning:
        return None
    if not sum(of.counts(bench.emitter)[1:]):
        return None
    return Stand(of, where, bench.native, bench.emitter, generator(of, SEED))


def paths(functions: Path, chosen: str, limit: int, largest: int = _LARGEST) -> list[Path]:
    """Files of a set of functions.csv, in random sequence; whether they spill is not known yet.

    limit: most functions; largest: most instructions of a block.
    """
    table = pd.read_csv(functions / "functions.csv")
    rows = table[(table.set == chosen) & (table.block_instructions <= largest)]
    return [functions / f"{name}.ll" for name in rows.name.sample(frac=1, random_state=SEED)[:limit]]
