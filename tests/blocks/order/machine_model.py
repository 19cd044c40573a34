"""x86-TSO as an abstract machine (Owens, Sarkar, Sewell 2009): the independent oracle of the litmus tests.

Each thread has a buffer of stores, first in, first out; a load takes the youngest store to its address in the buffer,
else memory. `mfence` waits until the buffer is empty, a locked instruction also acts on memory at once. All
interleavings are tried. A signal handler runs in the thread that it interrupts, between any two instructions, and so
sees the stores in the buffer.

A program is text: the same lines are assembled for the DAG and interpreted here, by a few patterns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import NamedTuple

from learned_schedulers.blocks.dag.memory_order import Mark, MemoryDags
from learned_schedulers.blocks.run.machine_code import assemble

Thread = tuple[str, ...]  # instructions in AT&T syntax
Addresses = Mapping[str, int]  # values of registers that hold addresses
Outcome = tuple[object, ...]
_INITIAL = {"rax": 7, "rcx": 8}  # other registers without an address are zero
APART: Addresses = {
    "rdi": 0x1000,
    "rsi": 0x2000,
    "rsp": 0x9000,
    "rbp": 0x9100,
}  # [rsp] is at another address per thread
EQUAL: Addresses = {**APART, "rsi": 0x1000}
_PRIVATE = bytes([Mark.PRIVATE | Mark.CLOSED])


class Step(NamedTuple):
    """One step of a thread. A memory operand is an address, a register a name; an integer is a constant."""

    kind: str  # load | store | add | exchange | fence
    address: int = 0
    register: str = ""  # a load's target, or exchanged
    value: str | int = 0  # stored or added


@cache
def _parsed(line: str) -> tuple[str, str, int, str]:
    """Operation, base register, displacement, the other operand."""
    if line == "mfence":
        return "fence", "", 0, ""
    memory = r"(-?\d*)\(%(\w+)\)"
    for operation, pattern in (
        ("load", rf"mov {memory}, %(\w+)"),
        ("store", rf"movq? [$%](\w+), {memory}"),
        ("add", rf"addq [$%](\w+), {memory}"),
        ("locked add", rf"lock addq [$%](\w+), {memory}"),
        ("exchange", rf"xchg %(\w+), {memory}"),
    ):
        match = re.fullmatch(pattern, line)
        if match:
            groups = match.groups()
            displacement, base, other = groups if operation == "load" else (groups[1], groups[2], groups[0])
            return operation, base, int(displacement or 0), other
    raise ValueError(f"the machine does not know: {line}")


def _steps(thread: Thread, number: int, addresses: Addresses) -> list[Step]:
    steps: list[Step] = []
    for line in thread:
        operation, base, displacement, other = _parsed(line)
        address = addresses.get(base, 0) + displacement + (number << 32 if base in ("rsp", "rbp") else 0)
        value: str | int = int(other) if other.isdigit() else other
        if operation == "load":
            steps.append(Step("load", address, other))
        elif operation == "store":
            steps.append(Step("store", address, "", value))
        elif operation == "add":  # two steps: other threads may come between
            steps += [Step("load", address, "sum"), Step("add", 0, "sum", value), Step("store", address, "", "sum")]
        else:
            steps.append(Step(operation, address, other, value))
    return steps


class _State(NamedTuple):
    counters: tuple[int, ...]
    registers: tuple[tuple[tuple[str, int], ...], ...]  # of each thread, sorted
    buffers: tuple[tuple[tuple[int, int], ...], ...]  # of each thread: (address, value), oldest first
    memory: tuple[tuple[int, int], ...]  # what is not zero, sorted


def _with(pairs: tuple, key: str | int, value: int) -> tuple:
    """The mapping of `pairs` with another value of a register or of memory, which is without zeros."""
    return tuple(sorted((k, v) for k, v in {**dict(pairs), key: value}.items() if v or isinstance(k, str)))


def _replaced(values: tuple, index: int, value: object) -> tuple:
    return (*values[:index], value, *values[index + 1 :])


def _executed(state: _State, k: int, step: Step) -> _State | None:
    """The state after a step of thread k; None if it has to wait."""
    counters = _replaced(state.counters, k, state.counters[k] + 1)
    registers, buffer, memory = dict(state.registers[k]), state.buffers[k], dict(state.memory)
    value = registers.get(step.value, _INITIAL.get(step.value, 0)) if isinstance(step.value, str) else step.value
    if step.kind == "load":
        content = next((v for a, v in reversed(buffer) if a == step.address), memory.get(step.address, 0))
        return state._replace(
            counters=counters,
            registers=_replaced(state.registers, k, _with(state.registers[k], step.register, content)),
        )
    if step.kind == "add":
        total = registers[step.register] + value
        return state._replace(
            counters=counters, registers=_replaced(state.registers, k, _with(state.registers[k], step.register, total))
        )
    if step.kind == "store":
        return state._replace(counters=counters, buffers=_replaced(state.buffers, k, (*buffer, (step.address, value))))
    if buffer:
        return None  # fences and locked instructions wait for the buffer
    if step.kind == "locked add":
        total = memory.get(step.address, 0) + value
        return state._replace(counters=counters, memory=_with(state.memory, step.address, total))
    if step.kind == "exchange":
        old = memory.get(step.address, 0)
        new = registers.get(step.register, _INITIAL.get(step.register, 0))
        return state._replace(
            counters=counters,
            registers=_replaced(state.registers, k, _with(state.registers[k], step.register, old)),
            memory=_with(state.memory, step.address, new),
        )
    return state._replace(counters=counters)


@cache
def _outcomes(threads: tuple[Thread, ...], addresses: tuple[tuple[str, int], ...]) -> frozenset[Outcome]:
    steps = [_steps(thread, k, dict(addresses)) for k, thread in enumerate(threads)]
    n = len(threads)
    start = _State((0,) * n, ((),) * n, ((),) * n, ())
    waiting, visited, final = [start], {start}, set()
    while waiting:
        state = waiting.pop()
        following = []
        for k in range(n):
            if state.counters[k] < len(steps[k]):
                after = _executed(state, k, steps[k][state.counters[k]])
                following += [] if after is None else [after]
            if state.buffers[k]:
                (address, value), *rest = state.buffers[k]
                drained = _replaced(state.buffers, k, tuple(rest))
                following.append(state._replace(buffers=drained, memory=_with(state.memory, address, value)))
        if not following:
            visible = tuple(tuple(pair for pair in registers if pair[0] != "sum") for registers in state.registers)
            final.add((visible, state.memory))
        for after in following:
            if after not in visited:
                visited.add(after)
                waiting.append(after)
    return frozenset(final)


def outcomes(threads: Sequence[Thread], addresses: Addresses = APART) -> frozenset[Outcome]:
    """Registers of each thread and memory at the end, in all executions; everything is zero at the start."""
    return _outcomes(tuple(threads), tuple(sorted(addresses.items())))


def interrupted(thread: Thread, handler: Thread, addresses: Addresses = APART) -> frozenset[Outcome]:
    """Registers of the thread and of its signal handler, and memory, if the handler interrupts it once, anywhere."""
    main, handling = (_steps(lines, 0, addresses) for lines in (thread, handler))
    ends = []  # an instruction is not interrupted in its middle
    for k in range(len(thread) + 1):
        ends.append(len(_steps(thread[:k], 0, addresses)))
    results = set()
    for at in ends:
        memory: dict[int, int] = {}
        registers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        for owner, step in [(0, s) for s in main[:at]] + [(1, s) for s in handling] + [(0, s) for s in main[at:]]:
            values = registers[owner]
            value = values.get(step.value, _INITIAL.get(step.value, 0)) if isinstance(step.value, str) else step.value
            if step.kind == "load":
                values[step.register] = memory.get(step.address, 0)
            elif step.kind == "add":
                values[step.register] += value
            elif step.kind == "store":
                memory[step.address] = value
            elif step.kind == "locked add":
                memory[step.address] = memory.get(step.address, 0) + value
            elif step.kind == "exchange":
                old = memory.get(step.address, 0)
                memory[step.address] = values.get(step.register, _INITIAL.get(step.register, 0))
                values[step.register] = old
        visible = tuple(tuple(sorted((r, v) for r, v in values.items() if r != "sum")) for values in registers)
        results.add((visible, tuple(sorted((a, v) for a, v in memory.items() if v))))
    return frozenset(results)


@cache
def machine_code(line: str) -> bytes:
    """The code of one instruction."""
    return assemble(line).code


def orders_of(thread: Thread, dags: MemoryDags, marks: bytes | None = None) -> list[tuple[int, ...]]:
    """All legal orders of a thread's instructions, which make one block. marks: by default, [rsp + n] is private."""
    if marks is None:
        marks = b"".join(_PRIVATE if "(%rsp)" in line else b"\0" for line in thread)
    conflicts = dags.conflicts([b"".join(map(machine_code, thread))], [marks]).conflicts
    pairs = list(zip(conflicts.before.tolist(), conflicts.after.tolist(), strict=True))
    return [
        order for order in permutations(range(len(thread))) if all(order.index(i) < order.index(j) for i, j in pairs)
    ]


def legal_orders(thread: Thread, dags: MemoryDags, marks: bytes | None = None) -> list[Thread]:
    """The instructions in all legal orders, as in `orders_of`."""
    return [tuple(thread[i] for i in order) for order in orders_of(thread, dags, marks)]
