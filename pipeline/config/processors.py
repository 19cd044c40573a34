"""Processors as targets of orders, and the processor models that judge."""

from __future__ import annotations

from pipeline.config.section import Positive, Section


class Judge(Section):
    """llvm-mca's model of a processor."""

    cpu: str  # llvm-mca's name of it
    iterations: Positive  # of the block in sequence; 1 is a single pass


class Processor(Section):
    """A processor as a target of orders."""

    cpu: str  # llvm-mca's name of it
    best: str  # method that finds the best orders to learn

    @property
    def judge(self) -> Judge:
        """A single pass by llvm-mca's model of it."""
        return Judge(cpu=self.cpu, iterations=1)
