"""The verb `graph`: place and schedule a user's neural network on several devices, without an experiment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from learned_schedulers.command import fuse as fusing
from learned_schedulers.command import graph_files as words
from learned_schedulers.command import graph_outputs as outputs
from learned_schedulers.command import graph_run as running
from learned_schedulers.command.explained import explained
from learned_schedulers.command.kernels import announce
from learned_schedulers.files import replacing
from learned_schedulers.graphs.devices.number_rates import rates_text
from learned_schedulers.graphs.devices.settings import DEVICES, DeviceName, Link
from learned_schedulers.graphs.devices.timeline import timeline
from learned_schedulers.graphs.plans import summary
from learned_schedulers.graphs.plans.best import By, check_fits, chosen, trials
from learned_schedulers.graphs.plans.named_module import NamedModule
from learned_schedulers.graphs.plans.sources import Source, on_cores, on_devices, read_file
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.cost_rules import unpriced_text
from learned_schedulers.graphs.read.workloads import MOST_DEVICES
from learned_schedulers.graphs.run.core import measured, use_all_instructions

_FUSING = {"model", "size", "input", "training", "seed", "fuse", "plan"}  # parameters that work with --fuse


def main(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="MODEL.onnx; WORKLOAD.json; a task graph of others (WfCommons' or SAGA's JSON, STG's .stg); or "
            "module:Class, whose code is RUN, also with literals as arguments: 'mine:Network(width=64)'.",
        ),
    ],
    devices: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_DEVICES, help="Number of devices. Default: the workload's number, 2 of cpu, otherwise 4."
        ),
    ] = None,
    device: Annotated[
        Literal["t4", "v100", "a100", "h100", "h200", "cpu"],
        typer.Option(
            help="Kind of the devices, which are all equal; a workload has its own times. cpu: cores of this machine, "
            "which share its memory; their rates are measured first, in seconds, so that two calls may differ."
        ),
    ] = "v100",
    link: Annotated[
        str,
        typer.Option(
            metavar="[pcie|nvlink|GB/s,us]",
            help="Link between any two devices: pcie 12 GB/s, 20 us; nvlink 100 GB/s, 10 us; or yours, like 25,5.",
        ),
    ] = "pcie",
    memory: Annotated[
        float | None,
        typer.Option(min=0, help="Memory of each device in GB. Default: the workload's, otherwise the device's."),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Size that an ONNX file leaves open, like batch=8: of a dimension, of a tensor that depends on data, "
            "or number of steps of a loop. Repeatable."
        ),
    ] = None,
    input: Annotated[
        list[str] | None,
        typer.Option(
            help="Shape of an input of module:Class, like 8,3,99,99 or int64:8,128, or by name: tokens=int64:8,128, "
            "batch.image=8,3,99,99 where batch is a dictionary; of an ONNX file, like x=8,3,99,99. Repeatable."
        ),
    ] = None,
    training: Annotated[
        bool, typer.Option("--training", help="Schedule a training step of module:Class, with loss and gradients.")
    ] = False,
    loss: Annotated[
        str,
        typer.Option(
            help="Loss of --training: cross_entropy, mean_square or sum of an output, or output, if the module returns "
            "its loss; with the output's name: cross_entropy:logits. Default: of logits, else of the first output."
        ),
    ] = "cross_entropy",
    optimizer: Annotated[
        Literal["sgd", "momentum", "adam", "fused"],
        typer.Option(
            help="Of --training: its states lie beside the weights (momentum one, adam two of their size), and all "
            "gradients stay until its step; fused: sgd that takes its step with each gradient. Of --device cpu: if it "
            "is named, the comparison with torch, and --run, have its step; makespans never do."
        ),
    ] = "sgd",
    attention: Annotated[
        Literal["fused", "parts"],
        typer.Option(
            help="Attention, also where a file or module has it as products and a softmax: fused, one operation "
            "without a matrix of tokens x tokens, or in parts."
        ),
    ] = "fused",
    costs: Annotated[
        Path | None,
        typer.Option(
            help='JSON file: costs of operators of module:Class, {"mine::op": {"flops": "2 * in0 * in1[1]"}}.'
        ),
    ] = None,
    tf32: Annotated[
        bool,
        typer.Option(
            "--tf32", help="Products of float32 at the rate of tf32, where the device has it (a100, h100, h200)."
        ),
    ] = False,
    by: Annotated[
        By,
        typer.Option(
            help="classical: the best of six classical methods; gflownet: the best of 1,000 schedules that a trained "
            "network draws; go: a network that improves the best of six list schedules by up to 2,000 simulations."
        ),
    ] = "classical",
    moves: Annotated[
        int | None,
        typer.Option(min=0, help="Number of schedules that annealing tries. Default: a few seconds' worth."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of all random draws; the same seed gives the same schedule.")
    ] = 0,
    gantt: Annotated[
        Path | None,
        typer.Option(
            help="PNG, SVG or PDF file to write, by its ending: a chart of the best schedule and of one device."
        ),
    ] = None,
    split: Annotated[
        Path | None, typer.Option(help="JSON file to write: the placement, in the form of Tarnawski et al. 2020.")
    ] = None,
    trace_out: Annotated[
        Path | None, typer.Option("--trace", help="JSON file to write: the schedule, for Perfetto (ui.perfetto.dev).")
    ] = None,
    run: Annotated[
        bool,
        typer.Option(
            "--run",
            help="With --device cpu: also run the best plan of module:Class or of an ONNX file on two cores, in turns "
            "with plain torch (onnxruntime for a file) with one and two threads, compare the results, and say which is "
            "fastest. With a GPU's name: module:Class on streams of this machine's GPU. The module has weights then.",
        ),
    ] = False,
    value: Annotated[
        list[str] | None,
        typer.Option(
            help="Of --run: the number of all elements of an ONNX file's input, like rate=16000. Others are drawn from "
            "a fixed seed, integers from 0 and 1. Repeatable."
        ),
    ] = None,
    fuse: Annotated[
        bool,
        typer.Option("--fuse", help="Plan which operations become one kernel, instead; module:Class is also compiled."),
    ] = False,
    plan: Annotated[
        Path | None, typer.Option(help="JSON file to write with --fuse: the kernels of the best plan, with names.")
    ] = None,
) -> None:
    """Place and schedule your neural network on several devices by six classical methods, a GFlowNet or GO.

    The command prints each method's predicted makespan, compared with one device and with a lower bound. Then it prints
    the work of each device in the best schedule, and the memory that it needs. Run times of operations follow from the
    device's peak rates (real operations take longer), for products by the type of their numbers, or they are the
    profiled times of a workload; the link gives the time of transfers. Operations that runtimes compute as one
    (attention in parts, normalisations, activations) count as one, except in a training step and for a module on cores;
    a split lists them all. torch.cond is priced as its more expensive
    branch, a while_loop as a single step. Nothing runs on a device, and no content of a file runs as code. But
    module:Class imports your module, which runs its code. What is modelled and what is not, of time, memory, types of
    numbers and transfers, is in one table: docs/own_model.md, "What is modelled".

    With --device cpu, the devices are cores of this machine, and the command says whether plain torch, or onnxruntime
    for a file, with as many threads is expected to be faster than any of the plans. With --run, two processes on two
    cores execute the best plan, with inputs (and weights of module:Class) from a fixed seed, which takes half a minute.
    A training step is run up to its gradients, and with the optimizer's step if --optimizer is named; both sides draw
    the same random numbers. An ONNX file is cut into pieces, each a call of onnxruntime on one thread; it needs
    pip install 'learned-schedulers[runtime]'. Weights are in memory three times.
    With a GPU's name, --run captures the best plan of module:Class as a CUDA graph of two streams (--devices says how
    many) of this machine's GPU, beside torch and torch as a CUDA graph; a training step runs up to its gradients.

    With --fuse, the command plans kernels for one core instead, by XLA's rules and by GO. It prints how much each
    kernel saves by a cost of launches, arithmetic and bytes. If g++ is installed, TorchInductor compiles module:Class
    by its own decisions and by GO's proposals, and both are timed on this machine, which takes a minute or two.

    Example, in any folder, of a module of torch itself:

    \b
    learned-schedulers graph torch.nn:Transformer --input 32,8,512 --input 32,8,512 --devices 2 --gantt chart.png

    Other calls:

    \b
    learned-schedulers graph resnet50.onnx --devices 4
    learned-schedulers graph bert.onnx --size batch=8 --size sequence=128 --link nvlink --gantt bert.png
    learned-schedulers graph bert.onnx --size batch=8 --size sequence=128 --by gflownet
    learned-schedulers graph bert.onnx --size batch=8 --size sequence=128 --by go
    learned-schedulers graph workload.json --split split.json --trace trace.json
    learned-schedulers graph rand0000.stg --devices 4
    learned-schedulers graph montage-chameleon-2mass-01d-001.json --devices 8 --trace trace.json
    learned-schedulers graph torchvision.models:inception_v3 --input 32,3,299,299 --devices 2 --memory 16
    learned-schedulers graph mine:Network --input int64:16,128 --training
    learned-schedulers graph 'mine:Network(width=64)' --input tokens=int64:16,128 --training --loss mean_square:scores
    learned-schedulers graph mine:Network --input bfloat16:16,128 --device a100 --costs costs.json
    learned-schedulers graph mine:Network --input 32,3,64,64 --device cpu --run
    learned-schedulers graph mine:Network --input 32,3,64,64 --device cpu --run --training --optimizer adam
    learned-schedulers graph vad.onnx --size batch=2 --device cpu --run --value rate=16000
    learned-schedulers graph mine:Network --input 32,3,64,64 --device h100 --run
    learned-schedulers graph mine:Network --input 32,3,64,64 --fuse --plan kernels.json

    Modules of torchvision need pip install 'learned-schedulers[models]'. If an ONNX file leaves a
    dimension open, the error message tells its name. Exit code 1: the model cannot be read or scheduled, and nothing is
    written. Exit code 2: an option is wrong.
    """
    announce()
    between = words.link_of(link)
    with explained():
        _check_fusing(context, fuse, plan)
        named = (("gantt", gantt), ("split", split), ("trace", trace_out), ("plan", plan))
        files = {name: path for name, path in named if path}
        outputs.check(model, files)
        options = _module_options(context, training, loss, optimizer, attention, costs, fuse)
        if device == "cpu":
            _check_cores(context, tf32)
            use_all_instructions()
        elif run and _is_set(context, "link"):
            raise ValueError("--link: streams of a GPU share its memory, so --run has no link there; leave it out")
        if value and (not run or _is_module(model)):
            raise ValueError(f"--value {value[0]}: for --run of an ONNX file alone; leave it out")
        runtime = running.runtime_of(model, _is_module(model))
        runnable: running.Runnable | None = None
        if run:
            running.check(runtime, model, device, devices, fuse)
            runnable = _prepared(model, size or [], input or [], value or [], options, device)
        source = runnable.source if runnable else _read(model, size or [], input or [], options, device == "cpu")
        if note := unpriced_text(source.unpriced):
            print(f"{model}: operators {note}\n")
        for note in source.notes:
            print(f"{model}: {note}\n")
        if fuse:
            module = _to_compile(model, input or [], training) if _is_module(model) else None
            fusing.fuse(model, source, module, seed, plan)
            return
        if device == "cpu":
            core = measured(source.types)
            problem = on_cores(source, core, devices or running.CORES, memory)
            print(running.head(model, problem, source, core, memory), flush=True)
        elif runnable:
            problem = running.on_streams(source, device, devices, memory, tf32)
            print(running.head_on_gpu(model, problem, device), flush=True)
        else:
            problem = on_devices(source, devices, device, between, memory, tf32)
            print(_head(model, problem, source, device, link, between, memory, tf32), flush=True)
        try:
            check_fits(problem, source.names, source.groups)
            results = trials(problem, seed, source.groups, moves, by)
            check_fits(problem, source.names, source.groups, results)
            best = chosen(results, by)
        except ValueError as error:
            raise ValueError(f"{model}: {error}") from error
        assert best.order is not None and best.placement is not None
        times = timeline(problem, best.order, best.placement)
        print(summary.methods_text(problem, results, best))
        print()
        print(summary.devices_text(problem, best.order, best.placement, times))
        print(summary.places_text(best.placement, problem.devices, source.names))
        if device == "cpu":
            seconds = running.predicted(source, problem, core, best, runtime, options.get("optimizer"))
            running.tell_fastest(seconds, runtime, training, options.get("optimizer"))
        elif runnable:
            seconds = running.predicted_on_gpu(problem, best)
        if runnable:
            running.run(runnable, problem, best, seconds)
        place = "cores" if device == "cpu" else f"{device}, {'streams' if runnable else f'link {link}'}"
        heading = f"{model} on {problem.devices} {place}"
        contents = {
            name: outputs.content(name, problem, source, best, times, heading, path) for name, path in files.items()
        }
        for name, path in files.items():
            with replacing(path, follow=True) as temporary:
                temporary.write_bytes(contents[name])
            print(f"{name}: {path}")
        if training and split:
            print(outputs.note_on_step(source.graph.kinds))


def _check_cores(context: typer.Context, tf32: bool) -> None:
    """Raises ValueError for options that have no meaning for cores."""
    if _is_set(context, "link"):
        raise ValueError("--link: the cores of a machine share its memory, so --device cpu has no link; leave it out")
    if tf32:
        raise ValueError("--tf32: cores have no tf32; leave it out, or choose --device a100")


def _check_fusing(context: typer.Context, fuse: bool, plan: Path | None) -> None:
    """Raises ValueError for options that have no meaning with --fuse, or without it."""
    if plan is not None and not fuse:
        raise ValueError(f"--plan {plan}: only --fuse writes a plan; add --fuse")
    wrong = [
        parameter.opts[0]
        for parameter in context.command.params
        if _is_set(context, str(parameter.name)) and fuse and parameter.name not in _FUSING
    ]
    if wrong:
        raise ValueError(f"--fuse plans kernels for one core and uses no devices; leave out {', '.join(wrong)}")


def _to_compile(model: str, inputs: list[str], training: bool) -> NamedModule:
    """The module for the compiler. Raises ValueError for inputs by name."""
    if any("=" in text for text in inputs):
        raise ValueError("--fuse compiles module:Class with inputs by position; leave out their names")
    return NamedModule(model, tuple(inputs), training)


def _is_module(model: str) -> bool:
    return ":" in model and not os.path.exists(model)  # also if it is too long for the name of a file


def _module_options(
    context: typer.Context,
    training: bool,
    loss: str,
    optimizer: str,
    attention: str,
    costs: Path | None,
    fuse: bool,
) -> dict[str, Any]:
    """Arguments of `export_module` that the user gives. Raises ValueError for those of training without --training."""
    for name, value in (("loss", loss), ("optimizer", optimizer)):
        if _is_set(context, name) and not training:
            raise ValueError(f"--{name} {value}: only a training step has a loss and an optimizer; add --training")
    values = {"training": training, "loss": loss, "optimizer": optimizer, "attention": attention == "fused"}
    values |= {"costs": costs, "in_parts": fuse}
    return {name: value for name, value in values.items() if _is_set(context, name) or name == "in_parts"}


def _is_set(context: typer.Context, parameter: str) -> bool:
    source = context.get_parameter_source(parameter)
    return source is not None and source.name != "DEFAULT"


def _read(model: str, sizes: list[str], inputs: list[str], options: dict[str, Any], eager: bool) -> Source:
    path = Path(model)
    if _is_module(model):
        from learned_schedulers.graphs.plans.module_export import export_module  # slow to import: torch's tracers

        return export_module(model, inputs, **{"training": False, "eager": eager} | options)
    words.check(model, options)
    return read_file(path, *words.sizes(sizes, inputs), options.get("attention", True), options.get("in_parts", False))


def _prepared(
    model: str, sizes: list[str], inputs: list[str], values: list[str], options: dict[str, Any], device: str
) -> running.Runnable:
    """The model for a run."""
    if _is_module(model):
        return running.prepared(model, inputs, options, on_gpu=device != "cpu")
    words.check(model, options)
    return running.prepared_file(Path(model), *words.sizes(sizes, inputs), words.numbers(values))


def _head(
    model: str,
    problem: Problem,
    source: Source,
    device: DeviceName,
    name: str,
    link: Link,
    memory: float | None,
    tf32: bool,
) -> str:
    kind = DEVICES[device]
    profiled = len(source.graph.seconds) == len(problem) > 0
    timed = (
        "run times as profiled"
        if profiled
        else f"{device} ({rates_text(source.types, device, tf32)}, {kind.bytes_per_second / 1e9:g} GB/s)"
    )
    room = source.room(memory, kind.memory_bytes)
    each = "unlimited memory" if np.isinf(room) else f"{room / 1e9:g} GB"
    between = source.link or link
    speed = f"{between.bytes_per_second / 1e9:g} GB/s, {between.seconds * 1e6:g} us"
    edges = len(problem.children.targets)
    return (
        f"{model}: {len(problem)} operations, {edges} edges; {problem.devices} devices of {each}, {timed}; "
        f"link {'of the file' if source.link else name} ({speed})\n"
    )
