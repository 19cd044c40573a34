"""Which proposals are kept, for one operation with two children, and two devices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learned_schedulers.graphs.devices.targets import Target, latency, proxy
from learned_schedulers.graphs.methods import Proposals
from learned_schedulers.graphs.methods.rules.keeping import keep
from learned_schedulers.graphs.problems.problem import Edges, Problem

FORK = Problem(
    np.array([1.0, 2.0, 2.0]), np.ones(3), Edges(np.array([0, 2, 2, 2], np.int32), np.array([1, 2], np.int32)), 2
)
PLACEMENTS = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]], np.int32)
PROPOSALS = Proposals(np.tile(np.arange(3, dtype=np.int32), (4, 1)), PLACEMENTS)


def test_the_best_by_proxy_are_judged_once_each_and_the_best_on_the_target_is_the_answer() -> None:
    """Two devices take 3 s on the proxy; a delay of 3 s makes one device, with its 5 s, the best on the target."""
    slow = latency(FORK, 3.0 / FORK.seconds.mean())
    schedules = keep(PROPOSALS, proxy(FORK), slow)
    assert schedules.placements.tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]  # the second of equals is left out
    assert schedules.visible_seconds.tolist() == [3.0, 3.0, 5.0] and schedules.judged_seconds.tolist() == [
        6.0,
        6.0,
        5.0,
    ]
    assert schedules.best == 2
    assert keep(PROPOSALS, proxy(FORK), slow, 2).best == 0  # what the proxy does not rank high is never judged
    assert keep(PROPOSALS, slow, slow, 2).placements[0].tolist() == [0, 0, 0]  # unless the method sees the target


def test_what_does_not_fit_the_memory_is_left_out() -> None:
    tight = replace(FORK, weight_bytes=np.array([1.0, 5.0, 5.0]), memory=9.0)
    schedules = keep(PROPOSALS, proxy(tight), Target((tight,)))
    assert schedules.placements.tolist() == [[0, 0, 1], [0, 1, 0]]
    assert len(keep(PROPOSALS, proxy(tight), Target((replace(tight, memory=1.0),))).orders) == 0


def test_by_the_other_rule_few_devices_are_among_those_that_are_judged() -> None:
    """Of two that are kept, one is the best that uses one device and one the best that uses two."""
    slow = latency(FORK, 3.0 / FORK.seconds.mean())
    schedules = keep(PROPOSALS, proxy(FORK), slow, 2, "spread")
    assert schedules.placements.tolist() == [[0, 0, 1], [0, 0, 0]] and schedules.visible_seconds.tolist() == [3.0, 5.0]
    assert schedules.judged_seconds[schedules.best] == 5.0
    all_schedules = keep(PROPOSALS, proxy(FORK), slow, 100, "spread")
    assert sorted(all_schedules.judged_seconds) == sorted(keep(PROPOSALS, proxy(FORK), slow, 100).judged_seconds)
    alone = Proposals(PROPOSALS.orders[1:], PLACEMENTS[1:])  # none uses one device: the others take its share
    assert len(keep(alone, proxy(FORK), slow, 2, "spread").orders) == 2
