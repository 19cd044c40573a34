"""Blocks on processors: every instruction with its costs there, every block with the order that is to be learned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.models import imitation
from pipeline.models.processors import cost_tokens, on_processor, taught, with_tokens
from pipeline.models.sample import Sample
from tests.models import imitated

STORE, ENCODINGS, SAMPLE = imitated.corpus(40, shortest=2, longest=6)
U = len(ENCODINGS.compared)


def processor(latency: int, unknown: int | None = None) -> pd.DataFrame:
    """Instruction u takes latency + u cycles."""
    table = pd.DataFrame(
        {
            "issue_width": 2,
            "latency": latency + np.arange(U),
            "micro_ops": 1,
            "units": [[0] if u % 2 else [] for u in range(U)],
            "unit_cycles": [[3] if u % 2 else [] for u in range(U)],
            "choice": [[] if u % 2 else [0, 1] for u in range(U)],
            "choice_cycles": [0 if u % 2 else 1 for u in range(U)],
            "status": "ok",
        }
    )
    table.loc[table.index == unknown, "status"] = "unsupported"
    return table


def words(encodings, row: int) -> list[str]:  # type: ignore[no-untyped-def]
    return [encodings.tokens[token] for token in encodings.bags[encodings.bounds[row] : encodings.bounds[row + 1]]]


def reversed_orders(keep: slice) -> pd.Series:
    """Of blocks of SAMPLE: the order in which they are shown, backwards."""
    ids = SAMPLE.block_ids.to_pylist()
    return pd.Series({ids[item]: SAMPLE.orders[item][::-1] for item in range(len(ids))[keep]})


def test_costs_are_tokens_and_an_unknown_instruction_has_none() -> None:
    found = cost_tokens(processor(5, unknown=2))
    assert found[0] == ("width:2", "latency:5", "micro_ops:1", "either:0,1*1")
    assert found[1] == ("width:2", "latency:6", "micro_ops:1", "unit:0*3")
    assert found[2] == ()


def test_tokens_are_added_to_those_of_the_instruction() -> None:
    added = [(f"new:{u % 3}",) * (u % 2) for u in range(U)]
    found = with_tokens(ENCODINGS, added)
    for row in range(U):
        assert words(found, row) == [*words(ENCODINGS, row), *added[row]]
    np.testing.assert_array_equal(found.compared, ENCODINGS.compared)


def test_blocks_stand_there_once_for_every_processor_with_its_costs() -> None:
    processors = [processor(5), processor(50)]
    first, second = slice(0, 30), slice(20, 40)
    store, encodings, (sample,) = taught(
        STORE, ENCODINGS, processors, [SAMPLE], [[reversed_orders(first), reversed_orders(second)]]
    )
    items = [*range(30), *range(20, 40)]
    assert sample.block_ids.to_pylist() == [SAMPLE.block_ids[item].as_py() for item in items]
    assert sample.targets is not None
    for row, item in enumerate(items):
        np.testing.assert_array_equal(sample.orders[row], SAMPLE.orders[item])
        np.testing.assert_array_equal(sample.targets[row], SAMPLE.orders[item][::-1])
        costs = processors[0 if row < 30 else 1]
        was = STORE.problems(SAMPLE.rows[item : item + 1], SAMPLE.orders[item][None])
        is_now = store.problems(sample.rows[row : row + 1], sample.orders[row][None])
        np.testing.assert_array_equal(is_now.precedes, was.precedes)
        np.testing.assert_array_equal(is_now.conflicts, was.conflicts)
        np.testing.assert_array_equal(is_now.latencies, costs.latency.to_numpy()[was.instructions])
        np.testing.assert_array_equal(is_now.latencies, on_processor(was, costs.latency.to_numpy()).latencies)
        for old, new in zip(was.instructions[0], is_now.instructions[0], strict=True):
            assert words(encodings, new) == [*words(ENCODINGS, old), *cost_tokens(costs)[old]]


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
    held, known, (both,) = taught(store, encodings, tables, [sample], [[forwards, backwards]])
    network, _ = imitation.train(held, known, both, both, imitated.settings().model_copy(update={"steps": 120}), 0)
    part = slice(0, len(ids)) if latency == 5 else slice(len(ids), None)
    assert both.targets is not None
    own = Sample(both.block_ids[part], both.rows[part], both.orders[part], both.targets[part])
    assert imitation.measure(network, held, known, own)["exact_match"] > 0.9


def last_first(precedes: np.ndarray) -> np.ndarray:
    """Of the ready instructions always the last one that GCC emitted."""
    waiting, order = precedes.sum(0), []
    while len(order) < len(waiting):
        chosen = int(np.flatnonzero(waiting == 0)[-1])
        order.append(chosen)
        waiting = waiting - precedes[chosen]
        waiting[chosen] = -1
    return np.array(order, np.int16)
