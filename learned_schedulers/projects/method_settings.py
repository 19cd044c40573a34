"""Settings of the methods for projects and job-shops."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from learned_schedulers.method_settings import MethodSettings
from learned_schedulers.section import Positive

BASE = MethodSettings
AboveZero = Annotated[float, Field(gt=0)]
Rule = Literal["latest_start", "latest_finish", "shortest", "first_come"]  # methods/rules/priorities.py
Scheme = Literal["parallel", "serial"]  # methods/rules/generation.py
RULES: tuple[Rule, ...] = get_args(Rule)
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


class CpSat(MethodSettings):
    title: ClassVar = "CP-SAT"

    seconds: AboveZero = 10.0  # of CP-SAT's deterministic time, for each project
    most_activities: Positive = 5_000  # a project with more is not tried


class JobShopPolicy(MethodSettings):
    schedules: Positive = 512
    needs: ClassVar = frozenset({"weights"})


class PriorityRules(MethodSettings):
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)] = RULES
    schemes: Annotated[tuple[Scheme, ...], Field(min_length=1)] = SCHEMES


class RandomisedRules(MethodSettings):
    schedules: Positive = 512
    least_noise: AboveZero = (
        0.01  # standard deviation of the logarithm of a weight; drawn log-uniform between these two
    )
    most_noise: AboveZero = 1.0

    @model_validator(mode="after")
    def _levels_are_a_range(self) -> Self:
        if self.least_noise > self.most_noise:
            raise ValueError(f"least_noise {self.least_noise} is more than most_noise {self.most_noise}")
        return self


CLASSES: dict[str, type[MethodSettings]] = {
    "cp_sat": CpSat,
    "job_shop_policy": JobShopPolicy,
    "priority_rules": PriorityRules,
    "randomised_rules": RandomisedRules,
}
