"""Times and memory of a schedule of a pipeline.

A device runs its passes in their order, each as soon as the device is free and all that it reads has arrived. What a
pass sends departs when it has ended: one message to each stage that reads of it, one after the other on a link of two
devices in one direction, while devices compute. Copies of a stage sum their gradients at the end, by a ring: each of
r copies sends 2 (r - 1) / r of the bytes, in 2 (r - 1) messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from learned_schedulers.graphs.devices.timeline import Timeline
from learned_schedulers.graphs.plans.pipelines.schedules import Pass, Pipeline
from learned_schedulers.graphs.plans.pipelines.stages import Stages


@dataclass(frozen=True)
class Times:
    """The times of a step, in seconds from its start."""

    devices: int
    begins: dict[Pass, float]
    ends: dict[Pass, float]
    homes: dict[Pass, int]  # device of each pass
    arrivals: dict[tuple[Pass, int], float]  # of what a pass sends to a stage on another device
    sums: dict[int, tuple[float, float]] = field(default_factory=dict)  # begin and end of a stage's sum of gradients

    @property
    def seconds(self) -> float:
        return max([*self.ends.values(), *(end for _, end in self.sums.values())], default=0.0)

    @property
    def bubbles(self) -> float:
        """The share of the step in which a device runs no pass, the mean over the devices."""
        busy = sum(self.ends[step] - self.begins[step] for step in self.ends)
        return 1 - busy / (self.devices * self.seconds) if self.seconds else 0.0


def simulated(
    stages: Stages, pipeline: Pipeline, listed: Sequence[Sequence[Pass]], slope: float, delay: float
) -> Times:
    """The times of a step. listed: the passes of each device; slope, delay: of `Transfers`.

    Raises ValueError if passes wait for each other.
    """
    times = Times(len(listed), {}, {}, {}, {})
    links: dict[tuple[int, int], float] = {}  # when they are free
    free, position = [0.0] * len(listed), [0] * len(listed)
    waiting = sum(map(len, listed))
    while waiting:
        before = waiting
        for device, order in enumerate(listed):
            while position[device] < len(order):
                step = order[position[device]]
                needs = _needs(stages, step)
                if any(other not in times.ends for other in needs):
                    break
                ready = [times.arrivals.get((other, step.stage), times.ends[other]) for other in needs]
                begin = max([free[device], *ready])
                free[device] = begin + float((stages.backward if step.backward else stages.forward)[step.stage])
                times.begins[step], times.ends[step], times.homes[step] = begin, free[device], device
                for reader in _readers(stages, step):
                    receiver = pipeline.device(reader, step.micro_batch)
                    if receiver != device:
                        link = (device, receiver)
                        links[link] = max(free[device], links.get(link, 0.0))
                        links[link] += slope * float(stages.sent[step.stage, reader])
                        times.arrivals[step, reader] = links[link] + delay
                position[device] += 1
                waiting -= 1
        if waiting == before:
            heads = [order[at] for order, at in zip(listed, position, strict=True) if at < len(order)]
            raise ValueError(f"passes wait for each other: {', '.join(map(str, heads))}")
    for stage, home in enumerate(pipeline.homes):
        if len(home) > 1 and stages.training:
            begin = max(free[device] for device in home)
            turns = 2 * (len(home) - 1)
            end = begin + turns * (slope * float(stages.gradients[stage]) / len(home) + delay)
            times.sums[stage] = begin, end
            for device in home:
                free[device] = end
    return times


def _needs(stages: Stages, step: Pass) -> list[Pass]:
    """The passes that a pass waits for."""
    others = np.flatnonzero(stages.feeds[:, step.stage]).tolist()
    if not step.backward:
        return [step._replace(stage=other) for other in others if other < step.stage]
    return [step._replace(backward=False), *(step._replace(stage=other) for other in others if other > step.stage)]


def _readers(stages: Stages, step: Pass) -> list[int]:
    """The stages that read what a pass sends."""
    others = np.flatnonzero(stages.feeds[step.stage]).tolist()
    return [other for other in others if (other < step.stage) == step.backward]


def peaks(stages: Stages, pipeline: Pipeline, listed: Sequence[Sequence[Pass]]) -> np.ndarray:
    """(m,) the most bytes that each device holds at a time."""
    most = np.zeros(len(listed))
    for device, order in enumerate(listed):
        always = sum(float(stages.always[stage]) for stage, home in enumerate(pipeline.homes) if device in home)
        saved = 0.0  # of the micro-batches in flight
        for stage, _, backward in order:
            if backward:
                saved -= float(stages.saved[stage])
            during = stages.backward_peak[stage] if backward else stages.forward_peak[stage]
            most[device] = max(most[device], always + saved + float(during))
            if stages.training and not backward:
                saved += float(stages.saved[stage])
    return most


def timeline_of(times: Times, pipeline: Pipeline, names: Sequence[str]) -> tuple[Timeline, list[str]]:
    """The passes, and sums of gradients, in the form of a schedule's operations; and their names.

    F2.5 is the forward pass of micro-batch 5 through stage 2, B2.5 its backward pass, S2 the sum of the stage's
    gradients. names: of the devices.
    """
    passes = sorted(times.ends, key=lambda step: (step.backward, step.micro_batch, step.stage))
    number = {step: k for k, step in enumerate(passes)}
    rows = [
        (
            f"{'FB'[step.backward]}{step.stage}.{step.micro_batch}",
            times.homes[step],
            times.begins[step],
            times.ends[step],
        )
        for step in passes
    ]
    rows += [(f"S{stage}", device, *span) for stage, span in times.sums.items() for device in pipeline.homes[stage]]
    labels, devices, begins, ends = zip(*rows, strict=True)
    timeline = Timeline(
        devices=times.devices,
        placement=np.array(devices, np.int32),
        begins=np.array(begins),
        ends=np.array(ends),
        results=np.array([number[step] for step, _ in times.arrivals], np.int64),
        receivers=np.array([pipeline.device(reader, step.micro_batch) for step, reader in times.arrivals], np.int64),
        arrivals=np.array(list(times.arrivals.values())),
        names=tuple(names[: times.devices]),
    )
    return timeline, list(labels)
