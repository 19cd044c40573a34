"""Processes that compile and run functions for the benchmarks of this package."""

from __future__ import annotations

from typing import Self

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.llvm_child import SCHEDULERS
from learned_schedulers.blocks.run.native import Native

PROCESSOR = "haswell"  # for which functions are compiled; the flags of clang in projects.yaml say the same
SEED = 49


class Bench:
    """A confined process that runs code, and one that compiles for each of LLVM's schedulers."""

    def __init__(self) -> None:
        self.native = Native()
        self.emitters = {scheduler: llvm.Emitter(scheduler, PROCESSOR) for scheduler in SCHEDULERS}
        self.emitter = self.emitters["default"]  # for orders, too: it begins with the order in which instructions stand

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.native.close()
        for emitter in self.emitters.values():
            emitter.__exit__()
