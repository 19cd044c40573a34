"""The blocks of both measurements, on every processor, and their judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.processors import supported
from learned_schedulers.blocks.processors import answers, llvm_mca
from learned_schedulers.blocks.processors.costs import Processor, processor
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembly import gas
from pipeline.corpus.tables import BLOCKS
from pipeline.lab import tables
from pipeline.lab.config import params
from pipeline.lab.places import path
from pipeline.lab.stored_blocks import load_sample, load_store
from pipeline.processors.tables import MACHINE_INSTRUCTIONS

SET = "fresh_guess_10_40"
_INSTRUCTIONS = 8192  # of a batch


class Batch(NamedTuple):
    """Blocks of one length in the orders in which they are shown."""

    problems: Problems
    items: np.ndarray  # (B,) numbers of the blocks
    shown: np.ndarray  # (B, n) GCC's index of the instruction in each slot


class Blocks(NamedTuple):
    """The first blocks of the set that a processor's model knows and that have several legal orders."""

    target: str
    chip: Processor
    judge: Judge
    batches: list[Batch]
    texts: list[list[str]]  # of each block, in GCC's order

    def cycles(self, orders: Sequence[np.ndarray], binary: str, threads: int) -> np.ndarray:
        """llvm-mca's cycles of one order of each block, in GCC's numbers; (blocks,)."""
        regions = [[texts[i] for i in order] for texts, order in zip(self.texts, orders, strict=True)]
        simulated = answers.simulate(regions, self.judge, binary, threads)
        return np.array([simulation.cycles for simulation in simulated])

    def emitted(self) -> list[np.ndarray]:
        """GCC's orders."""
        return [np.arange(len(text)) for text in self.texts]


def inputs(target: str) -> list[str]:
    """Files that the blocks of a processor are read from."""
    model = path("machine_instructions", corpus="released", machine=target)
    return [path("sets", set=SET), path("dags", corpus="released", dependencies="full"), model]


def blocks_on(targets: Sequence[str], n_blocks: int) -> Iterator[Blocks]:
    """The blocks on each processor."""
    settings = params.load()
    dags = Path(path("dags", corpus="released", dependencies="full"))
    store = load_store(Path(path("instructions", corpus="released")), dags)
    sample = load_sample(Path(path("sets", set=SET)), store)
    for target in targets:
        model = Path(path("machine_instructions", corpus="released", machine=target))
        chip = processor(tables.arrow(MACHINE_INSTRUCTIONS, model))
        usable = supported(store, sample.rows, chip) & store.has_choice(sample.rows)
        items = np.flatnonzero(usable)[:n_blocks]
        ids = sample.block_ids.take(items).to_pylist()
        table = tables.read(
            BLOCKS, Path(path("blocks", corpus="released")), ["block_id", "masked_code"], tables.of_blocks(ids)
        )
        code = dict(zip(table["block_id"], table["masked_code"], strict=True))
        batches = []
        for part in by_length(store.lengths[sample.rows[items]], _INSTRUCTIONS):
            shown = np.stack([sample.orders[item] for item in items[part]])
            batches.append(Batch(store.problems(sample.rows[items[part]], shown), part, shown))
        judge = settings.processors[target].judge
        yield Blocks(target, chip, judge, batches, [gas(code[block]) for block in ids])


def binary() -> str:
    """llvm-mca. Raises ValueError if it is not installed."""
    if (program := llvm_mca.find()) is None:
        raise ValueError(f"llvm-mca {llvm_mca.VERSION} is needed: `{llvm_mca.INSTALL}` (as root), then run again")
    return program
