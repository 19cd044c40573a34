"""Numbers of blocks, orders and start states that run to check the dependencies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Positive, Section


class Verification(Section):
    seed: int
    blocks: Positive
    control_blocks: Positive
    sensitivity_blocks: Positive
    orders: Positive
    states: Annotated[int, Field(ge=3)]
    aliased_states: Positive
    search_states: Annotated[int, Field(ge=4)]
