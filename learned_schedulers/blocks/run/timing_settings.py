"""Timing of orders on the machine at hand (blocks/run/timing.py)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Positive, Section


class TimingSettings(Section):
    series: Positive = 1  # of measurements, each by a process of its own
    minutes_apart: Annotated[float, Field(ge=0)] = 0.0  # least time between two series
    seed: int  # of the draw of blocks, orders and start states
    blocks: Positive  # of each set, of those with several legal orders
    random_orders: Annotated[int, Field(ge=3)]  # of each block, beside the methods' orders
    copies: Positive  # of a block in a round
    rounds: Positive  # timed together, after one round that is not timed
    trials: Annotated[int, Field(ge=2)]  # of which the fastest counts
    states: Positive  # start states; the first one counts from which the block runs
