"""Place and schedule a neural network of one's own on several devices: no training, no experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from pipeline import tables
from pipeline.command import fuse as fusing
from pipeline.graphs.corpus.workloads import MOST_DEVICES, split_of
from pipeline.graphs.devices.timeline import Timeline, timeline
from pipeline.graphs.plans import summary
from pipeline.graphs.plans.best import By, Trial, chosen, trials, why_nothing_fits
from pipeline.graphs.plans.hardware import DEVICES, LINKS, DeviceName, LinkName, on_devices
from pipeline.graphs.plans.named_module import NamedModule
from pipeline.graphs.plans.sources import Source, export_module, read_file
from pipeline.graphs.plans.trace import trace
from pipeline.graphs.problems.problem import Problem
from pipeline.stages.command import explained

_FUSING = {"model", "size", "input", "training", "seed", "fuse", "plan"}  # what --fuse takes


def main(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="MODEL.onnx; WORKLOAD.json; or module:Class, whose code is RUN."),
    ],
    devices: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_DEVICES, help="How many. By default as many as a workload says, otherwise 4."),
    ] = None,
    device: Annotated[DeviceName, typer.Option(help="What each is; a workload brings its own times along.")] = "v100",
    link: Annotated[LinkName, typer.Option(help="Between any two: pcie 12 GB/s, 20 us; nvlink 100 GB/s, 10 us.")] = (
        "pcie"
    ),
    memory: Annotated[
        float | None, typer.Option(min=0, help="GB of each. By default the workload's, otherwise the device's.")
    ] = None,
    size: Annotated[
        list[str] | None, typer.Option(help="Of a dimension that an ONNX file leaves open: batch=8. Repeatable.")
    ] = None,
    input: Annotated[
        list[str] | None,
        typer.Option(help="Shape of an input of module:Class: 8,3,99,99 or int64:8,128. Repeatable."),
    ] = None,
    training: Annotated[bool, typer.Option("--training", help="Of module:Class, with loss and gradients.")] = False,
    by: Annotated[
        By,
        typer.Option(
            help="classical: the best of six methods; gflownet: the best of 1,000 schedules of a network; go: one "
            "that changes HEFT's schedule 2,000 times and learns from it."
        ),
    ] = "classical",
    moves: Annotated[
        int | None, typer.Option(min=0, help="Schedules that annealing tries. By default as many as take ten seconds.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all random draws: the same seed, the same schedule.")] = 0,
    gantt: Annotated[Path | None, typer.Option(help="Chart to write, PNG: the best schedule and one device.")] = None,
    split: Annotated[Path | None, typer.Option(help="Placement to write, JSON as of Tarnawski et al. 2020.")] = None,
    trace_out: Annotated[
        Path | None, typer.Option("--trace", help="Schedule to write, JSON for Perfetto (ui.perfetto.dev).")
    ] = None,
    fuse: Annotated[
        bool, typer.Option("--fuse", help="Instead: which operations become one kernel; module:Class is compiled, too.")
    ] = False,
    plan: Annotated[Path | None, typer.Option(help="Of --fuse: the best plan to write, JSON: kernels by name.")] = None,
) -> None:
    """Place and schedule a neural network on several devices by the best of six classical methods, a GFlowNet or GO.

    Printed: each method's predicted makespan, against one device and against a lower bound; then what each device does
    and the memory that it needs. Operations take what a roofline of the device says (its peaks: real ones take longer),
    or as profiled in a workload; results travel as the link says. Nothing is run on any device, and no data of a file
    is run as code. module:Class imports your module, which runs it.

    --fuse plans kernels for one core instead, by XLA's rules and by GO, and says what each saves by a cost of launches,
    arithmetic and bytes. Where g++ is there, TorchInductor compiles module:Class as it decides itself and as GO
    proposes, and both are run and timed here: a minute or two.

    Examples:

    \b
    learned-schedulers graph resnet50.onnx --devices 4
    learned-schedulers graph bert.onnx --size batch=8 --size sequence=128 --link nvlink --gantt bert.png
    learned-schedulers graph bert.onnx --size batch=8 --size sequence=128 --by gflownet
    learned-schedulers graph bert.onnx --size batch=8 --size sequence=128 --by go
    learned-schedulers graph workload.json --split split.json --trace trace.json
    learned-schedulers graph torchvision.models:inception_v3 --input 32,3,299,299 --devices 2 --memory 16
    learned-schedulers graph mine:Network --input int64:16,128 --training
    learned-schedulers graph mine:Network --input 32,3,64,64 --fuse --plan kernels.json

    Modules of torchvision need an extra: pip install 'learned-schedulers[graphs]'. A dimension's name stands in the
    message that asks for it. Exit code 1: what is given cannot be read or scheduled, nothing is written then; 2: an
    option is wrong.
    """
    with explained():
        _check_fusing(context, fuse, plan)
        outputs = (("gantt", gantt), ("split", split), ("trace", trace_out), ("plan", plan))
        files = {name: path for name, path in outputs if path}
        _check_outputs(model, files)
        source = _read(model, size or [], input or [], training)
        if fuse:
            module = NamedModule(model, tuple(input or []), training) if _is_module(model) else None
            fusing.fuse(model, source, module, seed, plan)
            return
        problem = on_devices(source, devices, device, link, memory)
        print(_head(model, problem, source, device, link), flush=True)
        tried = trials(problem, seed, source.groups, moves, by)
        best = chosen(tried, by)
        if best.order is None or best.placement is None:
            raise ValueError(f"{model}: {why_nothing_fits(problem, source.names, source.groups)}")
        times = timeline(problem, best.order, best.placement)
        print(summary.of_methods(problem, tried, best))
        print()
        print(summary.of_devices(problem, best.order, best.placement, times))
        contents = {name: _content(name, problem, source, best, times) for name in files}
        for name, path in files.items():
            with tables.replacing(path) as temporary:
                temporary.write_bytes(contents[name])
            print(f"{name}: {path}")


def _check_fusing(context: typer.Context, fuse: bool, plan: Path | None) -> None:
    """Raises ValueError where options are given that mean nothing with --fuse, or without it."""
    if plan is not None and not fuse:
        raise ValueError(f"--plan {plan}: this is what --fuse writes; add --fuse")
    wrong = [
        parameter.opts[0]
        for parameter in context.command.params
        if (source := context.get_parameter_source(str(parameter.name))) and source.name != "DEFAULT"
        if fuse and parameter.name not in _FUSING
    ]
    if wrong:
        raise ValueError(f"--fuse plans kernels of one core, nothing runs on devices: leave out {', '.join(wrong)}")


def _check_outputs(model: str, files: dict[str, Path]) -> None:
    """Raises ValueError where two files to write are the same one, or one is the model."""
    for name, path in files.items():
        others = [model, *(str(other) for key, other in files.items() if key != name)]
        if any(path.resolve() == Path(other).resolve() for other in others):
            raise ValueError(f"--{name} {path}: another file has this name; choose one of its own")
        if path.is_dir():
            raise ValueError(f"--{name} {path}: this is a folder; name a file in it")


def _is_module(model: str) -> bool:
    return ":" in model and not Path(model).exists()


def _read(model: str, sizes: list[str], inputs: list[str], training: bool) -> Source:
    path = Path(model)
    if _is_module(model):
        return export_module(model, inputs, training)
    if inputs or training:
        raise ValueError(f"{model}: --input and --training are for module:Class; a file tells its inputs itself")
    dimensions = {}
    for text in sizes:
        name, _, number = text.rpartition("=")
        if not name or not number.isdecimal() or not 0 < int(number) < 2**31:
            raise ValueError(f"--size {text}: write the dimension's name and a whole number above 0: batch=8")
        dimensions[name] = int(number)
    return read_file(path, dimensions)


def _head(model: str, problem: Problem, source: Source, device: DeviceName, link: LinkName) -> str:
    kind = DEVICES[device]
    profiled = len(source.graph.seconds) == len(problem) > 0
    timed = (
        "run times as profiled"
        if profiled
        else f"{device} ({kind.flops_per_second / 1e12:g} TFLOP/s, {kind.bytes_per_second / 1e9:g} GB/s)"
    )
    bytes_each = source.memory if source.memory is not None else kind.memory_bytes
    memory = f"{(bytes_each if np.isinf(problem.memory) else problem.memory) / 1e9:g} GB"
    speed = f"{LINKS[link].bytes_per_second / 1e9:g} GB/s, {LINKS[link].seconds * 1e6:g} us"
    edges = len(problem.children.targets)
    return (
        f"{model}: {len(problem)} operations, {edges} edges; {problem.devices} devices of {memory}, {timed}; "
        f"link {link} ({speed})\n"
    )


def _content(name: str, problem: Problem, source: Source, best: Trial, times: Timeline) -> bytes:
    """What a file holds."""
    assert best.order is not None and best.placement is not None
    if name == "split":
        return split_of(source.ids, best.placement, problem.devices, source.names).encode()
    if name == "trace":
        return trace(times, source.names, source.graph.kinds).encode()
    from pipeline.report.gantt import gantt  # slow to import: pandas and matplotlib
    from pipeline.report.plots import render

    alone = replace(problem, devices=1)
    order, placement = np.arange(len(problem), dtype=np.int32), np.zeros(len(problem), np.int32)
    panels = {f"best ({best.method})": times, "one device": timeline(alone, order, placement)}
    return render(gantt(panels, problem.bound))
