"""Console text about pipelines: the schedules, then the stages of the chosen one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from learned_schedulers.graphs.plans.pipelines.schedules import most_in_flight
from learned_schedulers.graphs.plans.pipelines.search import Plan, Task
from learned_schedulers.graphs.plans.summary import aligned, megabytes, milliseconds, places_text, ratio

_HEAD = ("schedule", "stages", "devices", "step", "micro-batches/s", "speedup", "over bound", "bubbles", "peak memory")


def plans_text(task: Task, plans: Mapping[str, Plan], best: Plan) -> str:
    """A line for each schedule; its speedup is over all micro-batches one after the other on one device."""
    alone = task.micro_batches * float(task.problem.seconds.sum())
    rows: list[tuple[str, ...]] = [_HEAD]
    notes = [""]
    for name, plan in plans.items():
        sizes = str(len(plan.stages)), str(plan.pipeline.devices)
        peak = megabytes(float(plan.peaks.max()))
        if plan.times is None:
            rows.append((name, *sizes, *["-"] * 5, peak))
            notes.append(f"a device has {task.memory / 1e9:.6g} GB")
            continue
        compared = _compared(task, plan.seconds, alone)
        rows.append((name, *sizes, *compared, f"{plan.times.bubbles:.1%}", peak))
        anew = ", ".join(map(str, np.flatnonzero(plan.anew)))
        remarks = ["<- chosen"] * (plan is best) + [f"forward anew before gradients: stages {anew}"] * bool(anew)
        notes.append("; ".join(remarks))
    rows.append(("lower bound", "", "", *_compared(task, task.bound, alone), "", ""))
    return aligned(rows, notes)


def _compared(task: Task, seconds: float, alone: float) -> tuple[str, str, str, str]:
    speed = f"{task.micro_batches / seconds:,.4g}" if seconds else "-"
    return milliseconds(seconds), speed, ratio(alone, seconds), ratio(seconds, task.bound)


def stages_text(task: Task, plan: Plan) -> str:
    """A line for each stage, then the operations of its forward pass, and how good the split is."""
    stages, pipeline, devices = plan.stages, plan.pipeline, task.device_names
    in_flight = [0] * len(stages)
    for order in plan.listed:
        in_flight = list(map(max, in_flight, most_in_flight(order, len(stages))))
    head = ("stage", "devices", "operations", "forward", *["backward"] * stages.training, "sent", "weights, states")
    head += ("gradients", "in flight") if stages.training else ()
    rows = [(*head, "peak memory")]
    for stage, home in enumerate(pipeline.homes):
        backward = [milliseconds(float(stages.backward[stage]))] if stages.training else []
        saved = f"{in_flight[stage]} x {megabytes(float(stages.saved[stage]))}"
        of_training = [megabytes(float(stages.gradients[stage])), saved] if stages.training else []
        ends = [devices[device] for device in sorted({home[0], home[-1]})]
        rows.append(
            (
                str(stage),
                (" to " if len(home) > 2 else ", ").join(ends),
                str(int((plan.split.stage_of == stage).sum())),
                milliseconds(float(stages.forward[stage])),
                *backward,
                megabytes(float(stages.sent[stage].sum())),
                megabytes(float(stages.weights[stage])),
                *of_training,
                megabytes(float(plan.peaks[list(home)].max())),
            )
        )
    forward = np.flatnonzero(~task.backward)
    names, numbers = [task.source.names[i] for i in forward], list(map(str, range(len(stages))))
    lines = [aligned(rows), places_text(plan.split.stage_of[forward], numbers, names, noun="stage")]
    if len(devices) > pipeline.devices:
        idle, (kind, dot, _) = len(devices) - pipeline.devices, devices[0].partition(".")
        fewer = f"{kind}:{pipeline.devices}" if dot else str(pipeline.devices)
        lines.append(f"idle devices: {idle}; --devices {fewer} has room for the same pipeline")
    if not plan.split.exact:
        lines.append("the split is the best along one order of the operations; all others are too many to try")
    return "\n".join(lines)
