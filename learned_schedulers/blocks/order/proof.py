"""Changed blocks run, new orders against the old one, from random states in confined processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from hashlib import blake2b
from queue import SimpleQueue
from typing import Literal, NamedTuple, Self

import numpy as np
from iced_x86 import Decoder, Register

from learned_schedulers.blocks.dag.memory_order import Mark
from learned_schedulers.blocks.order.matching import Instructions, Order
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.comparison import Comparison, compare
from learned_schedulers.blocks.run.executable import NotRunnable, Program, assemble, prepare
from learned_schedulers.blocks.run.executors import open_executor
from learned_schedulers.blocks.run.oracle import Executor
from learned_schedulers.blocks.run.roles import roles

Verify = Literal["dag", "sample", "all"]
SHARES: dict[Verify, float] = {"dag": 0.0, "sample": 0.1, "all": 1.0}  # of the changed blocks that run
LEAST_STATES = 3  # from which a block has to run
_LINKED_ADDRESS = 0x2000_0000  # of what the linker would fill in; it fits a displacement of four bytes
_LINKED_DISTANCE, _ALIGNED = 1 << 16, 64  # from a block's start to rip-relative operands; bytes between two of them


class Outcome(NamedTuple):
    """What the runs of a new order show."""

    name: Literal["equal", "different", "not runnable", "not chosen"]
    detail: str = ""  # of the difference, or why the block cannot run
    states: int = 0  # from which both orders ran


class Change(NamedTuple):
    """New orders of a block, and its bytes in each of them, as they are written."""

    code: bytes
    marks: bytes
    orders: Sequence[Order]
    written: Sequence[bytes]


class Prover:
    """Runs blocks. A context manager; in it, one executor per core waits for blocks.

    The same change and seed give the same outcome, whatever else runs.
    """

    def __init__(self, share: float = 1.0, seed: int = 0, states: int = 6, aliased: int = 2) -> None:
        """share: of the blocks that run. states: start states of a block; in `aliased` of them pointers alias."""
        if states < LEAST_STATES:
            raise ValueError(f"a block has to run from at least {LEAST_STATES} states, not {states}")
        self._share, self._seed, self._states, self._aliased = share, seed, states, aliased
        self._forms = Forms()

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._executors: SimpleQueue[Executor] = SimpleQueue()
        for _ in os.sched_getaffinity(0):
            self._executors.put(self._stack.enter_context(open_executor()))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def outcomes(self, changes: Sequence[Change]) -> list[list[Outcome]]:
        """An outcome for each order of each block.

        The bytes that run are the written ones, but for rip-relative displacements, which are those of the place where
        the code runs, and for what the linker would fill in. An order whose written bytes are not the block's
        instructions in this order is `different`. A share of the blocks, drawn by the seed, runs; at least one.
        """
        rng = np.random.default_rng(self._seed)
        chosen = rng.random(len(changes)) < self._share
        if self._share > 0 and len(changes):
            chosen[rng.integers(len(changes))] = True
        # Bytes are compared first, because `Forms` is not made for threads.
        runs = [self._prepared(change) for change, is_chosen in zip(changes, chosen, strict=True) if is_chosen]
        with ThreadPoolExecutor(self._executors.qsize()) as pool:
            results = pool.map(lambda run: run(), runs)
            return [
                next(results) if is_chosen else [Outcome("not chosen")] * len(change.orders)
                for change, is_chosen in zip(changes, chosen, strict=True)
            ]

    def _prepared(self, change: Change) -> Callable[[], list[Outcome]]:
        """A function that runs a block."""
        right = self._right(change)
        wrong = Outcome("different", "the written bytes are not the block's instructions in the new order")
        try:
            program = prepare(change.code, 0)
            linked = prepare(_linked(change.code, change.marks), 0)
        except NotRunnable as error:
            outcome = Outcome("not runnable", f"{error.reason}: {error.example}".removesuffix(": "))
            return lambda: [outcome if is_right else wrong for is_right in right]
        for number, (order, code) in enumerate(zip(change.orders, change.written, strict=True)):
            if right[number]:
                assembled = assemble(program, order, program.start)
                right[number] = _without_distances(program, order, assembled) == _without_distances(
                    program, order, code
                )
        original = tuple(range(len(change.marks)))
        orders = dict.fromkeys(tuple(order) for order, is_right in zip(change.orders, right, strict=True) if is_right)

        def run() -> list[Outcome]:
            by_order = self._run(linked, original, [order for order in orders if order != original])
            return [by_order[tuple(o)] if is_right else wrong for o, is_right in zip(change.orders, right, strict=True)]

        return run

    def _right(self, change: Change) -> list[bool]:
        """Whether written bytes are the block's instructions in the order that is said, with the same targets."""
        result: list[bool] = []
        for order, code in zip(change.orders, change.written, strict=True):
            try:
                both = Instructions([change.code, code], self._forms)
                old = both.marked(0, change.marks)
                new = both.marked(1, bytes(change.marks[i] for i in order))
            except (ValueError, IndexError):  # other instructions, or another number of them
                result.append(False)
                continue
            result.append(sorted(order) == list(range(len(old))) and new == [old[i] for i in order])
        return result

    def _run(self, program: Program, original: Order, orders: Sequence[Order]) -> dict[Order, Outcome]:
        """Outcomes of orders of one block."""
        digest = blake2b(b"".join(program.pieces), digest_size=8).digest()
        block_roles, executor = roles(program), self._executors.get()

        def compared(new_orders: Sequence[Order]) -> Comparison:
            rng = np.random.default_rng([self._seed, int.from_bytes(digest, "little")])
            arguments = (self._states, self._aliased, rng)
            return compare(executor, program, block_roles, [original, *new_orders], *arguments)

        try:
            comparison = compared(orders)
            outcomes = [_outcome(comparison, number) for number in range(len(orders) + 1)]
            if comparison.lost and orders and not compared([]).lost:  # a new order ends the process: which?
                for number, order in enumerate(orders, 1):
                    if (alone := compared([order])).lost:
                        outcomes[number] = Outcome("different", f"the new order ends its process: {alone.lost}")
                    else:
                        outcomes[number] = _outcome(alone, 1)
            return dict(zip([original, *orders], outcomes, strict=True))
        finally:
            self._executors.put(executor)


def _outcome(comparison: Comparison, number: int) -> Outcome:
    """The outcome of an order that was compared; number 0 is the original one."""
    states = len(comparison.states)
    if comparison.lost:
        return Outcome("not runnable", comparison.lost)
    codes = comparison.column(number) if number else []
    if any(code >= layout.DIFFERENT for code in codes):
        is_described = comparison.different == number
        return Outcome("different", comparison.difference if is_described else "another final state", states)
    if states < LEAST_STATES:
        reason = comparison.dropped.most_common(1)[0][0]
        return Outcome("not runnable", f"{reason}: {comparison.examples[reason]}", states)
    return Outcome("equal", "", states)


def _without_distances(program: Program, order: Order, code: bytes) -> bytes:
    """The code of a block in an order, with zeros for rip-relative displacements."""
    zeroed = bytearray(code)
    begin = 0
    for i in order:
        at = program.displacement_at[i]
        if at >= 0:
            zeroed[begin + at : begin + at + 4] = bytes(4)
        begin += len(program.pieces[i])
    return bytes(zeroed)


def _linked(code: bytes, marks: bytes) -> bytes:
    """The code with addresses in place of four zeros that the linker fills in, so that it runs.

    These are rip-relative displacements, other displacements without a base, and immediates. Rip-relative operands get
    two addresses in turn, so that some are equal and some differ; a linker aligns data, and so are they.
    """
    filled = bytearray(code)
    decoder = Decoder(64, code)
    n_relative = 0
    for instruction, mark in zip(decoder, marks, strict=True):
        if not mark & Mark.LINKED:
            continue
        constants = decoder.get_constant_offsets(instruction)
        value = _LINKED_ADDRESS
        if constants.displacement_size == 4:
            at = instruction.ip + constants.displacement_offset
            if instruction.is_ip_rel_memory_operand:
                value = _LINKED_DISTANCE + _ALIGNED * (n_relative % 2) - instruction.next_ip
                n_relative += 1
            elif instruction.memory_base != Register.NONE or instruction.segment_prefix in (Register.FS, Register.GS):
                continue
        elif constants.immediate_size == 4:
            at = instruction.ip + constants.immediate_offset
        else:
            continue
        if filled[at : at + 4] == bytes(4):
            filled[at : at + 4] = value.to_bytes(4, "little", signed=True)
    return bytes(filled)
