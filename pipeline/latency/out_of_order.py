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
instruction; fences hold nothing back; moves that renaming removes (znver4; btver2 those of zeros) pass their source on
at once instead of making an alias; groups that are reserved as a whole, buffers of size 0, and load and store queues
(none of the models read has one shorter than LONGEST) do not occur.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from pipeline.latency.units import choose, highest, took

LONGEST = 64  # instructions of a block: sets of them are bit sets
REGISTERS = 127  # of a block, at most
LOAD, STORE = 1, 2

# Columns of `Costs.instructions`; behind them the lists of `Facts`, each entry in a column.
_MICRO_OPS, _LATENCY, _UNITS, _AT_ONCE, _MEMORY, _ADVANCE, _LISTS = range(7)
# Places of `Costs.machine`; behind them groups, sizes of pools and sizes of buffers.
_ISSUE, _RETIRE, _POOLS, _BUFFERS, _HELD, _CHOICES, _SOURCES, _TARGETS, _GROUPS, _SIZES = range(10)
# Rows of the working memory: by slot, by unit, by group, by pool, by buffer, by register.
_READY, _EARLY, _LATE, _USERS, _ISSUED, _QUEUE, _FREE, _TURN, _SKIPPED, _KEPT, _QUEUED, _LAST, _ROWS = range(13)
_BYTE = 8


class Facts(NamedTuple):
    """What B blocks of n instructions ask of a processor with R units, P pools and Q buffers."""

    micro_ops: np.ndarray  # (B, n) int32
    latencies: np.ndarray  # (B, n) int32 cycles from issue to write-back
    held: np.ndarray  # (B, n, R) int32 cycles for which each unit is held
    choices: np.ndarray  # (B, n, C) int32: groups of units of which any one is held besides; -1: no more
    choice_cycles: np.ndarray  # (B, n, C) int32
    sources: np.ndarray  # (B, n, S) int8: what it reads, numbered within the block; -1: no more
    is_late: np.ndarray  # (B, n, S) bool: it reads it `advances` cycles after its issue
    counts: np.ndarray  # (B, n, S) int8: by how many of its operands
    targets: np.ndarray  # (B, n, T) int8: what it writes; -1: no more
    advances: np.ndarray  # (B, n) int32 cycles
    memory: np.ndarray  # (B, n) int8: 0 | LOAD | STORE (which may load as well)
    kept: np.ndarray  # (B, n, P) int32 entries of pools that it takes from dispatch to retirement
    queued: np.ndarray  # (B, n, Q) int32 entries of buffers that it takes from dispatch to issue


class Costs(NamedTuple):
    """The same as two arrays, which functions compiled by numba hand on at no cost: one row per instruction."""

    instructions: np.ndarray  # (B, n, F) int64
    machine: np.ndarray  # (M,) int64


def pack(
    facts: Facts, groups: np.ndarray, pools: np.ndarray, buffers: np.ndarray, issue_width: int, retire_width: int
) -> Costs:
    """Costs of blocks on a processor.

    groups: (G,) int64 bit sets of units; pools: (P,), buffers: (Q,) int sizes; issue_width: micro-ops dispatched per
    cycle; retire_width: instructions retired per cycle. Raises ValueError for n > LONGEST.
    """
    n, n_units = facts.held.shape[1:]
    if n > LONGEST:
        raise ValueError(f"blocks of {n} instructions; at most {LONGEST} fit")
    units = ((facts.held > 0).astype(np.int64) << np.arange(n_units)).sum(2)
    order = np.argsort(facts.held == 0, axis=2, kind="stable")[
        ..., : max(1, int((facts.held > 0).sum(2).max(initial=0)))
    ]
    cycles = np.take_along_axis(facts.held, order, 2).astype(np.int64)
    lists = [
        np.where(cycles > 0, order + 1 | cycles << _BYTE, 0),
        np.where(facts.choices >= 0, facts.choices + 1 | facts.choice_cycles.astype(np.int64) << _BYTE, 0),
        np.where(
            facts.sources >= 0,
            facts.sources + 1 | (facts.is_late.astype(np.int64) | facts.counts.astype(np.int64) << 1) << _BYTE,
            0,
        ),
        facts.targets + 1,
    ]
    at_once = (facts.latencies == 0) & (units == 0) & (facts.choices[..., 0] < 0)
    single = (facts.micro_ops, facts.latencies, units, at_once, facts.memory, facts.advances)
    columns = [np.stack([part.astype(np.int64) for part in single], 2), facts.kept, facts.queued, *lists]
    widths = [len(pools), len(buffers), *(part.shape[2] for part in lists), len(groups)]
    return Costs(
        np.ascontiguousarray(np.concatenate([part.astype(np.int64) for part in columns], 2)),
        np.concatenate([[issue_width, retire_width, *widths], groups, pools, buffers]).astype(np.int64),
    )


def scratch() -> np.ndarray:
    """Working memory of `cycles`."""
    return np.empty((_ROWS, REGISTERS + 1), np.int64)


def simulate(costs: Costs, orders: np.ndarray) -> np.ndarray:
    """Makespans of K orders of each block, (B, K) int32.

    orders: (B, K, n) int, [b, k, t] is the instruction of block b in slot t. Raises ValueError where the shapes differ
    or an order is no permutation.
    """
    size, n = costs.instructions.shape[:2]
    if orders.ndim != 3 or orders.shape[0] != size or orders.shape[2] != n:
        raise ValueError(f"orders of shape {orders.shape} for {size} blocks of {n} instructions")
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
            makespans[b, k] = cycles(costs.instructions[b], costs.machine, orders[b, k], memory)
    return -1


@njit(cache=True, nogil=True)
def cycles(facts: np.ndarray, machine: np.ndarray, order: np.ndarray, memory: np.ndarray) -> int:
    """Makespan of one order (n,), a permutation, of a block; for searches compiled by numba.

    facts: (n, F), Costs.instructions of the block; machine: Costs.machine; memory: of `scratch`. Nothing is allocated.
    """
    n = len(order)
    width, n_pools, n_buffers, n_groups = machine[_ISSUE], machine[_POOLS], machine[_BUFFERS], machine[_GROUPS]
    memory[_LAST] = -1
    for group in range(n_groups):
        memory[_TURN, group], memory[_SKIPPED, group] = machine[_SIZES + group], 0
    for pool in range(n_pools):
        memory[_KEPT, pool] = machine[_SIZES + n_groups + pool]
    for buffer in range(n_buffers):
        memory[_QUEUED, buffer] = machine[_SIZES + n_groups + n_pools + buffer]
    cycle = 0
    busy = 0  # bit set of units
    waiting = 0  # how many: the first ones of row _QUEUE are their slots, ascending
    dispatched = retired = 0
    seen = 0  # cycle up to which retirement is done
    carried = 0  # micro-ops of the last one dispatched that come in the following cycles
    while True:
        if dispatched < n:
            stop = min(dispatched, retired + machine[_RETIRE])
            while retired < stop and memory[_ISSUED, retired] >= 0:
                i = order[retired]
                if memory[_ISSUED, retired] + facts[i, _LATENCY] >= cycle:
                    break
                for pool in range(n_pools):
                    memory[_KEPT, pool] += facts[i, _LISTS + pool]
                retired += 1
            seen = cycle
        held, unit = busy, 0
        while held:
            if held & 1 and memory[_FREE, unit] <= cycle:
                busy ^= 1 << unit
            held >>= 1
            unit += 1
        while waiting:
            found = _select(facts, machine, order, cycle, waiting, busy, memory)
            if found < 0:
                break
            t = memory[_QUEUE, found]
            waiting -= 1
            for j in range(found, waiting):
                memory[_QUEUE, j] = memory[_QUEUE, j + 1]
            for buffer in range(n_buffers):
                memory[_QUEUED, buffer] += facts[order[t], _LISTS + n_pools + buffer]
            busy = _hold(facts, machine, order[t], cycle, busy, memory)
            memory[_ISSUED, t] = cycle
            if memory[_USERS, t]:
                _wake(facts, order, t, cycle, waiting, memory)
        room = max(width - carried, 0)
        carried = max(carried - width, 0)
        while dispatched < n and room:
            i = order[dispatched]
            if min(facts[i, _MICRO_OPS], width) > room or not _fits(facts, machine, i, memory):
                break
            room -= facts[i, _MICRO_OPS]
            if room < 0:
                carried, room = -room, 0
            for pool in range(n_pools):
                memory[_KEPT, pool] -= facts[i, _LISTS + pool]
            if _rename(facts, machine, order, dispatched, cycle, memory):
                memory[_ISSUED, dispatched] = cycle
            else:
                for buffer in range(n_buffers):
                    memory[_QUEUED, buffer] -= facts[i, _LISTS + n_pools + buffer]
                memory[_QUEUE, waiting] = dispatched
                waiting += 1
            dispatched += 1
        if dispatched < n:
            cycle += 1
        elif waiting == 0:
            return _drained(facts, machine, order, retired, seen, memory)
        else:
            cycle = _next(cycle, waiting, memory)


@njit(cache=True, nogil=True)
def _drained(
    facts: np.ndarray, machine: np.ndarray, order: np.ndarray, retired: int, cycle: int, memory: np.ndarray
) -> int:
    """Makespan where all have issued and `retired` have retired by `cycle`."""
    room = 0
    for t in range(retired, len(order)):
        done = memory[_ISSUED, t] + facts[order[t], _LATENCY] + 1
        if done > cycle:
            cycle, room = done, machine[_RETIRE]
        elif room == 0:
            cycle, room = cycle + 1, machine[_RETIRE]
        room -= 1
    return cycle + 1


@njit(cache=True, nogil=True)
def _next(cycle: int, waiting: int, memory: np.ndarray) -> int:
    """The next cycle in which something can issue, nothing being left to dispatch."""
    following = np.iinfo(np.int64).max
    for j in range(waiting):
        t = memory[_QUEUE, j]
        if not memory[_EARLY, t] | memory[_LATE, t]:
            following = min(following, max(memory[_READY, t], cycle + 1))
    return following


@njit(cache=True, nogil=True)
def _fits(facts: np.ndarray, machine: np.ndarray, i: int, memory: np.ndarray) -> bool:
    """Whether pools and buffers have what an instruction takes."""
    for pool in range(machine[_POOLS]):
        if facts[i, _LISTS + pool] > memory[_KEPT, pool]:
            return False
    for buffer in range(machine[_BUFFERS]):
        if facts[i, _LISTS + machine[_POOLS] + buffer] > memory[_QUEUED, buffer]:
            return False
    return True


@njit(cache=True, nogil=True)
def _rename(facts: np.ndarray, machine: np.ndarray, order: np.ndarray, t: int, cycle: int, memory: np.ndarray) -> bool:
    """Find the results that the instruction in slot t waits for, and make it the last writer of what it writes.

    Returns whether it is executed at once: it waits for nothing, has no latency and holds no unit.
    """
    i = order[t]
    ready = early = late = 0
    column = _LISTS + machine[_POOLS] + machine[_BUFFERS] + machine[_HELD] + machine[_CHOICES]
    for k in range(column, column + machine[_SOURCES]):
        source = facts[i, k]
        if source == 0:
            break
        writer = memory[_LAST, source & 255]
        if writer < 0:
            continue
        is_late = source >> _BYTE & 1
        if memory[_ISSUED, writer] >= 0:
            delay = max(0, facts[order[writer], _LATENCY] - is_late * facts[i, _ADVANCE])
            ready = max(ready, memory[_ISSUED, writer] + delay)
        elif not (late if is_late else early) >> writer & 1:
            if is_late:
                late |= 1 << writer
            else:
                early |= 1 << writer
            memory[_USERS, writer] += source >> (_BYTE + 1)
    column += machine[_SOURCES]
    for k in range(column, column + machine[_TARGETS]):
        target = facts[i, k]
        if target == 0:
            break
        memory[_LAST, target] = t
    memory[_ISSUED, t] = -1
    memory[_USERS, t] = 0
    memory[_READY, t], memory[_EARLY, t], memory[_LATE, t] = ready, early, late
    return facts[i, _AT_ONCE] != 0 and not early | late and ready <= cycle


@njit(cache=True, nogil=True)
def _wake(facts: np.ndarray, order: np.ndarray, t: int, cycle: int, waiting: int, memory: np.ndarray) -> None:
    """Tell those that wait for the instruction in slot t, which issues in this cycle, when its results are there."""
    latency = facts[order[t], _LATENCY]
    bit = 1 << t
    for j in range(waiting):
        user = memory[_QUEUE, j]
        if memory[_EARLY, user] & bit:
            memory[_EARLY, user] ^= bit
            memory[_READY, user] = max(memory[_READY, user], cycle + latency)
        if memory[_LATE, user] & bit:
            memory[_LATE, user] ^= bit
            delay = max(0, latency - facts[order[user], _ADVANCE])
            memory[_READY, user] = max(memory[_READY, user], cycle + delay)


@njit(cache=True, nogil=True)
def _select(
    facts: np.ndarray, machine: np.ndarray, order: np.ndarray, cycle: int, waiting: int, busy: int, memory: np.ndarray
) -> int:
    """Place in the queue of the instruction that issues next, or -1."""
    found, lowest = -1, 0
    accessed = False  # by one that comes before and has not issued
    for j in range(waiting):
        t = memory[_QUEUE, j]
        access = facts[order[t], _MEMORY]
        blocked = accessed and access == STORE
        accessed |= access != 0
        if blocked or memory[_EARLY, t] | memory[_LATE, t] or memory[_READY, t] > cycle:
            continue
        rank = t - memory[_USERS, t]
        if (found < 0 or rank < lowest) and _available(facts, machine, order[t], busy):
            found, lowest = j, rank
    return found


@njit(cache=True, nogil=True)
def _available(facts: np.ndarray, machine: np.ndarray, i: int, busy: int) -> bool:
    """Whether all the units that an instruction holds are idle, and one for each of its choices."""
    units = facts[i, _UNITS]
    if units & busy:
        return False
    taken = busy | units
    column = _LISTS + machine[_POOLS] + machine[_BUFFERS] + machine[_HELD]
    last = column + machine[_CHOICES]
    for k in range(column, last):
        choice = facts[i, k]
        if choice == 0:
            break
        members = machine[_SIZES + (choice & 255) - 1] & ~taken
        if not members:
            return False
        if k + 1 < last and facts[i, k + 1]:
            taken |= 1 << highest(members)
    return True


@njit(cache=True, nogil=True)
def _hold(facts: np.ndarray, machine: np.ndarray, i: int, cycle: int, busy: int, memory: np.ndarray) -> int:
    """Hold the units of an instruction that issues. Returns the units that are busy then."""
    groups = machine[_SIZES : _SIZES + machine[_GROUPS]]
    turn, skipped = memory[_TURN], memory[_SKIPPED]
    column = _LISTS + machine[_POOLS] + machine[_BUFFERS]
    for k in range(column, column + machine[_HELD]):
        held = facts[i, k]
        if held == 0:
            break
        unit = (held & 255) - 1
        memory[_FREE, unit] = cycle + (held >> _BYTE)
        took(unit, groups, turn, skipped)
    busy |= facts[i, _UNITS]
    column += machine[_HELD]
    left = 0
    for k in range(machine[_CHOICES]):
        left |= (facts[i, column + k] > 0) << k
    while left:  # groups with the fewest idle units first
        chosen, fewest = -1, 65
        for k in range(machine[_CHOICES]):
            if left >> k & 1:
                count = _count(groups[(facts[i, column + k] & 255) - 1] & ~busy) if left & (left - 1) else 1
                if count < fewest:
                    chosen, fewest = k, count
        left ^= 1 << chosen
        choice = facts[i, column + chosen]
        unit = choose((choice & 255) - 1, ~busy, groups, turn, skipped)
        memory[_FREE, unit] = cycle + (choice >> _BYTE)
        busy |= 1 << unit
        took(unit, groups, turn, skipped)
    return busy


@njit(cache=True, nogil=True)
def _count(members: int) -> int:
    count = 0
    while members:
        members &= members - 1
        count += 1
    return count
