"""A function in a module of its own, one block of which is compiled in other orders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.calls import Signature, signature
from learned_schedulers.blocks.before_allocation.counts import Counts, counts
from learned_schedulers.blocks.before_allocation.functions import Block, Function
from learned_schedulers.blocks.before_allocation.image import Image, image
from learned_schedulers.blocks.before_allocation.problem import Problem, problem
from learned_schedulers.blocks.before_allocation.reordered import reordered


@dataclass(frozen=True)
class Subject:
    """A function and the block of it that is ordered."""

    name: str
    text: str
    function: Function  # of the text
    block: Block  # of the function
    precedes: np.ndarray  # (n, n) bool

    @cached_property
    def problem(self) -> Problem:
        """The block as methods read it."""
        return problem(self.function, self.block, self.precedes)

    @cached_property
    def signature(self) -> Signature:
        """What it is called with. Raises NotCallable."""
        return signature(self.function.head)

    def ordered(self, order: np.ndarray | None) -> str:
        """The text with the block in this order; None: as it stands."""
        return self.text if order is None else reordered(self.text, [(self.block, order)])

    def image(self, emitter: llvm.Emitter, order: np.ndarray | None = None) -> Image:
        """The compiled function. Raises LlvmError and NotPlaceable."""
        return image(emitter.object_file(self.ordered(order), self.name), self.function.symbol)

    def counts(self, emitter: llvm.Emitter, order: np.ndarray | None = None) -> Counts:
        """Counts of the compiled function. Raises LlvmError."""
        return counts(emitter.assembly(self.ordered(order), self.name))[self.function.symbol]

    def trapped(self, emitter: llvm.Emitter) -> Image:
        """The function with an instruction that ends the program at the begin of the block.

        Raises LlvmError and NotPlaceable.
        """
        lines = self.text.split("\n")
        lines.insert(self.block.begin, "  call void @llvm.trap()")
        declared = "" if "@llvm.trap()" in self.text else "\ndeclare void @llvm.trap()\n"
        return image(emitter.object_file("\n".join(lines) + declared, self.name), self.function.symbol)
