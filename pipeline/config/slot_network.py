"""Networks that give the operations of small computation graphs slots, and what they learn from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.section import Positive, Section


class JobExamples(Section):
    """How the best orders are found that a network learns from."""

    most_operations: Positive  # a graph with more is left out
    seconds: Annotated[float, Field(gt=0)]  # of CP-SAT's deterministic time for each graph


class SlotNetwork(Section):
    training: Annotated[list[str], Field(min_length=1)]  # sets of graphs that it learns from
    development: str  # set of graphs that it is measured on meanwhile
    operator: Literal["popocs", "sinkhorn"]  # sinkhorn: the same network without the projection onto the precedence
    start: Literal["ranking", "nothing"]  # what the scores are before training: list scheduling's ranking, or none
    width: Positive
    layers: Positive
    heads: Positive
    expansion: Positive  # of the perceptrons
    most_operations: Positive  # of a graph that it takes: its arrays have operations^2 entries
    batch: Positive  # graphs of a step
    steps: Positive
    learning_rate: Annotated[float, Field(gt=0)]
    warmup: Positive  # steps
    weight_decay: Annotated[float, Field(ge=0)]
    measurements: Positive = 10  # on the development graphs, over the training, at equal distances

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> SlotNetwork:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} cannot be shared by {self.heads} heads; take a multiple of it")
        return self
