"""Settings of the imitation of GCC's orders."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from pipeline.lab.config.experiments import EXACTNESS, LearnsOrders


class Imitation(LearnsOrders):
    """Imitation of GCC's orders, for blocks of all lengths."""

    history: ClassVar[str | None] = "history"
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = EXACTNESS
    reads: ClassVar[tuple[str, ...]] = ("blocks", "confidence")

    task: Literal["imitation"]
    shipped: str | None = None  # network whose best seed goes into the package

    @model_validator(mode="after")
    def _shipped_is_a_network(self) -> Imitation:
        if self.shipped is not None and self.shipped not in self.models:
            raise ValueError(f"shipped is {self.shipped!r}; models: {sorted(self.models)}")
        return self
