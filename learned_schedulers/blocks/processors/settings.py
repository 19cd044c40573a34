"""Processors as targets of orders, the models of them that judge, and what the first guess learns of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Positive, Section


class Judge(Section):
    """llvm-mca's model of a processor."""

    cpu: str  # llvm-mca's name of it
    iterations: Positive  # of the block in sequence; 1 is a single pass


class Processor(Section):
    """A processor as a target of orders."""

    cpu: str  # llvm-mca's name of it

    @property
    def judge(self) -> Judge:
        """A single pass by llvm-mca's model of it."""
        return Judge(cpu=self.cpu, iterations=1)


class Guessing(Section):
    """Settings for learning the first guess (blocks/methods/on_machine/guess_learning.py)."""

    training: str  # names of sets of blocks
    development: str
    machines: Annotated[list[str], Field(min_length=1)]  # processors that it learns on
    drawn: Annotated[int, Field(ge=0)] = 0  # processors that are made of each of them, by other widths and latencies
    blocks: Positive  # number of blocks drawn from the training set by the seed; the drawn processors share as many
    evaluations: Positive  # of the search for the best orders
    rounds: Positive  # of trials; from the second one on, along the orders of the network so far
    moves: Positive  # random moves that improve the rest of the block behind each ready instruction
    randomness: Annotated[float, Field(ge=0, le=1)]  # share of random choices
    hidden: tuple[Positive, Positive]  # units of the two layers
    steps: Positive  # of the optimiser in each round
    batch: Positive  # slots of a step
    learning_rate: Annotated[float, Field(gt=0)]
