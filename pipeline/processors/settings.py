"""Settings of the best orders for processors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import model_validator

from learned_schedulers.blocks.processors.settings import Guessing
from learned_schedulers.section import Positive, Section
from pipeline.lab.config.experiments import OnBlocks, check_learned_sets, check_names

if TYPE_CHECKING:
    from pipeline.lab.config.params import Params


class Shown(Section):
    """Example blocks, as timelines, that the page shows of one target."""

    target: str
    set: str
    best: str  # exact method of the best orders
    blocks: Positive
    longest: Positive  # instructions


class Processors(OnBlocks):
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
        check_learned_sets(key, "guesses", self, params)
        for network in self.guesses.values():
            check_names(f"{key}.guesses", network.machines, params.processors)

    @model_validator(mode="after")
    def _targets_are_its_own(self) -> Processors:
        if self.shown:
            check_names("shown.target", [self.shown.target], self.targets)
            check_names("shown.set", [self.shown.set], self.sets)
            check_names("shown.best", [self.shown.best], self.methods)
        return self
