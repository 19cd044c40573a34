"""Blocks on processors: every instruction with its costs there, every block with the order to learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.models import ordering_training as imitation
from learned_schedulers.blocks.problems.processors import on_processor, with_costs, with_targets
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.renaming import RegisterWords
from tests.blocks.models import imitated

STORE, ENCODINGS, SAMPLE = imitated.corpus(40, shortest=2, longest=6)
U = len(ENCODINGS.compared)


def processor(latency: int, unknown: int | None = None, retire_width: int = 0) -> Processor:
    """Instruction u takes latency + u cycles; odd ones occupy unit 1, even ones any one of units 0 and 1."""
    odd = np.arange(U) % 2
    return Processor(
        issue_width=2,
        retire_width=retire_width,
        pools=np.zeros(0, np.int32),
        buffers=np.zeros(0, np.int32),
        groups=np.array([0b11]),
        is_supported=np.arange(U) != unknown,
        micro_ops=np.ones(U, np.int32),
        latencies=(latency + np.arange(U)).astype(np.int32),
        unit_cycles=np.stack([np.zeros(U), 3 * odd], 1).astype(np.int32),
        choices=np.where(odd, -1, 0).astype(np.int32)[:, None],
        choice_cycles=(1 - odd).astype(np.int32)[:, None],
        registers=RegisterWords(*np.zeros((4, U, 3), np.uint64)),
        read_advance=np.zeros(U, np.int32),
        memory=np.zeros(U, np.int8),
        pool_entries=np.zeros((U, 0), np.int32),
        buffer_entries=np.zeros((U, 0), np.int32),
    )


def cost_words(latency: int, row: int) -> list[str]:
    return ["width:2", "retire:0", f"latency:{latency + row}", "micro_ops:1", "unit:1*3" if row % 2 else "either:11*1"]


def words(encodings, row: int) -> list[str]:  # type: ignore[no-untyped-def]
    return [encodings.tokens[token] for token in encodings.bags[encodings.bounds[row] : encodings.bounds[row + 1]]]


def reversed_orders(keep: slice) -> pd.Series:
    """Of blocks of SAMPLE: the order in which they are shown, backwards."""
    ids = SAMPLE.block_ids.to_pylist()
    return pd.Series({ids[item]: SAMPLE.orders[item][::-1] for item in range(len(ids))[keep]})


def test_costs_are_tokens_and_an_unknown_instruction_has_none() -> None:
    costed = with_costs(ENCODINGS, [processor(5, unknown=2), processor(50)])
    assert len(costed.compared) == 2 * U
    for row in range(U):
        assert words(costed, row) == [*words(ENCODINGS, row), *([] if row == 2 else cost_words(5, row))]
        assert words(costed, U + row) == [*words(ENCODINGS, row), *cost_words(50, row)]
    np.testing.assert_array_equal(costed.compared[:U], ENCODINGS.compared)


def test_several_groups_and_late_reads_are_tokens() -> None:
    chip = replace(
        processor(5, retire_width=4),
        groups=np.array([0b11, 0b110]),
        choices=np.tile(np.array([0, 1], np.int32), (U, 1)),
        choice_cycles=np.tile(np.array([1, 7], np.int32), (U, 1)),
        read_advance=np.full(U, 3, np.int32),
    )
    added = words(with_costs(ENCODINGS, [chip]), 0)[len(words(ENCODINGS, 0)) :]
    assert added == ["width:2", "retire:4", "latency:5", "micro_ops:1", "advance:3", "either:11*1", "either:110*7"]


def test_blocks_stand_there_once_for_every_processor_with_its_costs() -> None:
    processors = [processor(5), processor(50)]
    first, second = slice(0, 30), slice(20, 40)
    store, encodings, (sample,) = with_targets(
        STORE, ENCODINGS, processors, [SAMPLE], [[reversed_orders(first), reversed_orders(second)]]
    )
    items = [*range(30), *range(20, 40)]
    assert sample.block_ids.to_pylist() == [SAMPLE.block_ids[item].as_py() for item in items]
    assert sample.targets is not None
    for row, item in enumerate(items):
        np.testing.assert_array_equal(sample.orders[row], SAMPLE.orders[item])
        np.testing.assert_array_equal(sample.targets[row], SAMPLE.orders[item][::-1])
        latency = 5 if row < 30 else 50
        latencies = latency + np.arange(U)
        was = STORE.problems(SAMPLE.rows[item : item + 1], SAMPLE.orders[item][None])
        is_now = store.problems(sample.rows[row : row + 1], sample.orders[row][None])
        np.testing.assert_array_equal(is_now.precedes, was.precedes)
        np.testing.assert_array_equal(is_now.conflicts, was.conflicts)
        np.testing.assert_array_equal(is_now.latencies, latencies[was.instructions])
        np.testing.assert_array_equal(is_now.latencies, on_processor(was, latencies).latencies)
        for old, new in zip(was.instructions[0], is_now.instructions[0], strict=True):
            assert words(encodings, new) == [*words(ENCODINGS, old), *cost_words(latency, old)]


@pytest.mark.slow
@pytest.mark.parametrize("latency", [5, 50])
def test_a_network_learns_an_order_for_each_processor(latency: int) -> None:
    """On one processor the order of the made-up compiler, on the other the best one the other way round."""
    store, encodings, sample = imitated.corpus(120, shortest=3, longest=6)
    ids = sample.block_ids.to_pylist()
    forwards = pd.Series({block: np.arange(len(order)) for block, order in zip(ids, sample.orders, strict=True)})
    backwards = pd.Series(
        {
            block: last_first(store.as_emitted(np.array([row])).precedes[0])
            for block, row in zip(ids, sample.rows, strict=True)
        }
    )
    tables = [processor(5), processor(50)]
    costed_store, costed_encodings, (costed_sample,) = with_targets(
        store, encodings, tables, [sample], [[forwards, backwards]]
    )
    network, _ = imitation.train(
        costed_store,
        costed_encodings,
        costed_sample,
        costed_sample,
        imitated.settings().model_copy(update={"steps": 120}),
        0,
    )
    part = slice(0, len(ids)) if latency == 5 else slice(len(ids), None)
    assert costed_sample.targets is not None
    measured = Sample(
        costed_sample.block_ids[part], costed_sample.rows[part], costed_sample.orders[part], costed_sample.targets[part]
    )
    assert imitation.measure(network, costed_store, costed_encodings, measured)["exact_match"] > 0.9


def last_first(precedes: np.ndarray) -> np.ndarray:
    """Of the ready instructions always the last one that GCC emitted."""
    waiting, order = precedes.sum(0), []
    while len(order) < len(waiting):
        chosen = int(np.flatnonzero(waiting == 0)[-1])
        order.append(chosen)
        waiting = waiting - precedes[chosen]
        waiting[chosen] = -1
    return np.array(order, np.int16)
