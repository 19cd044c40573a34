"""Nothing that reaches a method tells GCC's order: stored in any legal order, a block shown alike is the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from learned_schedulers.blocks.dag.bulk import COLUMNS, Builder
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.problems.instructions import encoded, tabulate
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore, of_tables
from learned_schedulers.blocks.problems.tokens import block_tokens
from learned_schedulers.blocks.read import assembly
from learned_schedulers.blocks.read.distinct import distinct_instructions
from pipeline.lab import stored_token_blocks as token_blocks
from pipeline.lab import tables
from pipeline.lab.stored_blocks import numbered
from pipeline.reproduction.tables import TOKENS, VOCABULARY
from tests.blocks import real
from tests.blocks.read.reordering import reordered

PER_LENGTH, LENGTHS = 12, range(2, 27)
Stored = tuple[BlockStore, list[np.ndarray], list[bytes], list[str]]


def blocks() -> pa.Table:
    lengths = real.table()["n_instructions"].to_numpy()
    return real.table().take(np.concatenate([np.flatnonzero(lengths == n)[:PER_LENGTH] for n in LENGTHS]))


def stored(table: pa.Table, orders: list[np.ndarray] | None) -> Stored:
    """The blocks with their instructions stored in these orders, as a compiler would have emitted them.

    And for each the tokens, to be numbered.
    """
    rows = table.to_pylist()
    for row, order in zip(rows, orders or [np.arange(row["n_instructions"]) for row in rows], strict=True):
        pieces = assembly.split(row["masked_code"])
        row["masked_code"] = b"".join(pieces[i] for i in order)
        row["code"] = reordered(row["code"], order.tolist())
    changed = pa.Table.from_pylist(rows, schema=table.schema)
    ids, masked = changed["block_id"].combine_chunks(), changed["masked_code"].combine_chunks()
    behind = table["masked_code"].combine_chunks()[::-1]  # any other block may stand behind a block
    distinct, numbers = distinct_instructions(pa.concat_arrays([masked, pa.array(behind.to_pylist(), pa.binary())]))
    following = pa.array([part[:4] for part in numbers[len(ids) :].to_pylist()], pa.list_(pa.int32()))
    store = of_tables(numbered(ids, numbers[: len(ids)], following), Builder("full").build(changed.select(COLUMNS)))
    return store, [np.arange(n) for n in store.lengths], distinct, masked.to_pylist()


@pytest.fixture(scope="module")
def both() -> tuple[Stored, Stored, list[np.ndarray], list[np.ndarray]]:
    """The same blocks as GCC emitted them, and stored in other legal orders, and how both are shown alike."""
    table, rng = blocks(), np.random.default_rng(0)
    emitted = stored(table, None)
    rows = range(table.num_rows)
    stored_orders, shown = (
        [random_ready(emitted[0].as_emitted(np.array([row])).precedes, rng)[0] for row in rows] for _ in range(2)
    )
    return (
        emitted,
        stored(table, stored_orders),
        shown,
        [np.argsort(a)[b] for a, b in zip(stored_orders, shown, strict=True)],
    )


def arrays(store: BlockStore, shown: list[np.ndarray]) -> list[Problems]:
    """Problems of each length."""
    rows = [np.flatnonzero(store.lengths == n) for n in np.unique(store.lengths)]
    return [store.problems(part, np.stack([shown[row] for row in part])) for part in rows]


def assert_same_bytes(first: object, second: object) -> None:
    for field in fields(first):
        first_value, second_value = getattr(first, field.name), getattr(second, field.name)
        if isinstance(first_value, np.ndarray):
            assert (first_value.dtype, first_value.shape, first_value.tobytes()) == (
                second_value.dtype,
                second_value.shape,
                second_value.tobytes(),
            ), field.name
        else:
            assert first_value == second_value, field.name


def with_tokens(folder: Path, parts: Stored, shown: list[np.ndarray]) -> tuple[BlockStore, token_blocks.TokenTrie]:
    """The store as POCSNet reads it, from tables `tokens` and `vocabulary`."""
    store, _, _, masked = parts
    words = [block_tokens(code) for code in masked]
    ids = {token: number for number, token in enumerate(sorted({t for block in words for i in block for t in i}))}
    rows = [
        (block_id, [ids[token] for token in chain(*block)], [len(i) for i in block])
        for block_id, block in zip(store.block_ids.to_pylist(), words, strict=True)
    ]
    vocabulary = pd.DataFrame({"token": list(ids), "token_id": list(ids.values()), "count": 1})
    tables.write(pd.DataFrame(rows, columns=TOKENS.schema.names), TOKENS, folder / "tokens.parquet")
    tables.write(vocabulary, VOCABULARY, folder / "vocabulary.parquet")
    sample = Sample(store.block_ids, np.arange(len(rows)), shown)
    return token_blocks.with_tokens(store, sample, folder / "tokens.parquet", folder / "vocabulary.parquet")


def test_stored_in_another_order_a_block_is_the_same(
    both: tuple[Stored, Stored, list[np.ndarray], list[np.ndarray]],
) -> None:
    emitted, reordered_blocks, shown, shown_other = both
    assert emitted[2] == reordered_blocks[2]  # the encodings' rows
    assert_same_bytes(encoded(tabulate(emitted[2])), encoded(tabulate(reordered_blocks[2])))
    moved = sum(not np.array_equal(a, b) for a, b in zip(shown, shown_other, strict=True))
    assert moved > 100, "most blocks are stored in another order"
    for first, second in zip(arrays(emitted[0], shown), arrays(reordered_blocks[0], shown_other), strict=True):
        assert first.following is not None and (first.following >= 0).any()
        assert_same_bytes(first, second)


def test_so_it_is_for_who_reads_tokens(
    both: tuple[Stored, Stored, list[np.ndarray], list[np.ndarray]], tmp_path: Path
) -> None:
    emitted, reordered_blocks, shown, shown_other = both
    (tmp_path / "other").mkdir()
    store, trie = with_tokens(tmp_path, emitted, shown)
    store_other, trie_other = with_tokens(tmp_path / "other", reordered_blocks, shown_other)
    assert_same_bytes(trie, trie_other)
    for first, second in zip(arrays(store, shown), arrays(store_other, shown_other), strict=True):
        assert_same_bytes(first, second)


Kind = Callable[[Path, Stored, list[np.ndarray]], BlockStore]
KINDS: dict[str, Kind] = {
    "encodings": lambda folder, parts, shown: parts[0],
    "tokens": lambda folder, parts, shown: with_tokens(folder, parts, shown)[0],
}


@pytest.mark.parametrize("kind", KINDS)
def test_sorting_by_numbers_is_no_better_than_chance(
    both: tuple[Stored, Stored, list[np.ndarray], list[np.ndarray]], tmp_path: Path, kind: str
) -> None:
    """An innocent tie-break must not give the label away."""
    emitted, _, shown, _ = both
    store, exact = KINDS[kind](tmp_path, emitted, shown), []
    for problems, rows in zip(arrays(store, shown), np.unique(store.lengths), strict=True):
        if 5 <= rows <= 12:
            order = np.argsort(problems.instructions, axis=1, kind="stable")
            shown_here = np.stack([shown[row] for row in np.flatnonzero(store.lengths == rows)])
            exact.append((np.take_along_axis(shown_here, order, 1) == np.arange(rows)).all(1))
    assert np.concatenate(exact).mean() < 0.1
