"""What the network sees of each candidate for the next step of an active schedule.

No number depends on the unit of time, nor grows with the number of jobs or machines, so that a network which was
trained on small job-shops can be used on large ones. Short times are in mean durations, long ones in the time from now
to the lower bound of the makespan.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.projects.models.active import Shop, State, ready
from learned_schedulers.projects.models.jackson import preemptive_bound

FEATURES = 33
_FAR = 10.0  # mean durations: what is further away counts as this far


@njit(cache=True)
def describe(
    shop: Shop, state: State, candidates: np.ndarray, earliest_end: float, makespan: float, numbers: np.ndarray
) -> None:
    """Writes the numbers of k candidates into `numbers`, (k, FEATURES).

    candidates: (k,) jobs; earliest_end: of `conflict`; makespan: of the schedule so far.
    """
    jobs, steps = shop.machines.shape
    k, machine = len(candidates), shop.machines[candidates[0], state.steps[candidates[0]]]
    unit = shop.before[:, steps].sum() / (jobs * steps)
    unit = unit if unit > 0 else 1.0
    left = np.zeros(jobs)  # work of each job from its next step on
    active, bound = 0, makespan
    for j in range(jobs):
        if state.steps[j] < steps:
            left[j] = shop.before[j, steps] - shop.before[j, state.steps[j]]
            active += 1
            bound = max(bound, ready(shop, state, j) + left[j])
    ends = state.machines + state.loads  # of each machine, without any idle time
    for m in range(steps):
        if state.loads[m] > 0:
            bound = max(bound, ends[m])
    bottleneck = _bottleneck(state, ends, machine)
    starts = np.empty(k)
    for c in range(k):
        starts[c] = ready(shop, state, candidates[c])
    now = starts.min()
    horizon = max(bound - now, unit)
    bounds, waiting = _bounds_if_first(shop, state, candidates, starts, machine)
    for c in range(k):
        j, x = candidates[c], numbers[c]
        step = state.steps[j]
        duration, start = shop.durations[j, step], starts[c]
        end, tail = start + duration, left[j] - duration
        # The candidate and its job.
        x[0] = (start - now) / unit
        x[1] = duration / unit
        x[2] = (earliest_end - start) / unit
        x[3] = tail / horizon
        x[4] = (end + tail - bound) / horizon
        x[5] = (steps - 1 - step) / steps
        x[6] = (left[j] - left.sum() / active) / horizon
        # The job's next machines.
        x[7:13] = 0.0
        if step + 1 < steps:
            following = shop.machines[j, step + 1]
            x[7] = 1.0
            x[8] = min(max((state.machines[following] - end) / unit, -_FAR), _FAR)
            x[9] = (ends[following] - bound) / horizon
            x[10] = shop.durations[j, step + 1] / unit
            x[11] = state.loads[following] / horizon
        if step + 2 < steps:
            x[12] = (ends[shop.machines[j, step + 2]] - bound) / horizon
        weighted = 0.0
        for later in range(step + 1, steps):
            weighted += shop.durations[j, later] * (ends[shop.machines[j, later]] / max(bound, unit)) ** 4
        x[13] = weighted / horizon
        x[14:17] = 0.0
        if bottleneck >= 0 and shop.visits[j, bottleneck] > step:
            between = shop.before[j, shop.visits[j, bottleneck]] - shop.before[j, step + 1]
            x[14] = 1.0
            x[15] = between / horizon
            x[16] = min(max((end + between - state.machines[bottleneck]) / unit, -_FAR), _FAR)
        # What the choice does to the others.
        x[17] = (max(bound, bounds[c]) - bound) / horizon
        x[18] = (bounds[c] - bounds.min()) / unit
        latest, delay = 0.0, 0.0
        longer_tails = shorter = sooner = 0
        for d in range(k):
            if d != c:
                other = candidates[d]
                delayed = max(starts[d], end)
                latest = max(latest, delayed + left[other])
                delay += delayed - starts[d]
                its_duration = shop.durations[other, state.steps[other]]
                longer_tails += left[other] - its_duration > tail
                shorter += its_duration < duration
                sooner += starts[d] < start
        x[19] = (latest - bound) / horizon
        x[20] = delay / (k * unit)
        x[21] = longer_tails / max(k - 1, 1)
        x[22] = shorter / max(k - 1, 1)
        x[23] = sooner / max(k - 1, 1)
        x[24] = (left > left[j]).sum() / active
        # The state.
        x[25] = k / active
        x[26] = (ends[machine] - bound) / horizon
        x[27] = state.loads[machine] / horizon
        x[28] = state.steps.sum() / (jobs * steps)
        x[29] = min(jobs / steps, 6.0) / 4
        x[30] = unit / horizon
        x[31] = waiting / jobs
        x[32] = min((now - state.machines[machine]) / unit, _FAR)


@njit(cache=True)
def _bottleneck(state: State, ends: np.ndarray, machine: int) -> int:
    """The other machine that ends last if it never idles; -1 if none has work left."""
    last = -1
    for m in range(len(ends)):
        if m != machine and state.loads[m] > 0 and (last < 0 or ends[m] > ends[last]):
            last = m
    return last


@njit(cache=True)
def _bounds_if_first(
    shop: Shop, state: State, candidates: np.ndarray, starts: np.ndarray, machine: int
) -> tuple[np.ndarray, int]:
    """(k,) a lower bound of the makespan if a candidate runs next on the machine; the operations that it has left."""
    jobs, steps = shop.machines.shape
    k = len(candidates)
    waiting = np.empty(jobs, np.int64)  # jobs that still visit the machine
    heads, durations, tails = np.empty(jobs), np.empty(jobs), np.empty(jobs)
    r = 0
    for j in range(jobs):
        visit, step = shop.visits[j, machine], state.steps[j]
        if step <= visit:
            arrival = ready(shop, state, j) + shop.before[j, visit] - shop.before[j, step]
            waiting[r] = j
            heads[r] = max(arrival, state.machines[machine])
            durations[r] = shop.durations[j, visit]
            tails[r] = shop.before[j, steps] - shop.before[j, visit + 1]
            r += 1
    by_head = np.argsort(heads[:r], kind="mergesort")
    bounds = np.empty(k)
    for c in range(k):
        first = np.searchsorted(waiting[:r], candidates[c])
        end = starts[c] + durations[first]
        # The others start at its end; it has run by then, and takes no more time.
        kept_duration, durations[first] = durations[first], 0.0
        bounds[c] = preemptive_bound(np.maximum(heads[:r], end), durations[:r], tails[:r], by_head)
        durations[first] = kept_duration
    return bounds, r
