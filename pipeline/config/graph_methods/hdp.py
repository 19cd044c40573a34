"""Settings of graphs/schedulers/hdp.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.section import Positive


class Settings(GraphMethodSettings):
    evaluations: Positive = 2000  # schedules that are simulated
    groups: Positive = 64  # 256 in the paper, for graphs of up to 50,000 operations
    width: Positive = 32  # 512 in the paper
    samples: Positive = 10  # placements between two steps of the optimiser
    spread: Annotated[float, Field(gt=0)] = 0.2  # of groups along the operations' numbers at first, in their distance
    stay: float = 3.0  # logit of the device of the group before, at first
    learning_rate: Annotated[float, Field(gt=0)] = 0.01
    grouper_rate: Annotated[float, Field(gt=0)] = 3.0e-4  # the grouper's learning rate
    entropy: Annotated[float, Field(ge=0)] = 0.03  # weight of the placer's at first; it falls to 0

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target"})
