"""Settings of a training of POCSNet's network."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from learned_schedulers.section import Positive, Section


class Training(Section):
    operator: Literal["sinkhorn", "popocs"]
    method: Literal["cyclic", "extrapolated", "nearest"]  # of popocs
    proposal: Literal["logits", "softmax", "sinkhorn"]
    iterations: Positive
    loss: Literal["cross_entropy", "fenchel_young"]
    floor: Annotated[float, Field(gt=0, lt=1)]
    optimiser: Literal["adam", "sgd"]
    learning_rate: Annotated[float, Field(gt=0)]
    decay: Literal["none", "cosine"]  # of the learning rate
    batch_size: Annotated[int, Field(ge=2)]
    steps: Positive
    hidden: Positive
