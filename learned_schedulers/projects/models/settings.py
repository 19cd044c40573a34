"""Training of a network that chooses among the candidates of a job-shop's active schedules."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Positive, Section


class CandidatePolicy(Section):
    """One training by self-labelling: Corsini, Porrello, Calderara and Dell'Amico 2024."""

    sizes: Annotated[list[tuple[Positive, Positive]], Field(min_length=1)]  # jobs, machines: each in turn
    development: Annotated[list[tuple[Positive, Positive]], Field(min_length=1)]  # of the measurements, drawn once
    width: Positive = 64
    steps: Positive
    job_shops: Positive = 8  # of a step, all of one size
    schedules: Positive = 64  # drawn of each; the shortest is the label
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    warmup: Positive = 20  # steps
    measurements: Positive = 10  # on the development job-shops, over the training, at equal distances
