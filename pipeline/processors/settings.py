"""Settings of the best orders for processors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from learned_schedulers.blocks.processors.settings import Guessing
from pipeline.lab.config.experiments import OnBlocks, check_learned_sets, check_names

if TYPE_CHECKING:
    from pipeline.lab.config.params import Params


class Processors(OnBlocks):
    """The best orders for processors."""

    beside: ClassVar[tuple[str, ...]] = ("optima",)
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("cycles", "gcc"),)
    reads: ClassVar[tuple[str, ...]] = ("latency", "optima")

    task: Literal["processors"]
    guesses: dict[str, Guessing] = {}  # networks of the method `first_guess`

    def check(self, key: str, name: str, params: Params) -> None:
        """See Experiment.check."""
        super().check(key, name, params)
        check_learned_sets(key, "guesses", self, params)
        for network in self.guesses.values():
            check_names(f"{key}.guesses", network.machines, params.processors)
