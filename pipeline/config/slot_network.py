"""Networks that assign slots to the operations of small computation graphs, and their training examples."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.section import Positive, Section


class JobExamples(Section):
    """Search for the best orders, from which a network learns."""

    most_operations: Positive  # a graph with more is left out
    seconds: Annotated[float, Field(gt=0)]  # of CP-SAT's deterministic time for each graph


class SlotNetwork(Section):
    training: Annotated[list[str], Field(min_length=1)]  # sets of graphs that it learns from
    development: str  # set of graphs of the measurements during training
    operator: Literal["popocs", "sinkhorn"]  # sinkhorn: the same network without the projection onto the precedence
    start: Literal["ranking", "nothing"]  # scores of the untrained network: list scheduling's ranking, or none
    width: Positive
    layers: Positive
    heads: Positive
    expansion: Positive  # of the perceptrons
    most_operations: Positive  # of a graph: arrays have operations^2 entries
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
