"""Settings of orders that are timed on the machine at hand."""

from __future__ import annotations

from typing import ClassVar, Literal

from learned_schedulers.blocks.run.timing_settings import TimingSettings
from pipeline.lab.config.experiments import OnBlocks


class Hardware(OnBlocks):
    """Orders for processors, timed on the machine at hand."""

    results: ClassVar[tuple[str, ...]] = ("results", "outcomes")
    measured: ClassVar[bool] = True
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("cycles", "gcc"),)
    reads: ClassVar[tuple[str, ...]] = (
        *("blocks", "latency", "timings", "timed_blocks"),
        *("instructions", "machine_instructions"),
    )
    judged_orders: ClassVar[str] = "timings"

    task: Literal["hardware"]
    timing: TimingSettings
