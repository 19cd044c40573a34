"""Devices and links that a user can name, with their makers' figures, and a graph on them.

FLOPs and bytes per second are peaks, in single precision without tensor cores, because networks are exported so: real
operations take longer. A launch takes about 5 microseconds on each device.
"""

from __future__ import annotations

from typing import Literal

from pipeline.config.devices import Device, Link
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices.targets import linked
from pipeline.graphs.plans.sources import Source
from pipeline.graphs.problems.problem import Problem

DeviceName = Literal["t4", "v100", "a100"]
LinkName = Literal["pcie", "nvlink"]

_GB = 1e9
_LAUNCH = 5e-6  # seconds

DEVICES: dict[DeviceName, Device] = {
    # NVIDIA's data sheets of the T4 (2019), of the V100 (2020, SXM2 with 16 GB) and of the A100 (2020, SXM with 40 GB).
    "t4": Device(flops_per_second=8.1e12, bytes_per_second=320 * _GB, launch_seconds=_LAUNCH, memory_bytes=16 * _GB),
    "v100": Device(flops_per_second=15.7e12, bytes_per_second=900 * _GB, launch_seconds=_LAUNCH, memory_bytes=16 * _GB),
    "a100": Device(
        flops_per_second=19.5e12, bytes_per_second=1555 * _GB, launch_seconds=_LAUNCH, memory_bytes=40 * _GB
    ),
}

# Rates that copies between two devices reach: PCIe 3.0 x16 (16 GB/s at most), and NVLinks between two devices.
LINKS: dict[LinkName, Link] = {
    "pcie": Link(bytes_per_second=12 * _GB, seconds=20e-6),
    "nvlink": Link(bytes_per_second=100 * _GB, seconds=10e-6),
}


def on_devices(
    source: Source,
    devices: int | None = None,
    device: DeviceName = "v100",
    link: LinkName = "pcie",
    memory: float | None = None,
) -> Problem:
    """The graph of a source on these devices. devices, memory (GB of each): None for the source's own."""
    room = source.memory if memory is None else memory * _GB
    problem = problem_of(source.graph, devices or source.devices, DEVICES[device], room)
    return linked(problem, LINKS[link]).mean
