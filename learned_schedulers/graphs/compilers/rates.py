"""Rates at which a machine runs kernels: the constants of the cost of fusion, and the frozen ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from learned_schedulers.graphs.devices.settings import DEVICES, Device

FROZEN = Path(__file__).parent / "frozen" / "rates.json"


@dataclass(frozen=True)
class Rates:
    """A roofline with two levels of memory (Williams, Waterman & Patterson 2009), and a launch per kernel.

    A kernel moves up to `cache_bytes` at the cache's rate, and all further bytes at the memory's rate.
    """

    launch_seconds: float
    cache_bytes: float
    cache_bytes_per_second: float
    memory_bytes_per_second: float
    simple_per_second: float  # elements of cheap operations
    expensive_per_second: float  # elements of expensive operations
    reduced_per_second: float  # elements read by a reduction
    moved_per_second: float  # elements written by an operation that moves data
    library_flops_per_second: float

    def moving(self, moved_bytes: float) -> float:
        """Seconds to move `moved_bytes`."""
        beyond = max(moved_bytes - self.cache_bytes, 0.0)
        return (moved_bytes - beyond) / self.cache_bytes_per_second + beyond / self.memory_bytes_per_second


def rates_of(device: Device) -> Rates:
    """Rates of a named device, whose roofline has one level of memory; an expensive element counts as eight FLOPs."""
    flops, moved = device.flops_per_second, device.bytes_per_second
    return Rates(device.launch_seconds, 0.0, moved, moved, flops, flops / 8, flops, flops, flops)


def rates_for(target: str, device: Device | None) -> Rates:
    """Rates of a target: its own if it is the name of a device, else the device's, else those of this machine."""
    chosen = next((of_name for name, of_name in DEVICES.items() if name == target), device)
    return frozen_rates() if chosen is None else rates_of(chosen)


def frozen_rates() -> Rates:
    """Rates fitted to the measurements of reports/published/fusion_cost, before any network was trained."""
    return Rates(**json.loads(FROZEN.read_text()))
