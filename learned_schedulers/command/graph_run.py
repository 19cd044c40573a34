"""`graph --device cpu`, and `--run`: plans for cores of this machine, executed in turns with plain torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from learned_schedulers.graphs.plans.best import Trial
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.run.core import Core, measured

if TYPE_CHECKING:
    from learned_schedulers.graphs.plans.module_operations import Operations
    from learned_schedulers.graphs.plans.module_work import RunModule
    from learned_schedulers.graphs.read.export import Traced

CORES = 2  # that a plan is executed on


class Runnable(NamedTuple):
    """A module with weights, and its graph."""

    module: RunModule
    trace: Traced
    operations: Operations
    source: Source


def check(model: str, is_module: bool, device: str, devices: int | None, fuse: bool) -> None:
    """Raises ValueError for options that --run cannot follow."""
    if fuse:
        raise ValueError("--run: --fuse compiles and times on its own; leave out --run")
    if device != "cpu":
        raise ValueError("--run: plans are executed on cores of this machine; add --device cpu")
    if not is_module:
        raise ValueError(
            f"--run: {model} is a file, whose operations only its runtime has, and a runtime runs whole files: name "
            "the torch module that it was exported from (module:Class), or write the plan by --split"
        )
    if devices not in (None, CORES):
        raise ValueError(f"--run: plans are executed on {CORES} cores; leave out --devices {devices}")


def prepared(model: str, inputs: Sequence[str], options: Mapping[str, Any]) -> Runnable:
    """The module with weights. options: those of `export_module`. Raises ValueError that says why it cannot run."""
    from learned_schedulers.graphs.plans.module_export import source_of, trace_with_weights
    from learned_schedulers.graphs.plans.module_operations import Operations
    from learned_schedulers.graphs.plans.module_work import RunModule
    from learned_schedulers.graphs.plans.torch_errors import cause_and_remedy
    from learned_schedulers.graphs.read.export import Way
    from learned_schedulers.graphs.read.losses import loss_of
    from learned_schedulers.graphs.read.node_costs import Prices
    from learned_schedulers.graphs.read.own_costs import read_costs

    way = Way(loss_of(options.get("loss", "cross_entropy")), options.get("attention", True))
    module = RunModule(model, tuple(inputs), options.get("training", False), way)
    costs = options.get("costs")
    trace = trace_with_weights(module.named, module.inputs, module.training, module.way)
    source = source_of(
        model, trace, Prices({} if costs is None else read_costs(costs)), options.get("optimizer", "sgd")
    )
    try:
        operations = Operations(trace)
    except Exception as error:  # the user's operators may raise anything
        raise ValueError(f"{model}: --run: {cause_and_remedy(error)}") from error
    return Runnable(module, trace, operations, source)


def head(model: str, problem: Problem, source: Source, core: Core) -> str:
    """The first line about the devices."""
    edges = len(problem.children.targets)
    timed = "run times as profiled" if len(source.graph.seconds) else f"measured just now: {core}"
    room = core.memory_bytes / problem.devices if problem.memory == float("inf") else problem.memory
    return (
        f"{model}: {len(problem)} operations, {edges} edges; {problem.devices} cores of this machine, each with "
        f"{room / 1e9:.3g} GB, {timed}; copies between them {core.copied_bytes_per_second / 1e9:.3g} GB/s\n"
    )


def predicted(source: Source, problem: Problem, core: Core, best: Trial) -> dict[str, float]:
    """Seconds of the plan, and of plain torch with one thread and as many as devices, by rates measured now.

    Empty if this machine does not have so many cores, or the graph has times of its own.
    """
    from learned_schedulers.graphs.plans.beside_torch import predictions

    threads = problem.devices
    if len(source.graph.seconds) or not 1 < threads <= len(os.sched_getaffinity(0)):
        return {}
    return predictions(source, best.seconds, {1: core, threads: measured(source.types, threads)})


def tell_fastest(seconds: Mapping[str, float]) -> None:
    """Print which is expected to be the fastest."""
    from learned_schedulers.graphs.plans.beside_torch import predicted_text

    if seconds:
        print(f"\n{predicted_text(seconds)}", flush=True)


def run(runnable: Runnable, problem: Problem, best: Trial, seconds: Mapping[str, float]) -> None:
    """Execute the plan in turns with plain torch, and print what was measured."""
    from learned_schedulers.graphs.plans.beside_torch import measured_text
    from learned_schedulers.graphs.plans.module_run import timed_in_turns

    assert best.order is not None and best.placement is not None
    turns = timed_in_turns(
        runnable.module,
        runnable.trace,
        runnable.operations,
        problem.parents,
        best.order,
        best.placement,
        lambda activity: print(f"{activity} ...", file=sys.stderr, flush=True),
    )
    print(f"\n{measured_text(seconds, turns)}")
