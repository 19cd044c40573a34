"""Settings of the reproduction: networks for blocks of one length."""

from __future__ import annotations

from typing import ClassVar, Literal

from learned_schedulers.blocks.models.pocsnet_settings import Training
from pipeline.lab.config.experiments import EXACTNESS, OnBlocks


class Reproduction(OnBlocks):
    """POCSNet's experiment: networks for blocks of one length."""

    results: ClassVar[tuple[str, ...]] = ("results",)
    history: ClassVar[str | None] = "history"
    by_schedule: ClassVar[tuple[str, ...]] = ("block_outcomes",)
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = EXACTNESS
    reads: ClassVar[tuple[str, ...]] = ("splits", "latency")
    batch: ClassVar[int] = 0

    task: Literal["reproduction"]
    models: dict[str, Training]

    @property
    def by_training(self) -> tuple[str, ...]:
        """Figure 3 is of the network `popocs`."""
        return ("sweep",) if "popocs" in self.models else ()
