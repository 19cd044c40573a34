"""Settings of schedulers/policy.py, and of the stage that learns its weights."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pipeline.config.methods import MethodSettings, asks
from pipeline.config.section import Positive, Section


class Rollouts(Section):
    """How the preference of a policy is learned (schedulers/on_machine/rollouts.py)."""

    training: str  # name of a set of blocks
    blocks: Positive  # of that set, drawn by the seed
    rollouts: Positive  # of each ready instruction
    rounds: Positive  # after the first one, rollouts follow what was learned so far
    randomness: Annotated[float, Field(ge=0, le=1)]  # of the choices of rollouts after the first round
    changes: Annotated[int, Field(ge=0)] = 0  # of the weights, tried one after another (on_machine/refinement.py)


class Settings(MethodSettings):
    needs: ClassVar = asks("weights machine")

    learning: Rollouts | None = None  # read by the stage learn_policy alone
