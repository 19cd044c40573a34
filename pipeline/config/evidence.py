"""What is measured, and what the report shows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from pipeline.config.section import Positive, Section


class Verification(Section):
    seed: int
    blocks: Positive
    control_blocks: Positive
    sensitivity_blocks: Positive
    orders: Positive
    states: Annotated[int, Field(ge=3)]
    aliased_states: Positive
    search_states: Annotated[int, Field(ge=4)]


class Hardware(Section):
    """How orders are timed on the machine at hand (execution/timing.py)."""

    seed: int  # of the draw of blocks, orders and start states
    blocks: Positive  # of each set, of those with several legal orders
    machines: Annotated[list[str], Field(min_length=1)]  # of `scheduling`: processors that the orders were made for
    random_orders: Annotated[int, Field(ge=3)]  # of each block, besides those of schedulers
    copies: Positive  # of a block in a round
    rounds: Positive  # that are timed together, behind one that is not
    trials: Annotated[int, Field(ge=2)]  # of which the fastest counts
    states: Positive  # start states, of which the first counts from which the block runs


class Intervals(Section):
    bootstrap_samples: Positive
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Evaluation(Intervals):
    sweep_iterations: list[Annotated[int, Field(ge=0)]]
    example_blocks: Positive


class Residuals(Section):
    seed: int
    lengths: list[Annotated[int, Field(ge=2)]]
    blocks: Positive
    scale: Annotated[float, Field(gt=0)]
    iterations: list[Positive]
    shown: list[Positive]
    tolerance: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _shown_are_measured(self) -> Residuals:
        if extra := sorted(set(self.shown) - set(self.iterations)):
            raise ValueError(f"shown names {extra}, which iterations has not")
        return self


class Report(Section):
    experiments: Annotated[list[str], Field(min_length=1)]
