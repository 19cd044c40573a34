"""Training of networks that build schedules of computation graphs operation by operation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from learned_schedulers.section import Positive, Section

Sigma = Annotated[float, Field(gt=0)]
SigmaUnit = Literal["speedup", "mean_run_time"]  # the paper's | a delay of the makespan by the mean run time


class Policy(Section):
    """One training, as in Zhang et al. 2023 except where a comment differs."""

    training: Annotated[list[str], Field(min_length=1)]  # sets of graphs, drawn from with equal probability
    development: str  # set of the measurements during training
    most_operations: Positive = 100  # of a graph for training or measurement
    objective: Literal["gflownet", "ppo"] = "gflownet"
    reads: Literal["once"] = "once"  # the graph; files of weights say so
    sequence: Literal["any", "by_start"] = "any"  # in which operations may be added (graphs/environment/batched.py)
    backward: Literal["learned", "uniform"] = "learned"  # P_B; by_start has none
    start: Literal["list", "nothing"] = "list"  # preference of the untrained policy: list scheduling's choice, or none
    targets: Literal["proxy", "drawn"] = "proxy"  # of the makespans; drawn: random transfers and noise at every step
    width: Positive = 64  # of the encoder
    layers: Positive = 3
    hidden: Positive = 64  # of the heads
    steps: Positive
    trajectories: Annotated[int, Field(ge=2)] = 100  # of a step, all of one graph and one sigma
    least_sigma: Sigma = 0.01  # drawn log-uniform between these two
    most_sigma: Sigma = 1.0
    sigma_unit: SigmaUnit = "speedup"
    loss_weight: Literal["none", "sigma"] = "sigma"  # sigma: gradients have the same size for every sigma
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    warmup: Positive = 50  # steps
    decay: Annotated[float, Field(gt=0, le=1)] = 0.25  # last share of the steps, in which the learning rate falls
    entropy: Annotated[float, Field(ge=0)] = 0.01  # first weight of the entropy in PPO's loss; it falls to 0
    measurements: Positive = 10  # on the development graphs, over the training, at equal distances

    @model_validator(mode="after")
    def _sigmas_are_a_range(self) -> Policy:
        if self.least_sigma > self.most_sigma:
            raise ValueError(f"least_sigma {self.least_sigma} is more than most_sigma {self.most_sigma}")
        return self
