"""Settings of the best orders for processors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import model_validator

from learned_schedulers.blocks.processors.settings import Guessing
from learned_schedulers.section import Positive, Section
from pipeline.lab.config.experiments import LearnsOrders, check_names

if TYPE_CHECKING:
    from pipeline.lab.config.params import Params


class Shown(Section):
    """Curves and example blocks, as timelines, that the page shows of one target."""

    target: str
    set: str
    method: str
    blocks: Positive
    longest: Positive  # instructions


class Processors(LearnsOrders):
    """The best orders for processors."""

    drawn: ClassVar[tuple[str, ...]] = ("timelines",)
    beside: ClassVar[tuple[str, ...]] = ("optima",)
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("cycles", "gcc"),)
    reads: ClassVar[tuple[str, ...]] = ("latency", "optima")

    task: Literal["processors"]
    guesses: dict[str, Guessing] = {}  # networks of the method `first_guess`
    shown: Shown | None = None

    def check(self, key: str, name: str, params: Params) -> None:
        """See Experiment.check."""
        super().check(key, name, params)
        for network in self.guesses.values():
            check_names(f"{key}.guesses", [network.training, network.development], params.sets)
            check_names(f"{key}.guesses", network.machines, params.processors)

    @model_validator(mode="after")
    def _targets_are_its_own(self) -> Processors:
        for name, model in self.models.items():
            if not model.machines or set(model.machines) - set(self.targets):
                raise ValueError(f"models.{name}.machines must name some of targets: {self.targets}")
        if self.shown and (self.shown.target not in self.targets or self.shown.set not in self.sets):
            raise ValueError(f"shown names a target or a set that is not of {self.targets}, {self.sets}")
        return self
