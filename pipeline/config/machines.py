"""Processors as llvm-mca models them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.section import Positive, Section


class Machine(Section):
    cpu: str
    iterations: Positive
    metric: str


class Latency(Section):
    machines: dict[str, Machine]


class ProcessorModel(Section):
    """A processor that is scheduled for."""

    cpu: str  # llvm-mca's name of it
    iterations: Annotated[list[Positive], Field(min_length=1)]  # that llvm-mca judges: 1 is a single pass
    best: str  # scheduler that finds the best orders to learn

    def machine(self, iterations: int) -> Machine:
        """The model as llvm-mca's settings."""
        return Machine(cpu=self.cpu, iterations=iterations, metric=f"cycles_{self.cpu}_{iterations}")
