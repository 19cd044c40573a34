"""Is SAGA's HEFT ours? Where their schedules differ, the cause is looked for in three steps.

Both get the same instance, whose times are whole steps: sums are exact, and a difference is none of rounding.

1. As they are. SAGA's upward rank adds the mean of a transfer over all links, a device's link to itself included, which
   takes no time: (m - 1) / (m + 1) of a transfer between two of m devices. Topcuoglu, Hariri & Wu 2002 (section 2)
   average over the rates between processors, and so do we: a whole transfer.
2. Ours with SAGA's mean in the ranks. What still differs are ties: of equal ranks we take the lowest number first, SAGA
   the first in the topological order of networkx.
3. Ours in SAGA's sequence, which must be one of falling ranks by our own computation; equal ranks may be in any
   sequence. A schedule that still differs is not explained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from saga.schedulers.heft import HeftScheduler, heft_rank_sort
from saga_methods import network_of, number, order_and_placement, scheduled, steps_in_a_second, task_graph_of

from learned_schedulers.graphs.devices.completion import Completion, Decisions, Lead, earliest_finish
from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.methods.rules.ordering import by_times
from learned_schedulers.graphs.problems.problem import Problem, Transfers

_EQUAL = 1e-12  # ranks that differ by less, relative to the largest, are equal: SAGA's means are rounded


@dataclass(frozen=True)
class Comparison:
    """Makespans of one instance, in steps."""

    saga: float  # of SAGA's schedule, simulated
    claimed: float  # as SAGA says
    ours: float
    with_its_mean: float  # ours, with SAGA's mean transfer in the ranks
    in_its_sequence: float  # ours, in SAGA's sequence
    same_schedule: bool  # ours in SAGA's sequence has SAGA's placement and times
    falling: bool  # SAGA's sequence is one of falling ranks, by our computation with SAGA's mean

    @property
    def explained(self) -> bool:
        """Whether nothing differs but the mean transfer and ties."""
        return self.same_schedule and self.falling and self.in_its_sequence == self.saga == self.claimed


def in_whole_steps(problem: Problem) -> Problem:
    """The same with whole times and no limit of memory; a transfer takes as many steps as its size says."""
    steps = steps_in_a_second(problem)
    times, transfers = np.rint(problem.seconds * steps), np.rint(problem.delays * steps)
    return replace(
        problem, seconds=times, sizes=transfers, transfers=Transfers(slope=1.0), weight_bytes=None, memory=np.inf
    )


def compare(problem: Problem) -> Comparison:
    """SAGA's HEFT and ours on one problem of at least one operation."""
    whole = in_whole_steps(problem)
    n = len(whole)
    schedule = scheduled(HeftScheduler(), whole)
    order, placement = order_and_placement(whole, schedule)
    saga = evaluated(whole, order[None], placement[None])
    our_placement, starts = earliest_finish(whole)
    ours = evaluated(whole, by_times(starts, starts + whole.seconds)[None], our_placement[None])
    urgency = with_mean_of_saga(whole)
    with_its_mean = Completion(whole, Lead(urgency, np.zeros(n)))(Decisions.open(n))
    sequence = np.array([number(name) for name in heft_rank_sort(network_of(whole), task_graph_of(whole))])
    positions = np.empty(n)
    positions[sequence] = np.arange(n)
    in_its_sequence = Completion(whole, Lead(1 - positions / n, np.zeros(n)))(Decisions.open(n))
    return Comparison(
        saga=float(saga.seconds[0]),
        claimed=float(schedule.makespan),
        ours=float(ours.seconds[0]),
        with_its_mean=float(with_its_mean.seconds[0]),
        in_its_sequence=float(in_its_sequence.seconds[0]),
        same_schedule=bool(
            (in_its_sequence.placements[0] == placement).all() and (in_its_sequence.ends[0] == saga.ends[0]).all()
        ),
        falling=bool((np.diff(urgency[sequence]) <= _EQUAL).all()),
    )


def with_mean_of_saga(problem: Problem) -> np.ndarray:
    """(n,) upward ranks over the largest, with the mean of a transfer over all links, a device's own included."""
    m = problem.devices
    slope = problem.transfers.slope * (m - 1) / (m + 1)
    delay = problem.transfers.delay * (m - 1) / (m + 1)
    return Lead.of(replace(problem, transfers=Transfers(slope, delay))).urgency
