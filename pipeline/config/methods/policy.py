"""Settings of schedulers/policy.py, and of the stage learn_policy, which learns its weights."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pipeline.config.methods import MethodSettings, asks
from pipeline.config.section import Positive, Section


class Rollouts(Section):
    """Settings for learning the preference of a policy (schedulers/on_machine/rollouts.py)."""

    training: str  # name of a set of blocks
    blocks: Positive  # number of blocks drawn from that set by the seed
    rollouts: Positive  # number for each ready instruction
    rounds: Positive  # after the first round, rollouts follow the preference learned so far
    randomness: Annotated[float, Field(ge=0, le=1)]  # share of random choices in rollouts after the first round
    changes: Annotated[int, Field(ge=0)] = (
        0  # changes of the weights that are tried, one after another (on_machine/refinement.py)
    )


class Settings(MethodSettings):
    needs: ClassVar = asks("weights machine")

    learning: Rollouts | None = None  # only the stage learn_policy reads it
