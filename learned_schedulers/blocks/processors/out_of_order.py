"""A transparent model of an out-of-order processor: in which cycle each instruction of an order dispatches and issues.

It follows llvm-mca 19's default pipeline (`DispatchStage`, `Scheduler`, `ResourceManager`, `LSUnit`, `RegisterFile`,
`RetireControlUnit`) for a single pass. In every cycle, in this order:

- Retirement, in order: at most `retire_width` instructions that were executed in earlier cycles leave the processor.
  They free what they have occupied since dispatch: entries of the reorder buffer, and registers of the register files.
- Issue, one instruction after another. Candidates were dispatched in earlier cycles, have their operands and find their
  units free. The candidate of lowest rank issues: its slot minus the number of reads that wait for its results. Its
  entries of the schedulers' buffers become free. A store waits until every load and store before it has issued (by
  default, llvm-mca assumes that loads and stores never overlap); a load waits for no memory access.
- Dispatch, in order: at most `issue_width` micro-ops. An instruction with more starts in a fresh cycle and fills the
  following cycles. It waits until the entries that it needs of pools and buffers are free. It depends on the last
  writer of each register that it reads (registers are renamed). An instruction without latency and units executes at
  once.

An operand is available with the result of its writer, or `advance` cycles earlier if it is read late. The units of
groups are chosen by round robin (`units`). The makespan counts cycles up to the last retirement, that cycle included.

Deviations (the experiment `processor_agreement` has their effect):

- Every result comes after the full latency of its instruction.
- Fences delay nothing.
- Moves that renaming removes (on znver4; on btver2 those of zeros) read nothing, so a reader of the copy does not wait
  for the writer of the source.
- Groups of units come from `decomposition`. They are not LLVM's for loads of znver4, nor for `mul` of one operand on
  haswell and skylake.
- silvermont retires at most 27 instructions in a cycle, the most that `statistics.retire_width` observed; in llvm-mca
  it has no limit.
- Groups that are reserved as a whole, buffers of size 0, and load and store queues do not exist here; no such queue of
  the models that we use is shorter than LONGEST.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.processors.packing import (
    ADVANCE,
    AT_ONCE,
    BYTE,
    FIRST_GROUP,
    FIRST_LIST,
    ISSUE_WIDTH,
    LATENCY,
    MEMORY,
    MICRO_OPS,
    N_BUFFERS,
    N_CHOICES,
    N_GROUPS,
    N_OCCUPIED,
    N_POOLS,
    N_SOURCES,
    N_TARGETS,
    REGISTERS,
    RETIRE_WIDTH,
    STORE,
    UNITS,
    Block,
    Costs,
)
from learned_schedulers.blocks.processors.units import choose, highest, mark_used
from learned_schedulers.kernel_arrays import ZERO

# Rows of the working memory. Up to _ISSUED one number per slot: the cycle from which on its known operands are ready;
# bit sets of the slots for whose results it waits, early and late; reads that wait for it; its cycle of issue or -1.
# Then: slots that wait for issue; cycle in which each unit becomes free; state of each group (`units`); free entries of
# each pool and buffer; the last slot that writes each register.
_READY, _EARLY, _LATE, _USERS, _ISSUED = range(5)
_QUEUE, _UNIT_FREE, _TURN, _SKIPPED, _POOL_FREE, _BUFFER_FREE, _WRITER = range(5, 12)
_ROWS = 12


def scratch() -> np.ndarray:
    """Working memory for `cycles`."""
    return np.empty((_ROWS, REGISTERS + 1), np.int64)


def simulate(costs: Costs, orders: np.ndarray) -> np.ndarray:
    """Makespans of K orders of each block, (B, K) int32.

    orders: (B, K, n) int, [b, k, t] is the instruction of block b in slot t. Raises ValueError if the shapes differ
    or an order is not a permutation.
    """
    size, n = costs.instructions.shape[:2]
    if orders.ndim != 3 or orders.shape[0] != size or orders.shape[2] != n:
        raise ValueError(f"orders of shape {orders.shape} for {size} blocks of {n} instructions")
    makespans = np.empty(orders.shape[:2], np.int32)
    faulty = _simulate(costs, np.array(orders, np.int64, order="C"), makespans, scratch())
    if faulty >= 0:
        raise ValueError(f"block {faulty} has an order that is not a permutation of its instructions")
    return makespans


@njit(cache=True, nogil=True)
def _simulate(costs: Costs, orders: np.ndarray, makespans: np.ndarray, memory: np.ndarray) -> int:
    """Fill makespans. Returns -1, or the first block with an order that is not a permutation."""
    size, n_orders, n = orders.shape
    visited = np.empty(n, np.bool_)
    for b in range(size):
        for k in range(n_orders):
            visited[:] = False
            for i in orders[b, k]:
                if i < 0 or i >= n or visited[i]:
                    return b
                visited[i] = True
            makespans[b, k] = cycles(costs.instructions[b], costs.machine, orders[b, k], memory)
    return -1


@njit(cache=True, nogil=True)
def makespan_of(block: Block, order: np.ndarray, memory: np.ndarray) -> int:
    """Cycles of one order (n,) of one block, a permutation; for searches compiled by numba. memory: from `scratch`."""
    return cycles(block.instructions, block.machine, order, memory)


@njit(cache=True, nogil=True)
def issues(memory: np.ndarray, n: int) -> np.ndarray:
    """(n,) cycle in which each slot issued, in the last order that was timed with this memory."""
    return memory[_ISSUED, :n]


@njit(cache=True, nogil=True)
def cycles(facts: np.ndarray, machine: np.ndarray, order: np.ndarray, memory: np.ndarray) -> int:
    """Makespan of one order (n,), a permutation, of a block; for searches compiled by numba.

    facts: (n, F), Costs.instructions of the block; machine: Costs.machine; memory: from `scratch`. Nothing is
    allocated.
    """
    n = len(order)
    width, n_pools, n_buffers, n_groups = machine[ISSUE_WIDTH], machine[N_POOLS], machine[N_BUFFERS], machine[N_GROUPS]
    memory[_WRITER] = -1
    for group in range(n_groups):
        memory[_TURN, group], memory[_SKIPPED, group] = machine[FIRST_GROUP + group], 0
    for pool in range(n_pools):
        memory[_POOL_FREE, pool] = machine[FIRST_GROUP + n_groups + pool]
    for buffer in range(n_buffers):
        memory[_BUFFER_FREE, buffer] = machine[FIRST_GROUP + n_groups + n_pools + buffer]
    cycle = ZERO
    busy = 0  # bit set of the units that are not free
    waiting = 0  # number of slots at the start of row _QUEUE, ascending: dispatched, not issued
    dispatched = retired = ZERO
    retired_until = ZERO  # cycle up to which `retired` is correct
    carried = 0  # micro-ops of the last dispatched instruction that dispatch in the following cycles
    while True:
        if dispatched < n:
            stop = min(dispatched, retired + machine[RETIRE_WIDTH])
            while retired < stop and memory[_ISSUED, retired] >= 0:
                i = order[retired]
                if memory[_ISSUED, retired] + facts[i, LATENCY] >= cycle:
                    break
                for pool in range(n_pools):
                    memory[_POOL_FREE, pool] += facts[i, FIRST_LIST + pool]
                retired += 1
            retired_until = cycle
        remaining, unit = busy, 0
        while remaining:
            if remaining & 1 and memory[_UNIT_FREE, unit] <= cycle:
                busy ^= 1 << unit
            remaining >>= 1
            unit += 1
        while waiting:
            place = _select(facts, machine, order, cycle, waiting, busy, memory)
            if place < 0:
                break
            t = memory[_QUEUE, place]
            waiting -= 1
            for j in range(place, waiting):
                memory[_QUEUE, j] = memory[_QUEUE, j + 1]
            for buffer in range(n_buffers):
                memory[_BUFFER_FREE, buffer] += facts[order[t], FIRST_LIST + n_pools + buffer]
            busy = _occupy(facts, machine, order[t], cycle, busy, memory)
            memory[_ISSUED, t] = cycle
            if memory[_USERS, t]:
                _wake(facts, order, t, cycle, waiting, memory)
        room = max(width - carried, 0)
        carried = max(carried - width, 0)
        while dispatched < n and room:
            i = order[dispatched]
            if min(facts[i, MICRO_OPS], width) > room or not _has_room(facts, machine, i, memory):
                break
            room -= facts[i, MICRO_OPS]
            if room < 0:
                carried, room = -room, 0
            for pool in range(n_pools):
                memory[_POOL_FREE, pool] -= facts[i, FIRST_LIST + pool]
            if _rename(facts, machine, order, dispatched, cycle, memory):
                memory[_ISSUED, dispatched] = cycle
            else:
                for buffer in range(n_buffers):
                    memory[_BUFFER_FREE, buffer] -= facts[i, FIRST_LIST + n_pools + buffer]
                memory[_QUEUE, waiting] = dispatched
                waiting += 1
            dispatched += 1
        if dispatched < n:
            cycle += 1
        elif waiting == 0:
            return _drained(facts, machine, order, retired, retired_until, memory)
        else:
            cycle = _next_issue(cycle, waiting, memory)


@njit(cache=True, nogil=True)
def _drained(
    facts: np.ndarray, machine: np.ndarray, order: np.ndarray, retired: int, cycle: int, memory: np.ndarray
) -> int:
    """Makespan once all instructions have issued; the first `retired` of them have retired by `cycle`."""
    room = 0
    for t in range(retired, len(order)):
        executed = memory[_ISSUED, t] + facts[order[t], LATENCY] + 1
        if executed > cycle:
            cycle, room = executed, machine[RETIRE_WIDTH]
        elif room == 0:
            cycle, room = cycle + 1, machine[RETIRE_WIDTH]
        room -= 1
    return cycle + 1


@njit(cache=True, nogil=True)
def _next_issue(cycle: int, waiting: int, memory: np.ndarray) -> int:
    """The next cycle in which an instruction can issue, after the last one has dispatched."""
    following = np.iinfo(np.int64).max
    for j in range(waiting):
        t = memory[_QUEUE, j]
        if not memory[_EARLY, t] | memory[_LATE, t]:
            following = min(following, max(memory[_READY, t], cycle + 1))
    return following


@njit(cache=True, nogil=True)
def _has_room(facts: np.ndarray, machine: np.ndarray, i: int, memory: np.ndarray) -> bool:
    """Whether pools and buffers have free entries for instruction i."""
    for pool in range(machine[N_POOLS]):
        if facts[i, FIRST_LIST + pool] > memory[_POOL_FREE, pool]:
            return False
    for buffer in range(machine[N_BUFFERS]):
        if facts[i, FIRST_LIST + machine[N_POOLS] + buffer] > memory[_BUFFER_FREE, buffer]:
            return False
    return True


@njit(cache=True, nogil=True)
def _rename(facts: np.ndarray, machine: np.ndarray, order: np.ndarray, t: int, cycle: int, memory: np.ndarray) -> bool:
    """Find the results that the instruction in slot t waits for, and make it the last writer of its targets.

    Returns whether it executes at once: it waits for no result, and has neither latency nor units.
    """
    i = order[t]
    ready = early = late = 0
    column = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS] + machine[N_OCCUPIED] + machine[N_CHOICES]
    for k in range(column, column + machine[N_SOURCES]):
        source = facts[i, k]
        if source == 0:
            break
        writer = memory[_WRITER, source & 255]
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
    column += machine[N_SOURCES]
    for k in range(column, column + machine[N_TARGETS]):
        target = facts[i, k]
        if target == 0:
            break
        memory[_WRITER, target] = t
    memory[_ISSUED, t] = -1
    memory[_USERS, t] = 0
    memory[_READY, t], memory[_EARLY, t], memory[_LATE, t] = ready, early, late
    return facts[i, AT_ONCE] != 0 and not early | late and ready <= cycle


@njit(cache=True, nogil=True)
def _wake(facts: np.ndarray, order: np.ndarray, t: int, cycle: int, waiting: int, memory: np.ndarray) -> None:
    """Update the instructions that wait for slot t, which issues in this cycle: when its results are available."""
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
    """Place in row _QUEUE of the instruction that issues next, or -1."""
    best, lowest_rank = -1, 0
    accessed = False  # whether an earlier instruction that has not issued accesses memory
    for j in range(waiting):
        t = memory[_QUEUE, j]
        access = facts[order[t], MEMORY]
        blocked = accessed and access == STORE
        accessed |= access != 0
        if blocked or memory[_EARLY, t] | memory[_LATE, t] or memory[_READY, t] > cycle:
            continue
        rank = t - memory[_USERS, t]
        if (best < 0 or rank < lowest_rank) and _available(facts, machine, order[t], busy):
            best, lowest_rank = j, rank
    return best


@njit(cache=True, nogil=True)
def _available(facts: np.ndarray, machine: np.ndarray, i: int, busy: int) -> bool:
    """Whether all units that instruction i occupies are idle, and one unit for each of its choices."""
    units = facts[i, UNITS]
    if units & busy:
        return False
    unavailable = busy | units
    column = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS] + machine[N_OCCUPIED]
    last = column + machine[N_CHOICES]
    for k in range(column, last):
        choice = facts[i, k]
        if choice == 0:
            break
        members = machine[FIRST_GROUP + (choice & 255) - 1] & ~unavailable
        if not members:
            return False
        if k + 1 < last and facts[i, k + 1]:
            unavailable |= 1 << highest(members)
    return True


@njit(cache=True, nogil=True)
def _occupy(facts: np.ndarray, machine: np.ndarray, i: int, cycle: int, busy: int, memory: np.ndarray) -> int:
    """Occupy the units of instruction i, which issues. Returns the units that are busy afterwards."""
    groups = machine[FIRST_GROUP : FIRST_GROUP + machine[N_GROUPS]]
    turn, skipped = memory[_TURN], memory[_SKIPPED]
    column = FIRST_LIST + machine[N_POOLS] + machine[N_BUFFERS]
    for k in range(column, column + machine[N_OCCUPIED]):
        occupied = facts[i, k]
        if occupied == 0:
            break
        unit = (occupied & 255) - 1
        memory[_UNIT_FREE, unit] = cycle + (occupied >> BYTE)
        mark_used(unit, groups, turn, skipped)
    busy |= facts[i, UNITS]
    column += machine[N_OCCUPIED]
    open_choices = 0
    for k in range(machine[N_CHOICES]):
        open_choices |= (facts[i, column + k] > 0) << k
    while open_choices:  # the group with the fewest idle units first
        chosen, fewest = -1, 65
        for k in range(machine[N_CHOICES]):
            if open_choices >> k & 1:
                has_rival = open_choices & (open_choices - 1)
                count = _popcount(groups[(facts[i, column + k] & 255) - 1] & ~busy) if has_rival else 1
                if count < fewest:
                    chosen, fewest = k, count
        open_choices ^= 1 << chosen
        choice = facts[i, column + chosen]
        unit = choose((choice & 255) - 1, ~busy, groups, turn, skipped)
        memory[_UNIT_FREE, unit] = cycle + (choice >> BYTE)
        busy |= 1 << unit
        mark_used(unit, groups, turn, skipped)
    return busy


@njit(cache=True, nogil=True)
def _popcount(members: int) -> int:
    """Number of units in a set."""
    count = 0
    while members:
        members &= members - 1
        count += 1
    return count
