"""The verb `run`: execute the best plan of a torch module on streams of this machine's GPU, beside torch by itself."""

from __future__ import annotations

import re
import sys
from typing import Annotated, get_args

import typer

from learned_schedulers.command import graph_options as options
from learned_schedulers.command.explained import explained
from learned_schedulers.command.kernels import announce
from learned_schedulers.command.planned import planned, tell_assumptions
from learned_schedulers.graphs.devices.number_rates import rates_of
from learned_schedulers.graphs.devices.settings import DEVICES, GpuName
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.roofline import problem_of


def main(
    context: typer.Context,
    module: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:CLASS",
            help="A torch module, whose code is RUN, also with literals as arguments: 'mine:Network(width=64)'.",
        ),
    ],
    streams: Annotated[int, typer.Option(min=1, max=16, help="Number of streams that the plan may use.")] = 2,
    device: Annotated[
        GpuName | None,
        typer.Option(help="Kind of the GPU, whose data sheet gives the expected seconds. Default: by its name."),
    ] = None,
    input: options.Inputs = None,
    training: options.Training = False,
    loss: options.Loss = "cross_entropy",
    attention: options.Attention = "fused",
    costs: options.Costs = None,
    tf32: options.Tf32 = False,
    by: options.Method = "classical",
    moves: options.Moves = None,
    seed: options.Seed = 0,
) -> None:
    """Run the best plan of your torch module on streams of this machine's GPU, in turns with torch by itself.

    The plan is captured as a CUDA graph, and compared with torch and with torch as a CUDA graph: milliseconds expected
    and measured, with quartiles, which is fastest, and whether all results are equal. Weights and inputs come from a
    fixed seed; a training step runs up to its gradients, which are compared too. Streams share the GPU: a network gains
    whose branches are too small to fill it (GoogLeNet and NASNet for one image a sixth), and no other.

    Example, in any folder, of a module of torch itself, on a machine with a GPU:

    \b
    learned-schedulers run torch.nn:Transformer --input 8,1,512 --input 8,1,512

    Other calls:

    \b
    learned-schedulers run 'torchvision.models:googlenet(init_weights=False)' --input 1,3,224,224
    learned-schedulers run mine:Network --input 32,3,64,64 --training --streams 3

    Modules of torchvision need pip install 'learned-schedulers[models]'. Exit code 1: there is no GPU, or the module
    cannot be read or captured, as one that draws random numbers. Exit code 2: an option is wrong.
    """
    announce()
    with explained():
        of_module = options.of_module(context, "training", "loss", "attention", "costs")
        kind = _kind_of_gpu(module, device)
        from learned_schedulers.graphs.plans.module_export import source_of, trace_with_weights
        from learned_schedulers.graphs.plans.module_operations import Operations
        from learned_schedulers.graphs.plans.module_words import constructor_of
        from learned_schedulers.graphs.plans.stream_run import CAPTURED, EAGER, timed_on_streams
        from learned_schedulers.graphs.plans.torch_errors import cause_and_remedy
        from learned_schedulers.graphs.plans.turns import PLAN, measured_text
        from learned_schedulers.graphs.read.export import Way
        from learned_schedulers.graphs.read.losses import loss_of
        from learned_schedulers.graphs.read.node_costs import Prices
        from learned_schedulers.graphs.read.own_costs import read_costs

        way = Way(loss_of(loss), of_module.get("attention", True))
        trace = trace_with_weights(module, input or [], training, way, "cuda")
        source = source_of(constructor_of(module).name, trace, Prices({} if costs is None else read_costs(costs)))
        try:
            operations = Operations(trace)
        except Exception as error:  # the user's operators may raise anything
            raise ValueError(f"{module}: {cause_and_remedy(error)}") from error
        tell_assumptions(module, source)
        problem = _on_streams(source, kind, streams, tf32)
        print(_head(module, problem, kind), flush=True)
        best, _ = planned(module, problem, source, seed, moves, by, "--streams")
        assert best.order is not None and best.placement is not None
        turns = timed_on_streams(trace, operations, problem.parents, best.order, best.placement, _tell)
        alone = float(problem.seconds.sum())
        print(f"\n{measured_text({PLAN: best.seconds, EAGER: alone, CAPTURED: alone}, turns)}")


def _kind_of_gpu(module: str, device: GpuName | None) -> GpuName:
    """The kind of this machine's GPU. Raises ValueError for what is no module, and for a GPU that is not known."""
    if not options.is_module(module):
        raise ValueError(f"{module}: only a torch module (module:Class) runs; `graph` plans files")
    import torch  # slow to import

    if not torch.cuda.is_available():
        raise ValueError(f"{module}: torch sees no GPU here (torch.cuda.is_available()); `graph` plans without one")
    if device is not None:
        return device
    name = torch.cuda.get_device_name()
    words = re.split(r"\W", name.lower())  # an L40S is no L4
    for kind in get_args(GpuName):
        if kind in words:
            return kind
    raise ValueError(f"{module}: the figures of a {name} are unknown; give --device a kind that is like it")


def _on_streams(source: Source, device: GpuName, streams: int, tf32: bool) -> Problem:
    """The problem of streams that share a GPU: there are no transfers, and each has a share of its memory.

    Times are those of a whole GPU for each stream. Raises ValueError if the device has no tf32.
    """
    rates = rates_of(source.types or ("float32",) * len(source.graph), device, tf32)
    room = DEVICES[device].memory_bytes / streams
    return problem_of(source.graph, streams, DEVICES[device], room, rates, *source.in_memory)


def _head(module: str, problem: Problem, device: GpuName) -> str:
    """The first line about the streams."""
    import torch

    return (
        f"{module}: {len(problem)} operations, {len(problem.children.targets)} edges; {problem.devices} streams of "
        f"{torch.cuda.get_device_name()}, with the figures of the {device}. Times are predicted as if each stream had "
        "a GPU of its own: an operation that fills the GPU gains nothing from a second stream\n"
    )


def _tell(activity: str) -> None:
    print(f"{activity} ...", file=sys.stderr, flush=True)
