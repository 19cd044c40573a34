"""Schedulers and their settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.machines import ProcessorModel
from pipeline.config.ordering import Ordering
from pipeline.config.section import Positive, Section

Priority = Literal["critical_path", "weighted_height", "register_pressure", "source_order"]
Walk = Literal["restarts", "annealing", "mcmc"]
HaifaRule = Literal["priority", "last_insn", "dependents"]


class Rollouts(Section):
    """How the preference of a policy is learned (schedulers/on_machine/rollouts.py)."""

    blocks: Positive
    rollouts: Positive  # of each ready instruction
    rounds: Positive
    randomness: Annotated[float, Field(ge=0, le=1)]  # of the choices of rollouts after the first round
    changes: Annotated[int, Field(ge=0)] = 0  # of the weights, tried one after another (on_machine/refinement.py)


class Scheduler(Section):
    """A scheduler and its settings: each is taken by the methods named behind it, and refused by the others."""

    method: str
    model: str | None = None
    iterations: Annotated[Positive | None, "soft_permutation"] = None
    priority: Annotated[Priority | None, "list_scheduling"] = None
    search: Annotated[Walk | None, "search"] = None
    # orders timed, by search or of those that a network draws
    evaluations: Annotated[Positive | None, "search", "branch_and_bound", "cp_sat", "ordering"] = None
    states: Annotated[Positive | None, "branch_and_bound"] = None  # beginnings of orders of each block
    nodes: Annotated[Positive | None, "milp"] = None  # limit for each block
    seconds: Annotated[Annotated[float, Field(gt=0)] | None, "cp_sat"] = None  # the same, of deterministic time
    learning: Annotated[Rollouts | None, "policy"] = None
    issue_rate: Annotated[Positive | None, "haifa"] = None  # instructions per cycle
    rules: Annotated[list[HaifaRule] | None, "haifa"] = None  # all by default
    machines: list[str] | None = None  # processors of `scheduling` that it is run for; all by default
    exact: Annotated[bool | None, "cp_sat", "branch_and_bound"] = None  # whether what it proves is measured

    @model_validator(mode="after")
    def _settings_are_of_the_method(self) -> Scheduler:
        for name, field in type(self).model_fields.items():
            methods = [said for said in field.metadata if isinstance(said, str)]
            if methods and getattr(self, name) is not None and self.method not in methods:
                raise ValueError(f"{name} is a setting of {' and '.join(methods)}, not of {self.method}")
        return self


class Scheduling(Section):
    """Every scheduler on processor models."""

    seeds: Annotated[list[int], Field(min_length=1)]  # of networks; the others take the first
    tested: Annotated[list[str], Field(min_length=1)]  # names of sets
    machines: Annotated[dict[str, ProcessorModel], Field(min_length=1)]
    schedulers: dict[str, Scheduler]
    models: dict[str, Ordering]  # networks that learn the best orders found
