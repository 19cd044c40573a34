"""The search for a pipeline, what `graph --for throughput` prints about it, and its files."""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.command.graph_outputs import split_file
from learned_schedulers.files import printable
from learned_schedulers.graphs.plans.pipelines import summary
from learned_schedulers.graphs.plans.pipelines.search import Plan, Task, best_plans
from learned_schedulers.graphs.plans.pipelines.simulator import timeline_of
from learned_schedulers.graphs.plans.trace import trace
from learned_schedulers.graphs.problems.problem import Problem


def check(problem: Problem, micro_batches: int, optimizer: str) -> None:
    """Raises ValueError for devices that differ, and for an optimiser that has no micro-batches."""
    if not problem.equal:
        raise ValueError(
            "--for throughput: devices or links differ, but stages are planned on equal ones; list one kind of device "
            f"and one --link, as --devices {problem.devices} --device h100, or leave out --for throughput"
        )
    if optimizer == "fused" and micro_batches > 1:
        raise ValueError(
            "--optimizer fused: it takes a step with each gradient, but micro-batches add theirs up before the step; "
            "choose sgd, or --micro-batches 1"
        )


def pipelined(model: str, task: Task) -> Plan:
    """The fastest pipeline; all schedules are printed. Raises ValueError if none fits the memory."""
    plans = best_plans(task)
    best = min(plans.values(), key=lambda plan: plan.rank)
    if best.times is None:
        least = min(float(plan.peaks.max()) for plan in plans.values())
        raise ValueError(
            f"{model}: no pipeline was found that fits the memory: the least needs {least / 1e9:.6g} GB on a device of "
            f"{task.memory / 1e9:.6g} GB; give more --memory, more --devices, or a smaller batch"
        )
    training = " forward and backward, and sums their gradients" if best.stages.training else ""
    print(f"{task.micro_batches} micro-batches, each of the model's own batch; a step runs all of them{training}")
    print(summary.plans_text(task, plans, best))
    print()
    print(summary.stages_text(task, best))
    return best


def content(name: str, task: Task, best: Plan, heading: str, path: Path) -> tuple[bytes, str]:
    """Content of an output file, and what to say of it."""
    problem = task.problem
    if name == "split":
        remark = "each stage is on the first of its devices" if max(best.copies) > 1 else ""
        return split_file(problem, task.source, best.placement), remark
    assert best.times is not None
    timeline, names = timeline_of(best.times, best.pipeline, task.device_names)
    if name == "trace":
        return trace(timeline, names, [f"stage {name[1:].partition('.')[0]}" for name in names]).encode(), ""
    from learned_schedulers import figures
    from learned_schedulers.graphs.plans.gantt import gantt  # slow to import: pandas and matplotlib

    title = f"{best.name}, {len(best.stages)} stages, bubbles {best.times.bubbles:.1%}"
    figure = gantt({title: timeline}, task.bound, printable(heading), names, "pass of the step")
    return figures.content(figure, path.suffix), ""
