"""`graph --device cpu`, and `--run`: plans for cores or a GPU of this machine, in turns with the runtime by itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from learned_schedulers.graphs.devices.number_rates import rates_of
from learned_schedulers.graphs.devices.settings import DEVICES, DeviceName
from learned_schedulers.graphs.plans.best import Trial
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.graphs.run.core import Core, measured

if TYPE_CHECKING:
    from learned_schedulers.graphs.plans.module_operations import Operations
    from learned_schedulers.graphs.plans.module_work import RunModule
    from learned_schedulers.graphs.plans.pieces.file_run import FileRun
    from learned_schedulers.graphs.plans.turns import Turns
    from learned_schedulers.graphs.read.export import Traced
    from learned_schedulers.graphs.read.module_memory import Optimiser

CORES = 2  # that a plan is executed on
STREAMS = 2  # of a GPU, by default


class Runnable(Protocol):
    """A model that can be executed, and its graph."""

    @property
    def source(self) -> Source:
        """Its n operations."""

    def turns(self, problem: Problem, order: np.ndarray, placement: np.ndarray, tell: Callable[[str], None]) -> Turns:
        """Execute a schedule, (n,) and (n,), in turns with its runtime by itself."""


class RunnableModule(NamedTuple):
    """A module with weights, and its graph."""

    module: RunModule
    trace: Traced
    operations: Operations
    source: Source

    def turns(self, problem: Problem, order: np.ndarray, placement: np.ndarray, tell: Callable[[str], None]) -> Turns:
        from learned_schedulers.graphs.plans.module_run import timed_in_turns

        return timed_in_turns(self.module, self.trace, self.operations, problem.parents, order, placement, tell)


class RunnableOnGpu(NamedTuple):
    """A module with weights on this machine's GPU, and its graph."""

    trace: Traced
    operations: Operations
    source: Source

    def turns(self, problem: Problem, order: np.ndarray, placement: np.ndarray, tell: Callable[[str], None]) -> Turns:
        from learned_schedulers.graphs.plans.stream_run import timed_on_streams

        return timed_on_streams(self.trace, self.operations, problem.parents, order, placement, tell)


class RunnableFile(NamedTuple):
    """An ONNX file, and its graph."""

    file: FileRun
    source: Source

    def turns(self, problem: Problem, order: np.ndarray, placement: np.ndarray, tell: Callable[[str], None]) -> Turns:
        return self.file.timed_in_turns(order, placement, problem.seconds, tell)


def runtime_of(model: str, is_module: bool) -> str:
    """What runs a model by itself; empty for a workload, which nothing runs."""
    if is_module:
        return "torch"
    return "onnxruntime" if Path(model).suffix.lower() == ".onnx" else ""


def check(runtime: str, model: str, device: str, devices: int | None, fuse: bool) -> None:
    """Raises ValueError for options that --run cannot follow, and for a runtime that is not installed."""
    if fuse:
        raise ValueError("--run: --fuse compiles and times on its own; leave out --run")
    if device != "cpu":
        _check_gpu(runtime, model)
    if not runtime:
        raise ValueError(
            f"--run: {model} is a workload, which has times and no operations that could run: name the ONNX file or "
            "the torch module (module:Class) that it was measured of, or leave out --run"
        )
    if device == "cpu" and devices not in (None, CORES):
        raise ValueError(f"--run: plans are executed on {CORES} cores; leave out --devices {devices}")
    if runtime == "onnxruntime":
        from learned_schedulers.graphs.plans.pieces.sessions import check_installed

        check_installed()


def _check_gpu(runtime: str, model: str) -> None:
    """Raises ValueError if this machine's GPU cannot run the model."""
    if runtime != "torch":
        raise ValueError(f"--run: {model} runs on cores of this machine alone; add --device cpu")
    import torch

    if not torch.cuda.is_available():
        raise ValueError(
            "--run: torch sees no GPU here (torch.cuda.is_available()); add --device cpu to run the plan on cores"
        )


def prepared_file(
    path: Path, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], numbers: Mapping[str, float]
) -> RunnableFile:
    """An ONNX file whose parts can run. Raises ValueError that says why it cannot."""
    from learned_schedulers.graphs.plans.pieces.file_run import FileRun
    from learned_schedulers.graphs.plans.sources import of_file
    from learned_schedulers.graphs.read.onnx_files import walked

    file = walked(path, dimensions=sizes, shapes=shapes)
    run_file = FileRun(path, file, numbers)
    units = run_file.units.of_operations
    groups = units if len(np.unique(units)) < len(units) else None  # operations that run together share a device
    return RunnableFile(run_file, replace(of_file(file.named), groups=groups))


def prepared(
    model: str, inputs: Sequence[str], options: Mapping[str, Any], on_gpu: bool
) -> RunnableModule | RunnableOnGpu:
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
    training = options.get("training", False)
    optimiser = None if on_gpu else options.get("optimizer")
    module = RunModule(model, tuple(inputs), training, way, optimiser)
    costs = options.get("costs")
    where = "cuda" if on_gpu else "cpu"
    trace = trace_with_weights(module.named, module.inputs, module.training, module.way, where)
    source = source_of(
        model, trace, Prices({} if costs is None else read_costs(costs)), options.get("optimizer", "sgd")
    )
    try:
        operations = Operations(trace, module.optimiser)
    except Exception as error:  # the user's operators may raise anything
        raise ValueError(f"{model}: --run: {cause_and_remedy(error)}") from error
    if on_gpu:
        return RunnableOnGpu(trace, operations, source)
    return RunnableModule(module, trace, operations, source)


def on_streams(source: Source, device: DeviceName, streams: int | None, memory: float | None, tf32: bool) -> Problem:
    """The problem of streams that share this machine's GPU: there are no transfers, and each has a share of its memory.

    Times are those of a whole GPU for each stream. Raises ValueError if the device has no tf32.
    """
    rates = rates_of(source.types or ("float32",) * len(source.graph), device, tf32)
    count, figures = streams or STREAMS, DEVICES[device]
    room = (figures.memory_bytes if memory is None else memory * 1e9) / count
    return problem_of(source.graph, count, figures, room, rates, *source.in_memory)


def predicted_on_gpu(problem: Problem, best: Trial) -> dict[str, float]:
    """Seconds of the plan, and of torch by itself, which runs one operation after the other."""
    from learned_schedulers.graphs.plans.stream_run import CAPTURED, EAGER
    from learned_schedulers.graphs.plans.turns import PLAN

    alone = float(problem.seconds.sum())
    return {PLAN: best.seconds, EAGER: alone, CAPTURED: alone}


def head_on_gpu(model: str, problem: Problem, device: DeviceName) -> str:
    """The first line about the streams."""
    import torch

    return (
        f"{model}: {len(problem)} operations, {len(problem.children.targets)} edges; {problem.devices} streams of "
        f"{torch.cuda.get_device_name()}, with the figures of the {device}. Times are predicted as if each stream had "
        "a GPU of its own: an operation that fills the GPU gains nothing from a second stream\n"
    )


def head(model: str, problem: Problem, source: Source, core: Core, memory: float | None) -> str:
    """The first line about the devices."""
    edges = len(problem.children.targets)
    timed = "run times as profiled" if len(source.graph.seconds) else f"measured just now: {core}"
    room = source.room(memory, core.memory_bytes / problem.devices)
    return (
        f"{model}: {len(problem)} operations, {edges} edges; {problem.devices} cores of this machine, each with "
        f"{room / 1e9:.3g} GB, {timed}; copies between them {core.copied_bytes_per_second / 1e9:.3g} GB/s\n"
    )


def predicted(
    source: Source, problem: Problem, core: Core, best: Trial, runtime: str, optimiser: Optimiser | None
) -> dict[str, float]:
    """Seconds of the plan, and of its runtime with one thread and as many as devices, by rates measured now.

    optimiser: its step follows the gradients, on the devices that compute them.
    Empty if this machine does not have so many cores, or the graph has times of its own.
    """
    from learned_schedulers.graphs.plans.beside_plain import predictions, with_steps

    threads = problem.devices
    if len(source.graph.seconds) or not 1 < threads <= len(os.sched_getaffinity(0)):
        return {}
    cores = {1: core, threads: measured(source.types, threads)}
    seconds = predictions(source, best.seconds, cores, runtime)
    return with_steps(seconds, source, problem, best, cores, optimiser) if optimiser else seconds


def tell_fastest(seconds: Mapping[str, float], runtime: str, training: bool, optimiser: str | None) -> None:
    """Print which is expected to be the fastest, and what the times are of."""
    from learned_schedulers.graphs.plans.beside_plain import predicted_text

    if not seconds:
        return
    print(f"\n{predicted_text(seconds)}", flush=True)
    if optimiser:
        print(f"(with the step of {optimiser}, which the makespans above do not have)")
    elif training:
        print("(a training step up to the gradients; --optimizer adds its step)")
    if runtime != "torch":
        print(f"(by rates of torch's operations; {runtime} has kernels of its own, and joins operations into one)")


def run(runnable: Runnable, problem: Problem, best: Trial, seconds: Mapping[str, float]) -> None:
    """Execute the plan in turns with its runtime by itself, and print what was measured."""
    from learned_schedulers.graphs.plans.beside_plain import measured_text

    assert best.order is not None and best.placement is not None
    turns = runnable.turns(
        problem, best.order, best.placement, lambda activity: print(f"{activity} ...", file=sys.stderr, flush=True)
    )
    print(f"\n{measured_text(seconds, turns)}")
