"""A transparent model of an out-of-order processor: in which cycle each instruction of an order dispatches and issues.

It follows llvm-mca 19's default pipeline (`DispatchStage`, `Scheduler`, `ResourceManager`, `LSUnit`, `RegisterFile`,
`RetireControlUnit`) for a single pass. In every cycle, in this order:

- Retirement, in order: what was executed in an earlier cycle leaves, at most `retire_width` instructions, and gives
  back what it kept since dispatch: entries of the reorder buffer, and registers of the files.
- Issue, one after the other: of the instructions that were dispatched earlier, whose operands are there and whose
  units are free, the one of lowest rank: its place less the number of reads that wait for its results by now. Its
  entries in the schedulers' buffers are free again. A store waits until every load and store before it has issued
  (llvm-mca takes loads and stores as never overlapping unless told otherwise; a load waits for nothing).
- Dispatch, in order: at most `issue_width` micro-ops; an instruction with more starts in a fresh cycle and fills the
  following ones. It waits until all that it keeps or queues for is free. It depends on the last writer of each
  register that it reads (registers are renamed). What has no latency and holds no unit is executed at once.

Operands come with the result of a writer, less the `advance` of the read. The units of groups are chosen by round
robin (`units`). The makespan counts cycles up to the last retirement, that cycle included.

Deviations (benchmarks/machine_agreement.py measures what they cost): every result comes after the full latency of its
instruction; fences hold nothing back; groups that are reserved as a whole, buffers of size 0 and 1 and load and store
queues (none of the models read has one shorter than 64) do not occur.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.latency.units import choose, highest, took

LONGEST = 64  # instructions of a block: sets of them are bit sets
LOAD, STORE = 1, 2
# Rows of the working memory; 0 to 6 are those named in `cycles`.
_READY, _EARLY, _LATE, _USERS, _LAST = 7, 8, 9, 10, 11  # by slot; _LAST by register, numbered within the block
_ROWS = 12
REGISTERS = 127  # of a block, at most, numbered in int8


class Costs(NamedTuple):
    """What B blocks of n instructions ask of a processor with R units, P pools and Q buffers."""

    micro_ops: np.ndarray  # (B, n) int32
    latencies: np.ndarray  # (B, n) int32 cycles from issue to write-back
    held: np.ndarray  # (B, n, R) int32 cycles for which each unit is held
    choices: np.ndarray  # (B, n, C) int32: groups of units of which any one is held besides; -1: no more
    choice_cycles: np.ndarray  # (B, n, C) int32
    held_units: np.ndarray  # (B, n) int64 bit set of those units
    at_once: np.ndarray  # (B, n) bool: no latency and no unit
    sources: np.ndarray  # (B, n, S) int8: what it reads, numbered within the block; -1: no more
    is_late: np.ndarray  # (B, n, S) bool: it reads it `advances` cycles after its issue
    counts: np.ndarray  # (B, n, S) int8: by how many of its operands
    targets: np.ndarray  # (B, n, T) int8: what it writes; -1: no more
    advances: np.ndarray  # (B, n) int32 cycles
    memory: np.ndarray  # (B, n) int8: 0 | LOAD | STORE (which may load as well)
    kept: np.ndarray  # (B, n, P) int32 entries of pools that it takes from dispatch to retirement
    queued: np.ndarray  # (B, n, Q) int32 entries of buffers that it takes from dispatch to issue
    pools: np.ndarray  # (P,) int32 sizes
    buffers: np.ndarray  # (Q,) int32 sizes
    groups: np.ndarray  # (G,) int64 bit sets of units
    issue_width: int  # micro-ops dispatched per cycle
    retire_width: int  # instructions retired per cycle


def scratch() -> np.ndarray:
    """Working memory of `cycles`."""
    return np.empty((_ROWS, REGISTERS + 1), np.int64)


def simulate(costs: Costs, orders: np.ndarray) -> np.ndarray:
    """Makespans of K orders of each block, (B, K) int32.

    orders: (B, K, n) int, [b, k, t] is the instruction of block b in slot t. Raises ValueError where the shapes differ,
    an order is no permutation, or n > LONGEST.
    """
    size, n = costs.latencies.shape
    if orders.ndim != 3 or orders.shape[0] != size or orders.shape[2] != n or n > LONGEST:
        raise ValueError(f"orders of shape {orders.shape} for {size} blocks of {n} instructions, at most {LONGEST}")
    makespans = np.empty(orders.shape[:2], np.int32)
    wrong = _simulate(costs, np.ascontiguousarray(orders), makespans, scratch())
    if wrong >= 0:
        raise ValueError(f"block {wrong} has an order that is no permutation of its instructions")
    return makespans


@njit(cache=True, nogil=True)
def _simulate(costs: Costs, orders: np.ndarray, makespans: np.ndarray, memory: np.ndarray) -> int:
    """Fill makespans. Returns -1, or the first block with an order that is no permutation."""
    size, n_orders, n = orders.shape
    seen = np.empty(n, np.bool_)
    for b in range(size):
        for k in range(n_orders):
            seen[:] = False
            for i in orders[b, k]:
                if i < 0 or i >= n or seen[i]:
                    return b
                seen[i] = True
            makespans[b, k] = cycles(costs, b, orders[b, k], memory)
    return -1


@njit(cache=True, nogil=True)
def cycles(costs: Costs, b: int, order: np.ndarray, memory: np.ndarray) -> int:
    """Makespan of one order (n,), a permutation, of block b; for searches compiled by numba.

    memory: of `scratch`. Nothing is allocated.
    """
    n, n_units = len(order), costs.held.shape[2]
    issued, queue, free, turn, skipped = memory[0], memory[1], memory[2], memory[3], memory[4]
    kept, queued = memory[5], memory[6]
    memory[_LAST] = -1
    free[:n_units] = 0
    turn[: len(costs.groups)] = costs.groups
    skipped[: len(costs.groups)] = 0
    kept[: len(costs.pools)] = costs.pools
    queued[: len(costs.buffers)] = costs.buffers
    cycle = 0
    waiting = 0  # how many: queue[:waiting] are their slots, ascending
    dispatched = retired = 0
    seen = 0  # cycle up to which retirement is done
    carried = 0  # micro-ops of the last one dispatched that come in the following cycles
    while True:
        if dispatched < n:
            retired = _retire(costs, b, order, dispatched, retired, cycle, issued, kept)
            seen = cycle
        waiting = _issue(costs, b, order, cycle, waiting, memory)
        room = max(costs.issue_width - carried, 0)
        carried = max(carried - costs.issue_width, 0)
        while dispatched < n and room:
            i = order[dispatched]
            if min(costs.micro_ops[b, i], costs.issue_width) > room or not _fits(costs, b, i, kept, queued):
                break
            room -= costs.micro_ops[b, i]
            if room < 0:
                carried, room = -room, 0
            for pool in range(len(costs.pools)):
                kept[pool] -= costs.kept[b, i, pool]
            if _rename(costs, b, order, dispatched, cycle, memory):
                issued[dispatched] = cycle
            else:
                for buffer in range(len(costs.buffers)):
                    queued[buffer] -= costs.queued[b, i, buffer]
                queue[waiting] = dispatched
                waiting += 1
            dispatched += 1
        if dispatched < n:
            cycle += 1
        elif waiting == 0:
            return _drained(costs, b, order, retired, seen, issued)
        else:
            cycle = _next(cycle, waiting, memory)


@njit(cache=True, nogil=True)
def _retire(
    costs: Costs, b: int, order: np.ndarray, dispatched: int, retired: int, cycle: int, issued: np.ndarray, kept: np.ndarray
) -> int:
    """Instructions retired by the end of this cycle's retirement, which was `retired` before."""
    stop = min(dispatched, retired + costs.retire_width)
    while retired < stop and issued[retired] >= 0:
        i = order[retired]
        if issued[retired] + costs.latencies[b, i] >= cycle:
            break
        for pool in range(len(costs.pools)):
            kept[pool] += costs.kept[b, i, pool]
        retired += 1
    return retired


@njit(cache=True, nogil=True)
def _drained(costs: Costs, b: int, order: np.ndarray, retired: int, cycle: int, issued: np.ndarray) -> int:
    """Makespan where all have issued and `retired` have retired by `cycle`."""
    room = 0
    for t in range(retired, len(order)):
        done = issued[t] + costs.latencies[b, order[t]] + 1
        if done > cycle:
            cycle, room = done, costs.retire_width
        elif room == 0:
            cycle, room = cycle + 1, costs.retire_width
        room -= 1
    return cycle + 1


@njit(cache=True, nogil=True)
def _next(cycle: int, waiting: int, memory: np.ndarray) -> int:
    """The next cycle in which something can issue, nothing being left to dispatch."""
    queue, ready, early, late = memory[1], memory[_READY], memory[_EARLY], memory[_LATE]
    following = np.iinfo(np.int64).max
    for j in range(waiting):
        t = queue[j]
        if not early[t] | late[t]:
            following = min(following, max(ready[t], cycle + 1))
    return following


@njit(cache=True, nogil=True)
def _fits(costs: Costs, b: int, i: int, kept: np.ndarray, queued: np.ndarray) -> bool:
    for pool in range(len(costs.pools)):
        if costs.kept[b, i, pool] > kept[pool]:
            return False
    for buffer in range(len(costs.buffers)):
        if costs.queued[b, i, buffer] > queued[buffer]:
            return False
    return True


@njit(cache=True, nogil=True)
def _rename(costs: Costs, b: int, order: np.ndarray, t: int, cycle: int, memory: np.ndarray) -> bool:
    """Find the results that the instruction in slot t waits for, and make it the last writer of what it writes.

    Returns whether it is executed at once: it waits for nothing, has no latency and holds no unit.
    """
    issued, ready, early, late, users, last = (
        *(memory[0], memory[_READY], memory[_EARLY], memory[_LATE], memory[_USERS], memory[_LAST]),
    )
    i = order[t]
    issued[t], ready[t], early[t], late[t], users[t] = -1, 0, 0, 0, 0
    for k in range(costs.sources.shape[2]):
        source = costs.sources[b, i, k]
        if source < 0:
            break
        writer = last[source]
        if writer < 0:
            continue
        advance = costs.advances[b, i] if costs.is_late[b, i, k] else 0
        if issued[writer] >= 0:
            ready[t] = max(ready[t], issued[writer] + max(0, costs.latencies[b, order[writer]] - advance))
            continue
        waits = late if costs.is_late[b, i, k] else early
        if not waits[t] >> writer & 1:
            waits[t] |= 1 << writer
            users[writer] += costs.counts[b, i, k]
    for k in range(costs.targets.shape[2]):
        target = costs.targets[b, i, k]
        if target < 0:
            break
        last[target] = t
    return costs.at_once[b, i] and not early[t] | late[t] and ready[t] <= cycle


@njit(cache=True, nogil=True)
def _issue(costs: Costs, b: int, order: np.ndarray, cycle: int, waiting: int, memory: np.ndarray) -> int:
    """Issue all that can in this cycle. Returns how many are left waiting."""
    issued, queue, free, queued = memory[0], memory[1], memory[2], memory[6]
    ready, early, late = memory[_READY], memory[_EARLY], memory[_LATE]
    idle = 0
    for unit in range(costs.held.shape[2]):
        idle |= (free[unit] <= cycle) << unit
    while waiting:
        found = _select(costs, b, order, cycle, waiting, idle, memory)
        if found < 0:
            break
        t = queue[found]
        i = order[t]
        waiting -= 1
        for j in range(found, waiting):
            queue[j] = queue[j + 1]
        for buffer in range(len(costs.buffers)):
            queued[buffer] += costs.queued[b, i, buffer]
        idle = _hold(costs, b, i, cycle, idle, memory)
        issued[t] = cycle
        latency = costs.latencies[b, i]
        for j in range(waiting):
            user = queue[j]
            if early[user] >> t & 1:
                early[user] ^= 1 << t
                ready[user] = max(ready[user], cycle + latency)
            if late[user] >> t & 1:
                late[user] ^= 1 << t
                ready[user] = max(ready[user], cycle + max(0, latency - costs.advances[b, order[user]]))
    return waiting


@njit(cache=True, nogil=True)
def _select(costs: Costs, b: int, order: np.ndarray, cycle: int, waiting: int, idle: int, memory: np.ndarray) -> int:
    """Place in the queue of the instruction that issues next, or -1."""
    queue, ready, early, late, users = memory[1], memory[_READY], memory[_EARLY], memory[_LATE], memory[_USERS]
    found, lowest = -1, 0
    accessed = False  # by one that comes before and has not issued
    for j in range(waiting):
        t = queue[j]
        i = order[t]
        blocked = accessed and costs.memory[b, i] == STORE
        accessed |= costs.memory[b, i] != 0
        if blocked or early[t] | late[t] or ready[t] > cycle:
            continue
        rank = t - users[t]
        if (found < 0 or rank < lowest) and _available(costs, b, i, idle):
            found, lowest = j, rank
    return found


@njit(cache=True, nogil=True)
def _available(costs: Costs, b: int, i: int, idle: int) -> bool:
    """Whether all the units that an instruction holds are idle, and one for each of its choices."""
    if costs.held_units[b, i] & ~idle:
        return False
    left = idle & ~costs.held_units[b, i]
    for k in range(costs.choices.shape[2]):
        group = costs.choices[b, i, k]
        if group < 0:
            break
        members = costs.groups[group] & left
        if not members:
            return False
        left ^= 1 << highest(members)
    return True


@njit(cache=True, nogil=True)
def _hold(costs: Costs, b: int, i: int, cycle: int, idle: int, memory: np.ndarray) -> int:
    """Hold the units of an instruction that issues. Returns the units that are still idle."""
    groups, free, turn, skipped = costs.groups, memory[2], memory[3], memory[4]
    units = costs.held_units[b, i]
    idle &= ~units
    unit = 0
    while units >> unit:
        if units >> unit & 1:
            free[unit] = cycle + costs.held[b, i, unit]
            took(unit, groups, turn, skipped)
        unit += 1
    left = 0
    for k in range(costs.choices.shape[2]):
        left |= (costs.choices[b, i, k] >= 0) << k
    while left:  # groups with one idle unit first, then the one with the fewest
        chosen, fewest = -1, 65
        for k in range(costs.choices.shape[2]):
            if left >> k & 1:
                count = _count(groups[costs.choices[b, i, k]] & idle)
                if count < fewest:
                    chosen, fewest = k, count
        left ^= 1 << chosen
        unit = choose(costs.choices[b, i, chosen], idle, groups, turn, skipped)
        free[unit] = cycle + costs.choice_cycles[b, i, chosen]
        idle &= ~(1 << unit)
        took(unit, groups, turn, skipped)
    return idle


@njit(cache=True, nogil=True)
def _count(members: int) -> int:
    count = 0
    while members:
        members &= members - 1
        count += 1
    return count
