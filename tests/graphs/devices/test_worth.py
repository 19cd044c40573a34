"""Which problems count, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learned_schedulers.graphs.devices import worth
from learned_schedulers.graphs.problems.problem import Edges, Problem

CHAIN = Problem(
    np.array([1.0, 1.0, 1.0]), np.ones(3), Edges(np.array([0, 1, 2, 2], np.int32), np.array([1, 2], np.int32)), 2
)
SPREAD = replace(CHAIN, children=Edges(np.zeros(4, np.int32), np.zeros(0, np.int32)))  # 3 s against max(1, 1.5)


def test_there_is_something_to_win_where_one_device_is_far_from_the_bound() -> None:
    assert worth.headroom(CHAIN) == 1.0 and worth.refusal_of(CHAIN) == worth.NOTHING_TO_WIN
    assert worth.headroom(SPREAD) == 2.0 and worth.refusal_of(SPREAD) == ""


def test_or_where_one_device_has_not_the_memory() -> None:
    """The chain holds two results at a time."""
    heavy = replace(CHAIN, weight_bytes=np.full(3, 2.0))
    assert worth.fits_one_device(replace(heavy, memory=8.0)) and not worth.fits_one_device(replace(heavy, memory=7.9))
    assert worth.refusal_of(replace(heavy, memory=7.9)) == ""
    assert worth.refusal_of(replace(heavy, memory=2.9)) == worth.TOO_LARGE
