"""Settings of the imitation of GCC's orders."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from learned_schedulers.section import Section
from pipeline.lab.config.experiments import EXACTNESS, LearnsOrders


class Evidence(Section):
    """The network, set and seed whose wrong blocks are classified, and the sets that are searched for equal blocks."""

    model: str
    set: str
    seed: int
    training: str
    development: str


class Imitation(LearnsOrders):
    """Imitation of GCC's orders, for blocks of all lengths."""

    history: ClassVar[str | None] = "history"
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = EXACTNESS
    reads: ClassVar[tuple[str, ...]] = ("blocks", "confidence")

    task: Literal["imitation"]
    shipped: str | None = None  # network whose best seed goes into the package
    evidence: Evidence | None = None

    @model_validator(mode="after")
    def _names_are_of_networks(self) -> Imitation:
        for key, name in (("shipped", self.shipped), ("evidence.model", self.evidence and self.evidence.model)):
            if name is not None and name not in self.models:
                raise ValueError(f"{key} is {name!r}; models: {sorted(self.models)}")
        return self
