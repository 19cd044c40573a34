"""Blocks of all lengths in flat arrays, against the DAGs that they came from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from learned_schedulers.blocks.dag.counting import count_orders
from learned_schedulers.blocks.problems.batches import by_length
from tests.blocks.models import imitated

STORE, ENCODINGS, SAMPLE = imitated.corpus(100)


def test_a_block_is_shown_in_any_order_with_all_that_is_known_of_it() -> None:
    for items in by_length(STORE.lengths, 64):
        orders = np.stack([SAMPLE.orders[item] for item in items])
        emitted, shown = STORE.as_emitted(items), STORE.problems(items, orders)
        rows = np.arange(len(items))[:, None]
        pairs = rows[:, :, None], orders[:, :, None], orders[:, None, :]
        np.testing.assert_array_equal(shown.precedes, emitted.precedes[pairs])
        np.testing.assert_array_equal(shown.conflicts, emitted.conflicts[pairs])
        np.testing.assert_array_equal(shown.instructions, emitted.instructions[rows, orders])
        np.testing.assert_array_equal(shown.latencies, emitted.latencies[rows, orders])
        assert not np.tril(shown.precedes.any(0)).any()  # the orders are legal
        assert (shown.conflicts[shown.precedes] > 0).all()


def test_what_has_a_choice_has_several_legal_orders() -> None:
    edges = STORE.reduced
    counts, _ = count_orders(edges.bounds, edges.before, edges.after, STORE.lengths)
    np.testing.assert_array_equal(STORE.has_choice(SAMPLE.rows), np.asarray(counts) > 1)
    assert 0 < STORE.has_choice(SAMPLE.rows).sum() < len(SAMPLE.rows)


def test_instructions_of_blocks_stand_one_block_after_the_other() -> None:
    rows = np.array([7, 3, 7])
    parts = [STORE.instructions[STORE.first[row] : STORE.first[row + 1]] for row in rows]
    np.testing.assert_array_equal(STORE.instructions_of(rows), np.concatenate(parts))


def test_an_unknown_block_is_named() -> None:
    with pytest.raises(ValueError, match="block nowhere is in no DAG"):
        STORE.rows(pa.array(["nowhere"]))
