"""Sets of blocks, for training and evaluation."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.blocks.dag.settings import Dependencies, Sampler
from learned_schedulers.section import Positive, Section


class Split(Section):
    sources: Annotated[list[str], Field(min_length=1)]
    seed: int
    sampler: Sampler
    n_instructions: Annotated[int, Field(ge=2)]
    training: Positive
    development: Positive
    test: Positive


class Tokens(Section):
    """POCSNet's vocabulary."""

    min_count: Positive


class BlockSet(Section):
    """Blocks by their sources and by a share of their ids, so that a new source moves no block to another set."""

    sources: Annotated[list[str], Field(min_length=1)]
    dependencies: Dependencies = "full"  # of the legal orders
    held_out: bool = False  # only POCSNet's test blocks, in their order there; else all others
    share: tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]] = (0.0, 1.0)
    lengths: tuple[Positive, Positive] = (2, 64)
    programs: list[str] = ["*"]  # any of these patterns ...
    without: list[str] = []  # ... and none of these
