"""Models compared with llvm-mca: what is drawn, and what agreement means."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.machine_agreement import agreement, cases
from benchmarks.machine_agreement.agreement import Cycles
from pipeline.lab.config.evaluation import Evaluation

SETTINGS = Evaluation(bootstrap_samples=100, confidence=0.95, sweep_iterations=[0], example_blocks=1)


def test_random_sequences_are_of_known_instructions_and_all_forms() -> None:
    forms, is_known = np.array([7] * 96 + [8, 9, 9, 9]), np.arange(100) < 98
    drawn = cases.at_random(forms, is_known, 200, (4, 6), 3, seed=0)
    assert [part.instructions.shape[1] for part in drawn] == [4, 5, 6]
    assert sum(len(part.instructions) for part in drawn) == 200
    used = np.concatenate([part.instructions.ravel() for part in drawn])
    assert is_known[used].all() and 0.25 < np.mean(forms[used] == 8) < 0.42  # one of three forms
    for part in drawn:
        assert (np.sort(part.orders, 2) == np.arange(part.orders.shape[2])).all()
        assert (part.shown[0, 1] == part.instructions[0, part.orders[0, 1]]).all()
    again = cases.at_random(forms, is_known, 200, (4, 6), 3, seed=0)
    assert all((first.shown == second.shown).all() for first, second in zip(drawn, again, strict=True))


def test_agreement_by_hand() -> None:
    modelled = np.array([[5, 6, 7], [5, 5, 5], [9, 9, 8], [4, 4, 4]])
    reference = np.array([[5, 6, 7], [5, 5, 7], [8, 9, 9], [4, 4, 4]])
    rows = agreement.rows({"target": "atom"}, [Cycles(modelled, reference, 0.5, 4.0)], SETTINGS)
    value = {(row["metric"], row["judge"]): row["value"] for row in rows}
    assert value.pop(("orders_per_second", "model")) == 24 and value.pop(("orders_per_second", "llvm_mca")) == 3
    assert {metric: number for (metric, _), number in value.items()} == {
        "equal_cycles_share": pytest.approx(9 / 12),
        "equal_blocks_share": 0.5,
        "absolute_cycles_difference": pytest.approx((2 + 2) / 12),
        "largest_cycles_difference": 2,
        "rank_correlation": pytest.approx((1 + 0 - 0.5) / 3),  # the last block has no spread, the second one no model's
        "kendall_correlation": pytest.approx((1 + 0 - 0.5) / 3),
        "best_order_share": pytest.approx(2 / 3),
        "orders": 12,
    }
    [equal] = [row for row in rows if row["metric"] == "equal_blocks_share"]
    assert (equal["n"], equal["unit"]) == (4, "share") and 0.1 < equal["low"] < 0.2 and 0.8 < equal["high"] < 0.9
