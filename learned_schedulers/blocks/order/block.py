"""One basic block: its dependency DAG, its legal orders, and their cycles by llvm-mca and by our models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from learned_schedulers.blocks.dag import sampling
from learned_schedulers.blocks.dag.conflicts import LONGEST
from learned_schedulers.blocks.dag.counting import count_orders
from learned_schedulers.blocks.dag.dependencies import Dag
from learned_schedulers.blocks.dag.memory_order import MemoryDags, MemoryOrder
from learned_schedulers.blocks.dag.topology import adjacency, count_violations
from learned_schedulers.blocks.order.methods import By
from learned_schedulers.blocks.order.orderer import Orderer, Status
from learned_schedulers.blocks.order.targets import TARGETS, Target
from learned_schedulers.blocks.processors import llvm_mca, model
from learned_schedulers.blocks.processors.chips import Chip
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.blocks.read.assembler import Refused, assemble
from learned_schedulers.blocks.read.assembly import gas, intel, split
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.run.legal_orders import Order, all_orders

_DIRECTIVE = re.compile(r"\.(?!L)[A-Za-z_]\w*")  # it could read files; wherever it stands, but for labels such as .L5


@dataclass(frozen=True)
class Block:
    """n instructions without a jump. An order has order[t] = number of the instruction in slot t, from 0 on.

    Raises ValueError for code that is not 1 to 64 whole instructions, or jumps.
    """

    code: bytes
    memory: MemoryOrder = "single_thread"  # what other threads may see of an order (dag/memory_order.py)

    def __post_init__(self) -> None:
        if not isinstance(self.code, bytes):
            raise ValueError(f"code is a {type(self.code).__name__}; it must be bytes; `block` also takes text")
        if self.memory not in get_args(MemoryOrder):
            raise ValueError(f"memory: there is no {self.memory!r}; name one of {', '.join(get_args(MemoryOrder))}")
        pieces = Forms().read([self.code])
        if not self.code or not pieces.whole.all():
            raise ValueError(f"code: {self.code.hex() or 'no bytes'}: not whole x86-64 instructions; correct the bytes")
        if not pieces.straight.all():
            raise ValueError("code: an instruction jumps, calls or traps; leave it out, for it ends a basic block")
        if len(self) > LONGEST:
            raise ValueError(f"code: {len(self)} instructions, more than {LONGEST}; cut it into shorter blocks")

    def __len__(self) -> int:
        return len(self.instructions)

    @cached_property
    def instructions(self) -> tuple[str, ...]:
        """The n instructions in Intel syntax."""
        return tuple(intel(self.code))

    @cached_property
    def dag(self) -> Dag:
        """The dependencies: edges (before, after, kinds), as RAW of a register."""
        return Dag.of(len(self), MemoryDags(self.memory).conflicts([self.code]).conflicts)

    @cached_property
    def precedes(self) -> np.ndarray:
        """(n, n) bool: [i, k] is true if the DAG has an edge i -> k, as operators and networks read it."""
        before, after = np.array([edge[:2] for edge in self.dag.edges], np.intp).reshape(-1, 2).T
        return adjacency(len(self), [before], [after])[0]

    @property
    def n_legal_orders(self) -> float:
        """Number of legal orders; of more than 20 instructions perhaps a lower bound (dag/counting.py)."""
        before, after = np.nonzero(self.precedes)
        return float(count_orders(np.array([0, len(before)]), before, after, np.array([len(self)]))[0][0])

    def legal_orders(self) -> Iterator[Order]:
        """Every legal order, the block's own first, one after the other: there may be very many."""
        return all_orders(self.dag.predecessors())

    def draw(self, count: int, seed: int = 0) -> np.ndarray:
        """(count, n) random legal orders, each equally likely (dag/sampling.py)."""
        return sampling.uniform(np.repeat(self.precedes[None], count, 0), np.random.default_rng(seed))

    def is_legal(self, orders: ArrayLike) -> np.ndarray:
        """(...) bool of orders (..., n). Raises ValueError for what is no order of n instructions."""
        rows = self._rows(orders)
        legal = count_violations(np.repeat(self.precedes[None], len(rows), 0), rows) == 0
        return legal.reshape(np.shape(orders)[:-1])

    def order(self, by: By = "search", processor: Target = "haswell", seed: int = 0) -> np.ndarray:
        """(n,) the order that a method gives for a processor, the block's own if it knows no better.

        Raises ValueError for a method that does not serve the processor, or whose model does not know an instruction.
        """
        orderer = Orderer(by, processor, self.memory, seed=seed)
        ordered = orderer.order([self.code])
        if ordered.status[0] == Status.UNSUPPORTED:
            _, reason, remedy = orderer.unknown("", ordered.unsupported[0])
            raise ValueError(f"{reason}; {remedy}")
        return ordered.of(0)

    def cycles(self, orders: ArrayLike, processor: Target = "haswell", passes: int = 1) -> np.ndarray:
        """(...) cycles of a pass by llvm-mca 19 of orders (..., n), legal or not.

        passes: of the block in sequence; 1: from an empty pipeline. Raises ValueError if llvm-mca is not installed, or
        does not know an instruction.
        """
        if (binary := llvm_mca.find()) is None:
            raise ValueError(f"llvm-mca {llvm_mca.VERSION} is not installed; {llvm_mca.INSTALL}")
        lines, judge = gas(self.code), Judge(cpu=_processor(processor), iterations=passes)
        regions = [[lines[i] for i in order] for order in self._rows(orders)]
        answers = llvm_mca.simulate(regions, judge, binary, quiet=True)
        if answers and answers[0].message:
            raise ValueError(f"llvm-mca's {processor}: {answers[0].message}")
        return np.array([answer.cycles for answer in answers]).reshape(np.shape(orders)[:-1])

    def model_cycles(self, orders: ArrayLike, processor: Target = "haswell") -> np.ndarray:
        """(...) cycles of a single pass of orders (..., n) in our model of the processor, thousands of times as fast.

        Raises ValueError if the model does not know an instruction.
        """
        chip = Chip(_processor(processor), llvm_mca.find())
        codes = split(self.code)
        costs = chip.processor(codes)
        if not costs.is_supported.all():
            code = codes[int(costs.is_supported.argmin())]
            raise ValueError(f"the model of {processor} does not know {intel(code)[0]}: {chip.reason(code)}")
        cycles = model.makespans(model.costs(costs, np.arange(len(self))[None]), self._rows(orders)[None])
        return cycles.reshape(np.shape(orders)[:-1])

    def _rows(self, orders: ArrayLike) -> np.ndarray:
        """Orders as (K, n) int64."""
        rows = np.asarray(orders)
        n = len(self)
        if rows.dtype.kind not in "iu" or rows.shape[-1:] != (n,) or (np.sort(rows) != np.arange(n)).any():
            raise ValueError(f"orders: each must have the whole numbers 0 to {n - 1}, each once, along the last axis")
        return rows.reshape(-1, n).astype(np.int64)


def _processor(name: Target) -> Target:
    if name not in TARGETS:
        raise ValueError(f"processor: there is no {name!r}; name one of {', '.join(TARGETS)}")
    return name


def block(code: bytes | str, memory: MemoryOrder = "single_thread") -> Block:
    """A basic block of machine code, or of instructions as text, each on a line or behind `;`.

    GNU's assembler reads the text, in AT&T syntax if it has a `%` or `$`, otherwise in Intel syntax. Raises ValueError
    as `Block`, for text that is more than instructions, and if there is no assembler.
    """
    if isinstance(code, bytes):
        return Block(code, memory)
    if directive := _DIRECTIVE.search(code):
        raise ValueError(f"code: {directive[0]} is no instruction; leave out what is for the assembler")
    head = "" if "%" in code or "$" in code else ".intel_syntax noprefix\n"
    try:
        sections = assemble(f"{head}{code}\n".encode()).sections.values()
    except Refused as error:
        syntax = "Intel" if head else "AT&T"
        raise ValueError(f"code: these are no instructions in {syntax} syntax ({error}); correct them") from error
    return Block(b"".join(section.content for section in sections if section.name == ".text"), memory)
