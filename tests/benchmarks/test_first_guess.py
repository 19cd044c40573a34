"""Equal calls: every method asks for legal orders alone, as often as it may, and its best order gets no worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.first_guess import equal_calls
from benchmarks.first_guess.blocks import Batch
from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.processors import model
from tests.blocks.methods.machines import machine
from tests.blocks.models import imitated

pytestmark = pytest.mark.slow


class Judge:
    """Blocks whose orders the small out-of-order processor judges; it keeps a count of what it was asked."""

    def __init__(self) -> None:
        self.chip = machine(in_order=False)
        store, _, sample = imitated.corpus(12, shortest=8, longest=8)
        rows = sample.rows[store.has_choice(sample.rows)]
        self.emitted = store.as_emitted(rows)
        shown = np.stack([np.arange(8, dtype=np.int16)] * len(rows))
        self.batches = [Batch(store.problems(rows, shown), np.arange(len(rows)), shown)]
        self.texts = [[""] * 8] * len(rows)
        self.timed = model.costs(self.chip, self.emitted.instructions)
        self.n_calls = 0

    def cycles(self, orders: list[np.ndarray], binary: str, threads: int) -> np.ndarray:
        order = np.stack(orders)
        assert count_violations(self.emitted.precedes, order).sum() == 0
        self.n_calls += 1
        return model.makespans(self.timed, order[:, None])[:, 0].astype(float)


@pytest.mark.parametrize("method", ["learned", "search", "random"])
def test_methods_ask_for_legal_orders_alone(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_calls, "binary", lambda: "")
    judge: Any = Judge()
    best = equal_calls._best_so_far(judge, method, 0)
    assert judge.n_calls == equal_calls.CALLS[-1]
    assert best.shape == (len(equal_calls.CALLS), len(judge.texts))
    assert (np.diff(best, axis=0) <= 0).all()
    assert (best[-1] < best[0]).any()
