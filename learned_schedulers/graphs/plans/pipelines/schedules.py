"""Schedules of a pipeline: which passes each device runs, in which order.

GPipe (Huang et al. 2019) runs all forward passes, then all backward passes. 1F1B (PipeDream, Narayanan et al. 2019;
without its stale weights, Narayanan et al. 2021) begins with as many forward passes as keep the later stages busy, and
then takes turns, so that few micro-batches are in flight. The interleaved schedule (Megatron, Narayanan et al. 2021)
gives each device several stages, v of them, of each round of p stages one, and divides the bubble by v.

Several devices may have copies of a stage: they take turns with the micro-batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["gpipe", "1f1b", "interleaved"]


class Pass(NamedTuple):
    """A pass of a micro-batch through a stage."""

    stage: int
    micro_batch: int
    backward: bool


class Pipeline(NamedTuple):
    """Stages on devices, and the schedule of m micro-batches."""

    homes: tuple[tuple[int, ...], ...]  # of each stage: the devices that have it
    kind: Kind
    micro_batches: int

    @property
    def devices(self) -> int:
        """Devices that have a stage; they are numbered from 0 on."""
        return 1 + max(device for home in self.homes for device in home)

    def device(self, stage: int, micro_batch: int) -> int:
        """Where a micro-batch passes through a stage."""
        return self.homes[stage][micro_batch % len(self.homes[stage])]


def orders(pipeline: Pipeline, training: bool) -> list[list[Pass]]:
    """The passes of each device, in their order. Raises ValueError if the schedule does not suit the pipeline."""
    if pipeline.kind == "interleaved":
        return _interleaved(pipeline, training)
    listed: list[list[Pass]] = [[] for _ in range(pipeline.devices)]
    for stage, home in enumerate(pipeline.homes):
        later = sum(map(len, pipeline.homes[stage:]))
        for turn, device in enumerate(home):
            numbers = range(turn, pipeline.micro_batches, len(home))
            ahead = len(numbers) if pipeline.kind == "gpipe" else -(-later // len(home))
            forward = [Pass(stage, number, False) for number in numbers]
            backward = [Pass(stage, number, True) for number in numbers] if training else []
            listed[device] += _in_turns(forward, backward, ahead)
    return listed


def _in_turns(forward: Sequence[Pass], backward: Sequence[Pass], ahead: int) -> list[Pass]:
    """So many forward passes before the first backward pass, then a pass of each kind in turns."""
    ahead = min(ahead, len(forward))
    listed = list(forward[:ahead])
    for number, of_gradients in enumerate(backward):
        listed += [of_gradients, *forward[ahead + number : ahead + number + 1]]
    return listed if backward else list(forward)


def _interleaved(pipeline: Pipeline, training: bool) -> list[list[Pass]]:
    """Stage i is on the devices of stage i modulo p. Micro-batches go in groups of p through one stage of a device."""
    first_homes = tuple(dict.fromkeys(pipeline.homes))
    p, copies = len(first_homes), len(first_homes[0])
    chunks = range(len(pipeline.homes) // p)
    listed: list[list[Pass]] = [[] for _ in range(pipeline.devices)]
    if pipeline.homes != first_homes * len(chunks) or pipeline.micro_batches % (p * copies):
        raise ValueError(
            f"{pipeline.micro_batches} micro-batches: an interleaved schedule on {p} x {copies} devices needs a "
            f"multiple of {p * copies}, and as many stages on each device"
        )
    for place, home in enumerate(first_homes):
        for turn, device in enumerate(home):
            numbers = range(turn, pipeline.micro_batches, copies)
            groups = [numbers[begin : begin + p] for begin in range(0, len(numbers), p)]
            steps = [(chunk * p + place, number) for group in groups for chunk in chunks for number in group]
            back = [(chunk * p + place, number) for group in groups for chunk in chunks[::-1] for number in group]
            forward = [Pass(*step, False) for step in steps]
            backward = [Pass(*step, True) for step in back] if training else []
            listed[device] = _in_turns(forward, backward, (p - place - 1) * 2 + (len(chunks) - 1) * p + 1)
    return listed


def most_in_flight(order: Sequence[Pass], stages: int) -> list[int]:
    """Of each stage: the most micro-batches whose forward pass has begun, and whose backward pass has not ended."""
    now, most = [0] * stages, [0] * stages
    for step in order:
        now[step.stage] += -1 if step.backward else 1
        most[step.stage] = max(most[step.stage], now[step.stage])
    return most
