"""The verb `graph`: place and schedule a user's neural network on several devices, without an experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from learned_schedulers.command import graph_forms as forms
from learned_schedulers.command import graph_options as options
from learned_schedulers.command import graph_outputs as outputs
from learned_schedulers.command import pipelined
from learned_schedulers.command.explained import explained
from learned_schedulers.command.kernels import announce
from learned_schedulers.command.planned import planned, tell_assumptions
from learned_schedulers.graphs.devices.number_rates import rates_text
from learned_schedulers.graphs.devices.settings import DEVICES, DeviceName, Link
from learned_schedulers.graphs.plans.model_files import read_graph
from learned_schedulers.graphs.plans.pipelines.search import Task
from learned_schedulers.graphs.plans.pipelines.stages import with_sums
from learned_schedulers.graphs.plans.sources import Source, on_devices
from learned_schedulers.graphs.problems.problem import Problem


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
        str | None,
        typer.Option(
            metavar="[NUMBER|KIND:NUMBER,...]",
            help="Number of equal devices, or a list of devices of several kinds, like h100:2,t4,cpu, which are then "
            "called h100.0, h100.1, t4.0, cpu.0. Default: the workload's number, otherwise 4.",
        ),
    ] = None,
    device: Annotated[
        DeviceName,
        typer.Option(help="Kind of a number of devices; a workload has its own times. cpu: a host's processor."),
    ] = "v100",
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[pcie|nvlink|GB/s,us][:PAIR]",
            help="Link between any two devices: pcie 12 GB/s, 20 us, the default; nvlink 100 GB/s, 10 us; or yours, "
            "like 25,5. With a pair, of these two alone: nvlink:h100.0-h100.1, or of all such pairs: nvlink:h100-h100. "
            "Repeatable.",
        ),
    ] = None,
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
    input: options.Inputs = None,
    training: options.Training = False,
    loss: options.Loss = "cross_entropy",
    optimizer: Annotated[
        Literal["sgd", "momentum", "adam", "fused"],
        typer.Option(
            help="Of --training: its states lie beside the weights (momentum one, adam two of their size), and all "
            "gradients stay until its step; fused: sgd that takes its step with each gradient. Makespans have no step."
        ),
    ] = "sgd",
    attention: options.Attention = "fused",
    costs: options.Costs = None,
    tf32: options.Tf32 = False,
    objective: options.Objective = "latency",
    micro_batches: options.MicroBatches = 8,
    by: options.Method = "classical",
    moves: options.Moves = None,
    seed: options.Seed = 0,
    gantt: Annotated[
        Path | None,
        typer.Option(
            help="PNG, SVG or PDF file to write, by its ending: a chart of the best schedule and of one device."
        ),
    ] = None,
    split: Annotated[
        Path | None, typer.Option(help="JSON file to write: the placement, in the form of Tarnawski et al. 2020.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="JSON file to write: the schedule, for Perfetto (ui.perfetto.dev).")
    ] = None,
    write: options.Write = None,
) -> None:
    """Place and schedule your neural network on several devices, by classical methods or a network (--by).

    The command prints each method's predicted makespan, compared with one device and with a lower bound. Then it prints
    the work of each device in the best schedule, and the memory that it needs. Run times of operations follow from the
    device's peak rates (real operations take longer), for products by the type of their numbers, or they are the
    profiled times of a workload; the link gives the time of transfers. Operations that runtimes compute as one
    (attention in parts, normalisations, activations) count as one, except in a training step; a split lists them all.
    torch.cond is priced as its more expensive branch, a while_loop as a single step. Nothing runs on a device, and no
    content of a file runs as code. But module:Class imports your module, which runs its code. What is modelled and
    what is not, of time, memory, types of numbers and transfers, is in one table: docs/own_model.md, "What is
    modelled". `run` executes a plan on a GPU. With --for throughput it plans a pipeline of stages for many
    micro-batches, each of the sizes that you give, and prints the schedules, then the stages of the fastest.

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
    learned-schedulers graph mine:Network --input 32,3,64,64 --devices h100:2,t4,cpu --link nvlink:h100-h100
    learned-schedulers graph mine:Network --input 4,3,64,64 --training --for throughput --micro-batches 16
    learned-schedulers graph mine:Network --input 4,3,64,64 --for throughput --write split_spec=stages.json
    learned-schedulers graph mine:Network --input 4,3,64,64 --memory 16 --write device_map=map.json

    Modules of torchvision need pip install 'learned-schedulers[models]'. If an ONNX file leaves a
    dimension open, the error message tells its name. Exit code 1: the model cannot be read or scheduled, and nothing is
    written. Exit code 2: an option is wrong.
    """
    announce()
    words, between, links = options.links_of(link or [])
    listed = None if devices is None else options.devices_of(devices)
    with explained():
        named = (("gantt", gantt), ("split", split), ("trace", trace))
        files = {name: path for name, path in named if path} | forms.forms_of(model, write or [], objective)
        options.check_objective(context, objective)
        outputs.check(model, files)
        of_module = options.of_module(context, "training", "loss", "optimizer", "attention", "costs")
        if isinstance(listed, tuple) and options.is_set(context, "device"):
            raise ValueError(f"--device {device}: --devices {devices} says which kinds they are; leave out --device")
        source = _read(model, size or [], input or [], of_module)
        tell_assumptions(model, source)
        problem = on_devices(source, listed, device, between, memory, tf32, links)
        kinds = {device: problem.devices} if not isinstance(listed, tuple) else dict(Counter(listed))
        between_all = f"{'of the file' if source.link else words} ({_speed_of(source.link or between)})"
        of_pairs = "" if source.link else "".join(f", {_speed_of(of)} between {pair}" for pair, of in links.items())
        print(f"{_head(model, problem, source, kinds, memory, tf32)}; link {between_all}{of_pairs}\n", flush=True)
        place = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        heading = f"{model} on {place}, link {', '.join(link or [words])}"
        each = listed if isinstance(listed, tuple) else (device,) * problem.devices
        if objective == "throughput":
            room = source.room(memory, DEVICES[each[0]].memory_bytes)
            pipelined.check(problem, micro_batches, of_module.get("optimizer", "sgd"))
            task = Task(source, with_sums(source, problem, DEVICES[each[0]], micro_batches), room, micro_batches)
            plan = pipelined.pipelined(model, task)

            def content(name: str, path: Path) -> tuple[bytes, str]:
                if name in forms.FORMS:
                    return forms.of_pipeline(name, task, plan, each)
                return pipelined.content(name, task, plan, heading, path)
        else:
            best, times = planned(model, problem, source, seed, moves, by)

            def content(name: str, path: Path) -> tuple[bytes, str]:
                if name in forms.FORMS:
                    return forms.of_schedule(name, problem, source, best, each, by, seed, moves)
                return outputs.content(name, problem, source, best, times, heading, path)

        outputs.write(files, content)
        if training and split:
            print(outputs.note_on_step(source.graph.kinds))


def _read(model: str, sizes: list[str], inputs: list[str], of_module: dict[str, Any]) -> Source:
    if options.is_module(model):
        from learned_schedulers.graphs.plans.module_export import export_module  # slow to import: torch's tracers

        return export_module(model, inputs, **{"training": False} | of_module)
    options.check_file(model, of_module)
    return read_graph(Path(model), *options.sizes(sizes, inputs), of_module.get("attention", True))


def _head(
    model: str,
    problem: Problem,
    source: Source,
    kinds: Mapping[DeviceName, int],
    memory: float | None,
    tf32: bool,
) -> str:
    """The first line about the devices, without their links. kinds: how many there are of each."""
    profiled = len(source.graph.seconds) == len(problem) > 0
    described = []
    for kind, count in kinds.items():
        room = source.room(memory, DEVICES[kind].memory_bytes)
        each = "unlimited memory" if np.isinf(room) else f"{room / 1e9:g} GB"
        rates = f"{rates_text(source.types, kind, tf32)}, {DEVICES[kind].bytes_per_second / 1e9:g} GB/s"
        timed = "run times as profiled" if profiled else f"{kind} ({rates})"
        described.append(f"{count} device{'s' if count > 1 or len(kinds) == 1 else ''} of {each}, {timed}")
    counts = f"{len(problem)} operations, {len(problem.children.targets)} edges"
    return f"{model}: {counts}; {'; '.join(described)}"


def _speed_of(link: Link) -> str:
    return f"{link.bytes_per_second / 1e9:g} GB/s, {link.seconds * 1e6:g} us"
