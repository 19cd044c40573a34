"""Settings of graphs/schedulers/node_by_node.py."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.section import Positive


class Settings(GraphMethodSettings):
    evaluations: Positive = 2000  # schedules that are simulated: one for each operation that is placed anew
    most_operations: Positive = 500
    start: Literal["one_device", "random"] = "random"  # the placement that every episode starts from
    width: Positive = 32
    layers: Positive = 2  # of messages between neighbours
    read_every: Positive = 10  # operations that are placed between two readings of the graph, each a step of learning
    learning_rate: Annotated[float, Field(gt=0)] = 0.01
    discount: Annotated[float, Field(ge=0, le=1)] = 0.5  # of what later steps of the same reading gain
    entropy: Annotated[float, Field(ge=0)] = 0.03  # weight at first; it falls to 0
    baseline: Annotated[float, Field(ge=0, lt=1)] = 0.9  # share of the old mean of returns that is kept

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target"})
