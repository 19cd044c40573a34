"""Settings of the methods for projects and job-shops."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from learned_schedulers.method_settings import MethodSettings, NoisySettings
from learned_schedulers.section import AboveZero, Positive

BASE = MethodSettings
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


class RandomisedRules(NoisySettings):
    schedules: Positive = 512


class TabuSearch(MethodSettings):
    seconds: AboveZero = 10.0  # deterministic ones, by the operations that are visited; about one of the clock each
    population: Positive = 20
    patience: Positive = 12_500  # moves without a better schedule, after which another one is improved
    most_pairs: Positive = 2**26  # of activities that share a machine; a job-shop with more is not tried


CLASSES: dict[str, type[MethodSettings]] = {
    "cp_sat": CpSat,
    "job_shop_policy": JobShopPolicy,
    "priority_rules": PriorityRules,
    "randomised_rules": RandomisedRules,
    "tabu_search": TabuSearch,
}
