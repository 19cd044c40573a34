"""Devices and the links between them, by name, with their makers' figures.

FLOPs and bytes per second are peaks, in single precision without tensor cores, because networks are exported so: real
operations take longer. A launch takes about 5 microseconds on each device. params.yaml may add further ones.
"""

from __future__ import annotations

import re
from enum import StrEnum, auto
from typing import Annotated, Literal

from pydantic import Field

from learned_schedulers.section import Positive, Section

Rate = Annotated[float, Field(gt=0)]
Duration = Annotated[float, Field(ge=0)]


class Device(Section):
    """Figures from which graphs/read/roofline.py computes run times."""

    flops_per_second: Rate
    bytes_per_second: Rate  # of its own memory
    launch_seconds: Duration  # of every operation, however small
    memory_bytes: Rate


class Link(Section):
    """A link between any two devices; results do not queue on it."""

    bytes_per_second: Rate
    seconds: Duration  # of every transfer, however small


GpuName = Literal["t4", "v100", "a100", "h100", "h200"]
DeviceName = Literal[GpuName, "cpu"]
LinkName = Literal["pcie", "nvlink"]

_GB = 1e9
_LAUNCH = 5e-6  # seconds

DEVICES: dict[DeviceName, Device] = {
    # NVIDIA's data sheets of the T4 (2019), of the V100 (2020, SXM2 with 16 GB), of the A100 (2020, SXM with 40 GB), of
    # the H100 (2023, SXM), and of the H200 (2024, SXM).
    "t4": Device(flops_per_second=8.1e12, bytes_per_second=320 * _GB, launch_seconds=_LAUNCH, memory_bytes=16 * _GB),
    "v100": Device(flops_per_second=15.7e12, bytes_per_second=900 * _GB, launch_seconds=_LAUNCH, memory_bytes=16 * _GB),
    "a100": Device(
        flops_per_second=19.5e12, bytes_per_second=1555 * _GB, launch_seconds=_LAUNCH, memory_bytes=40 * _GB
    ),
    "h100": Device(flops_per_second=67e12, bytes_per_second=3350 * _GB, launch_seconds=_LAUNCH, memory_bytes=80 * _GB),
    "h200": Device(flops_per_second=67e12, bytes_per_second=4800 * _GB, launch_seconds=_LAUNCH, memory_bytes=141 * _GB),
    # One of the two processors of a DGX H100, with half of its 2 TB (NVIDIA's data sheet, 2023): Intel's Xeon Platinum
    # 8480C, 56 cores at 2 GHz with two AVX-512 units each (64 FLOPs in a cycle), and eight channels of DDR5-4800.
    "cpu": Device(
        flops_per_second=7.168e12, bytes_per_second=307.2 * _GB, launch_seconds=_LAUNCH, memory_bytes=1000 * _GB
    ),
}

# Rates that copies between two devices reach: PCIe 3.0 x16 (16 GB/s at most), and NVLinks between two devices.
LINKS: dict[LinkName, Link] = {
    "pcie": Link(bytes_per_second=12 * _GB, seconds=20e-6),
    "nvlink": Link(bytes_per_second=100 * _GB, seconds=10e-6),
}


class Machines(Section):
    """Devices and targets that the schedules of a set are made for and judged on."""

    device: Device | None  # all devices are of this kind; none: the graphs bring their run times along
    devices: Positive
    memory_bytes: Rate | None = None  # of each device; none: the device's own
    links: dict[str, Link]
    targets: Annotated[list[str], Field(min_length=1)]


_STRENGTH = re.compile(r"\d{1,3}(\.\d{1,3})?")


class GraphTarget(StrEnum):
    """Targets of schedules of graphs, beside links with real figures (judging.py).

    Those of FROZEN_TARGETS have frozen strengths; the last two have one in their names, as `blocking_latency_0.6`.
    """

    PROXY = auto()
    NOISY = auto()
    BANDWIDTH = auto()
    LATENCY = auto()
    BLOCKING_BANDWIDTH = auto()
    BLOCKING_LATENCY = auto()


FROZEN_TARGETS = (GraphTarget.NOISY, GraphTarget.BANDWIDTH, GraphTarget.LATENCY)


def strength_of(name: str) -> tuple[GraphTarget, float] | None:
    """The target and the strength of a name such as `bandwidth_0.3`; None for another name.

    Strengths are in mean run times, or the deviation of the logarithm of a run time, as in targets.py.
    """
    kind, _, number = name.rpartition("_")
    if kind == GraphTarget.PROXY or kind not in list(GraphTarget) or not _STRENGTH.fullmatch(number):
        return None
    return GraphTarget(kind), float(number)
