"""Devices and the links between them, by name, with the figures of their data sheets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.section import Positive, Section

Rate = Annotated[float, Field(gt=0)]
Duration = Annotated[float, Field(ge=0)]


class Device(Section):
    """Figures from which graphs/corpus/roofline.py computes run times."""

    flops_per_second: Rate
    bytes_per_second: Rate  # of its own memory
    launch_seconds: Duration  # of every operation, however small
    memory_bytes: Rate


class Link(Section):
    """A link between any two devices; results do not queue on it."""

    bytes_per_second: Rate
    seconds: Duration  # of every transfer, however small


class Machines(Section):
    """Devices and targets that the schedules of a set are made for and judged on."""

    device: Device | None  # all devices are of this kind; none: the graphs bring their run times along
    devices: Positive
    memory_bytes: Rate | None = None  # of each device; none: the device's own
    links: dict[str, Link]
    targets: Annotated[list[str], Field(min_length=1)]
