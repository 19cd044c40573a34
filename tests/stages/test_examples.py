from __future__ import annotations

import numpy as np

from pipeline.reproduction.stages.examples import pick


def test_one_of_each_kind_in_turn_and_no_block_twice() -> None:
    exact = {"sinkhorn": np.array([1, 1, 0, 0, 0], bool), "popocs_20": np.array([1, 1, 0, 0, 0], bool)}
    valid = {"sinkhorn": np.array([1, 1, 0, 0, 1], bool), "popocs_20": np.array([1, 1, 1, 0, 1], bool)}
    loose = np.ones(5, bool)
    assert pick(exact, valid, loose, 3) == [0, 2, 3]
    assert pick(exact, valid, loose, 4) == [0, 2, 3, 1]
    assert sorted(pick(exact, valid, loose, 9)) == [0, 1, 2, 3, 4]


def test_blocks_with_one_legal_order_show_nothing() -> None:
    nothing = {"sinkhorn": np.zeros(2, bool), "popocs_20": np.zeros(2, bool)}
    assert pick(nothing, nothing, np.zeros(2, bool), 3) == []
