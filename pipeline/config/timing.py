"""How orders are timed on the machine at hand (execution/timing.py)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.section import Positive, Section


class TimingSettings(Section):
    series: Positive = 1  # of measurements, each by a process of its own
    minutes_apart: Annotated[float, Field(ge=0)] = 0.0  # that a series waits for behind the one before
    seed: int  # of the draw of blocks, orders and start states
    blocks: Positive  # of each set, of those with several legal orders
    random_orders: Annotated[int, Field(ge=3)]  # of each block, besides those of methods
    copies: Positive  # of a block in a round
    rounds: Positive  # that are timed together, behind one that is not
    trials: Annotated[int, Field(ge=2)]  # of which the fastest counts
    states: Positive  # start states, of which the first counts from which the block runs
