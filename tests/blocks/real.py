"""Real blocks of 2 to 64 instructions, from the tiny corpus's programs, for tests of methods and networks.

Its longest blocks have 26 instructions; those of 32, 48 and 64 are several blocks of 16, one behind the other.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from learned_schedulers.blocks.dag.bulk import COLUMNS, Builder
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.problems.instructions import Encodings, encoded, tabulate
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore, of_tables
from learned_schedulers.blocks.read.cut import blocks
from learned_schedulers.blocks.read.distinct import distinct_instructions
from learned_schedulers.blocks.read.elf import read_image
from learned_schedulers.blocks.read.forms import Forms
from pipeline.corpus.program_rows import table_of
from pipeline.corpus.unique import first_of_each, joined
from pipeline.lab.stored_blocks import numbered

TINY = Path(__file__).parents[1] / "tiny"


@cache
def table() -> pa.Table:
    """Table `blocks` of the tiny corpus."""
    parts = []
    for path in sorted(TINY.glob("*.so")):
        image = read_image(path.read_bytes(), r"GCC: \(.*\) \d+\.\d", r"4\.4\.7", 1.0)
        cut = list(blocks(image, 2, 64, Forms()))
        parts.append(table_of("tiny", path.name, image.compiler, image.relocatable, cut))
    cut_out = first_of_each(joined(parts)).select(
        ["block_id", "address", "relocatable", "code", "masked_code", "n_instructions"]
    )
    return pa.concat_tables([cut_out, _chained(cut_out)])


def _chained(blocks: pa.Table) -> pa.Table:
    """Two, three and four blocks of 16 instructions as one; their addresses are not known."""
    parts = blocks.filter(pc.equal(blocks["n_instructions"], 16)).to_pylist()
    rows = [
        {
            "block_id": f"{count:032x}",
            "address": 0,
            "relocatable": True,
            "code": b"".join(part["code"] for part in parts[:count]),
            "masked_code": b"".join(part["masked_code"] for part in parts[:count]),
            "n_instructions": 16 * count,
        }
        for count in (2, 3, 4)
    ]
    return pa.Table.from_pylist(rows, schema=blocks.schema)


@cache
def corpus(
    shortest: int = 2, longest: int = 64, of_each: int = 4, of_five: int = 0
) -> tuple[BlockStore, Encodings, Sample, list[bytes]]:
    """Up to so many blocks of each length, those with several legal orders first, each in a random legal order.

    With them: their distinct instructions, rows of the encodings.
    """
    lengths = table()["n_instructions"].to_numpy()
    many = {n: of_five if n == 5 and of_five else of_each for n in range(shortest, longest + 1)}
    drawn = [np.flatnonzero(lengths == n)[: 2 * count] for n, count in many.items()]
    part = table().take(np.concatenate(drawn))
    dags = Builder("full").build(part.select(COLUMNS))
    forced = np.array([len(before) for before in dags["before"].to_pylist()]) == part["n_instructions"].to_numpy() - 1
    ends = np.cumsum([len(rows) for rows in drawn])
    groups = [(np.arange(end - len(rows), end), many[n]) for n, rows, end in zip(many, drawn, ends, strict=True)]
    chosen = np.concatenate([rows[np.argsort(forced[rows], kind="stable")][:count] for rows, count in groups])
    part, dags = part.take(chosen), dags.take(chosen)
    ids, masked = part["block_id"].combine_chunks(), part["masked_code"].combine_chunks()
    distinct, numbers = distinct_instructions(masked)
    store, rng = of_tables(numbered(ids, numbers), dags), np.random.default_rng(0)
    orders = [random_ready(store.as_emitted(np.array([row])).precedes, rng)[0] for row in range(len(ids))]
    return store, encoded(tabulate(distinct)), Sample(store.block_ids, np.arange(len(ids)), orders), distinct


def batches(store: BlockStore, sample: Sample) -> list[tuple[np.ndarray, Problems]]:
    """Of each length: the orders in which the blocks are shown, (B, n), and the problems."""
    by_length = []
    for n in np.unique(store.lengths[sample.rows]):
        items = np.flatnonzero(store.lengths[sample.rows] == n)
        shown = np.stack([sample.orders[item] for item in items])
        by_length.append((shown, store.problems(sample.rows[items], shown)))
    return by_length
