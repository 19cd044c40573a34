"""Sets of whole graphs, for placement on devices with little memory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.section import Positive, Section


class PlacedSet(Section):
    """Whole graphs of networks that are cached in graphs/corpus/exported, as their device runs them."""

    device: str  # of section `devices`
    networks: Annotated[list[str], Field(min_length=1)]
    variants: Annotated[list[Literal["forward", "training"]], Field(min_length=1)] = ["forward", "training"]
    operations: tuple[Positive, Positive] = (1, 100_000)  # graphs with fewer or more are left out
