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

Deviations (benchmarks/machine_agreement measures what they cost): every result comes after the full latency of its
instruction; fences hold nothing back; moves that renaming removes (znver4; btver2 those of zeros) read nothing, so that
who reads the copy waits for nobody instead of the writer of the source; groups of units are those that `decomposition`
found, which are not LLVM's for loads of znver4, nor for `mul` of one operand on haswell and skylake; silvermont retires
at most 27 instructions in a cycle, because `statistics.retire_width` saw no more, where llvm-mca has no limit; groups
that are reserved as a whole, buffers of size 0, and load and store queues (none of the models read has one shorter than
LONGEST) do not occur.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.latency.packing import (
    ADVANCE,
    AT_ONCE,
    BUFFERS,
    BYTE,
    CHOICES,
    GROUPS,
    HELD,
    ISSUE,
    LATENCY,
    LISTS,
    MEMORY,
    MICRO_OPS,
    POOLS,
    REGISTERS,
    RETIRE,
    SIZES,
    SOURCES,
    STORE,
    TARGETS,
    UNITS,
    Block,
    Costs,
)
from pipeline.blocks.latency.units import choose, highest, took

# Rows of the working memory: by slot, by unit, by group, by pool, by buffer, by register.
_READY, _EARLY, _LATE, _USERS, _ISSUED, _QUEUE, _FREE, _TURN, _SKIPPED, _KEPT, _QUEUED, _LAST, _ROWS = range(13)


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
    wrong = _simulate(costs, np.array(orders, np.int64, order="C"), makespans, scratch())
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
def makespan_of(block: Block, order: np.ndarray, memory: np.ndarray) -> int:
    """Cycles of one order (n,) of one block, a permutation; for searches compiled by numba. memory: of `scratch`."""
    return cycles(block.instructions, block.machine, order, memory)


@njit(cache=True, nogil=True)
def issues(memory: np.ndarray, n: int) -> np.ndarray:
    """(n,) cycle in which each slot issued, of the order whose makespan was asked for last."""
    return memory[_ISSUED, :n]


@njit(cache=True, nogil=True)
def cycles(facts: np.ndarray, machine: np.ndarray, order: np.ndarray, memory: np.ndarray) -> int:
    """Makespan of one order (n,), a permutation, of a block; for searches compiled by numba.

    facts: (n, F), Costs.instructions of the block; machine: Costs.machine; memory: of `scratch`. Nothing is allocated.
    """
    n = len(order)
    width, n_pools, n_buffers, n_groups = machine[ISSUE], machine[POOLS], machine[BUFFERS], machine[GROUPS]
    memory[_LAST] = -1
    for group in range(n_groups):
        memory[_TURN, group], memory[_SKIPPED, group] = machine[SIZES + group], 0
    for pool in range(n_pools):
        memory[_KEPT, pool] = machine[SIZES + n_groups + pool]
    for buffer in range(n_buffers):
        memory[_QUEUED, buffer] = machine[SIZES + n_groups + n_pools + buffer]
    cycle = 0
    busy = 0  # bit set of units
    waiting = 0  # how many: the first ones of row _QUEUE are their slots, ascending
    dispatched = retired = 0
    seen = 0  # cycle up to which retirement is done
    carried = 0  # micro-ops of the last one dispatched that come in the following cycles
    while True:
        if dispatched < n:
            stop = min(dispatched, retired + machine[RETIRE])
            while retired < stop and memory[_ISSUED, retired] >= 0:
                i = order[retired]
                if memory[_ISSUED, retired] + facts[i, LATENCY] >= cycle:
                    break
                for pool in range(n_pools):
                    memory[_KEPT, pool] += facts[i, LISTS + pool]
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
                memory[_QUEUED, buffer] += facts[order[t], LISTS + n_pools + buffer]
            busy = _hold(facts, machine, order[t], cycle, busy, memory)
            memory[_ISSUED, t] = cycle
            if memory[_USERS, t]:
                _wake(facts, order, t, cycle, waiting, memory)
        room = max(width - carried, 0)
        carried = max(carried - width, 0)
        while dispatched < n and room:
            i = order[dispatched]
            if min(facts[i, MICRO_OPS], width) > room or not _fits(facts, machine, i, memory):
                break
            room -= facts[i, MICRO_OPS]
            if room < 0:
                carried, room = -room, 0
            for pool in range(n_pools):
                memory[_KEPT, pool] -= facts[i, LISTS + pool]
            if _rename(facts, machine, order, dispatched, cycle, memory):
                memory[_ISSUED, dispatched] = cycle
            else:
                for buffer in range(n_buffers):
                    memory[_QUEUED, buffer] -= facts[i, LISTS + n_pools + buffer]
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
        done = memory[_ISSUED, t] + facts[order[t], LATENCY] + 1
        if done > cycle:
            cycle, room = done, machine[RETIRE]
        elif room == 0:
            cycle, room = cycle + 1, machine[RETIRE]
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
    for pool in range(machine[POOLS]):
        if facts[i, LISTS + pool] > memory[_KEPT, pool]:
            return False
    for buffer in range(machine[BUFFERS]):
        if facts[i, LISTS + machine[POOLS] + buffer] > memory[_QUEUED, buffer]:
            return False
    return True


@njit(cache=True, nogil=True)
def _rename(facts: np.ndarray, machine: np.ndarray, order: np.ndarray, t: int, cycle: int, memory: np.ndarray) -> bool:
    """Find the results that the instruction in slot t waits for, and make it the last writer of what it writes.

    Returns whether it is executed at once: it waits for nothing, has no latency and holds no unit.
    """
    i = order[t]
    ready = early = late = 0
    column = LISTS + machine[POOLS] + machine[BUFFERS] + machine[HELD] + machine[CHOICES]
    for k in range(column, column + machine[SOURCES]):
        source = facts[i, k]
        if source == 0:
            break
        writer = memory[_LAST, source & 255]
        if writer < 0:
            continue
        is_late = source >> BYTE & 1
        if memory[_ISSUED, writer] >= 0:
            delay = max(0, facts[order[writer], LATENCY] - is_late * facts[i, ADVANCE])
            ready = max(ready, memory[_ISSUED, writer] + delay)
        elif not (late if is_late else early) >> writer & 1:
            if is_late:
                late |= 1 << writer
            else:
                early |= 1 << writer
            memory[_USERS, writer] += source >> (BYTE + 1)
    column += machine[SOURCES]
    for k in range(column, column + machine[TARGETS]):
        target = facts[i, k]
        if target == 0:
            break
        memory[_LAST, target] = t
    memory[_ISSUED, t] = -1
    memory[_USERS, t] = 0
    memory[_READY, t], memory[_EARLY, t], memory[_LATE, t] = ready, early, late
    return facts[i, AT_ONCE] != 0 and not early | late and ready <= cycle


@njit(cache=True, nogil=True)
def _wake(facts: np.ndarray, order: np.ndarray, t: int, cycle: int, waiting: int, memory: np.ndarray) -> None:
    """Tell those that wait for the instruction in slot t, which issues in this cycle, when its results are there."""
    latency = facts[order[t], LATENCY]
    bit = 1 << t
    for j in range(waiting):
        user = memory[_QUEUE, j]
        if memory[_EARLY, user] & bit:
            memory[_EARLY, user] ^= bit
            memory[_READY, user] = max(memory[_READY, user], cycle + latency)
        if memory[_LATE, user] & bit:
            memory[_LATE, user] ^= bit
            delay = max(0, latency - facts[order[user], ADVANCE])
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
        access = facts[order[t], MEMORY]
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
    units = facts[i, UNITS]
    if units & busy:
        return False
    taken = busy | units
    column = LISTS + machine[POOLS] + machine[BUFFERS] + machine[HELD]
    last = column + machine[CHOICES]
    for k in range(column, last):
        choice = facts[i, k]
        if choice == 0:
            break
        members = machine[SIZES + (choice & 255) - 1] & ~taken
        if not members:
            return False
        if k + 1 < last and facts[i, k + 1]:
            taken |= 1 << highest(members)
    return True


@njit(cache=True, nogil=True)
def _hold(facts: np.ndarray, machine: np.ndarray, i: int, cycle: int, busy: int, memory: np.ndarray) -> int:
    """Hold the units of an instruction that issues. Returns the units that are busy then."""
    groups = machine[SIZES : SIZES + machine[GROUPS]]
    turn, skipped = memory[_TURN], memory[_SKIPPED]
    column = LISTS + machine[POOLS] + machine[BUFFERS]
    for k in range(column, column + machine[HELD]):
        held = facts[i, k]
        if held == 0:
            break
        unit = (held & 255) - 1
        memory[_FREE, unit] = cycle + (held >> BYTE)
        took(unit, groups, turn, skipped)
    busy |= facts[i, UNITS]
    column += machine[HELD]
    left = 0
    for k in range(machine[CHOICES]):
        left |= (facts[i, column + k] > 0) << k
    while left:  # groups with the fewest idle units first
        chosen, fewest = -1, 65
        for k in range(machine[CHOICES]):
            if left >> k & 1:
                count = _count(groups[(facts[i, column + k] & 255) - 1] & ~busy) if left & (left - 1) else 1
                if count < fewest:
                    chosen, fewest = k, count
        left ^= 1 << chosen
        choice = facts[i, column + chosen]
        unit = choose((choice & 255) - 1, ~busy, groups, turn, skipped)
        memory[_FREE, unit] = cycle + (choice >> BYTE)
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
