"""Options of the verbs that plan a network (`graph`, `run`), and what their words mean."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from learned_schedulers.graphs.devices.lists import kinds_of
from learned_schedulers.graphs.devices.settings import LINKS, DeviceName, Link
from learned_schedulers.graphs.plans.best import METHODS, By
from learned_schedulers.graphs.read.workloads import MOST_DEVICES

_ENDINGS = ("onnx", "json", "stg")  # of files

Inputs = Annotated[
    list[str] | None,
    typer.Option(
        help="Shape of an input of module:Class, like 8,3,99,99 or int64:8,128, or by name: tokens=int64:8,128, "
        "batch.image=8,3,99,99 where batch is a dictionary; of an ONNX file, like x=8,3,99,99. Repeatable."
    ),
]
Training = Annotated[
    bool, typer.Option("--training", help="Schedule a training step of module:Class, with loss and gradients.")
]
Loss = Annotated[
    str,
    typer.Option(
        help="Loss of --training: cross_entropy, mean_square or sum of an output, or output, if the module returns "
        "its loss; with the output's name: cross_entropy:logits. Default: of logits, else of the first output."
    ),
]
Attention = Annotated[
    Literal["fused", "parts"],
    typer.Option(
        help="Attention, also where a file or module has it as products and a softmax: fused, one operation "
        "without a matrix of tokens x tokens, or in parts."
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(help='JSON file: costs of operators of module:Class, {"mine::op": {"flops": "2 * in0 * in1[1]"}}.'),
]
Tf32 = Annotated[
    bool,
    typer.Option("--tf32", help="Products of float32 at the rate of tf32, where the device has it."),
]
Method = Annotated[
    By,
    typer.Option(
        help="The best schedule of these, classical with local search after them: "
        + "; ".join(f"{by}: {', '.join(methods)}" for by, methods in METHODS.items())
        + "."
    ),
]
Moves = Annotated[
    int | None, typer.Option(min=0, help="Number of schedules that local search tries. Default: a few seconds' worth.")
]
Objective = Annotated[
    Literal["latency", "throughput"],
    typer.Option(
        "--for",
        help="latency: the shortest time of one call; throughput: a pipeline of stages for many micro-batches, by the "
        "schedules GPipe, 1F1B and interleaved.",
    ),
]
MicroBatches = Annotated[
    int,
    typer.Option(min=1, max=4096, help="Of --for throughput, in a step; the model's own batch is one micro-batch."),
]
Write = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FORM=FILE",
        help="JSON file to write for another tool: device_map=FILE (accelerate), split_spec=FILE (of --for throughput, "
        "for torch.distributed.pipelining), affinities=FILE (OpenVINO; of an ONNX file). Repeatable.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random draws; the same seed gives the same schedule.")]


def is_module(model: str) -> bool:
    """Whether it is `module:Class`; a file may have a colon in its name."""
    return ":" in model and not os.path.exists(model)  # also if it is too long for the name of a file


def is_set(context: typer.Context, parameter: str) -> bool:
    """Whether the user has typed an option."""
    source = context.get_parameter_source(parameter)
    return source is not None and source.name != "DEFAULT"


def of_module(context: typer.Context, *names: str) -> dict[str, Any]:
    """These arguments of `export_module`, as far as the user gives them.

    Raises ValueError for those of training without --training.
    """
    values = {name: context.params[name] for name in names if is_set(context, name)}
    for name in ("loss", "optimizer"):
        if name in values and not values.get("training"):
            raise ValueError(
                f"--{name} {values[name]}: only a training step has a loss and an optimizer; add --training"
            )
    if "attention" in values:
        values["attention"] = values["attention"] == "fused"
    return values


def check_objective(context: typer.Context, objective: str) -> None:
    """Raises ValueError for options that the other objective has."""
    others = {"latency": ("micro_batches",), "throughput": ("by", "moves", "seed")}[objective]
    for name in others:
        if is_set(context, name):
            remedy = "add --for throughput" if objective == "latency" else "leave it out"
            option = name.replace("_", "-")
            raise ValueError(f"--{option} {context.params[name]}: --for {objective} has no such option; {remedy}")


def check_file(model: str, options: dict[str, Any]) -> None:
    """Raises ValueError for options that a file does not have, and for a class with a dot before its name."""
    module, _, name = model.rpartition(".")
    if name.lower() not in _ENDINGS and module and all(part.isidentifier() for part in model.split(".")):
        name = "Class" if name == "py" else name
        raise ValueError(f"{model}: a class stands behind a colon; write {module}:{name}, with --input")
    of_files = {"attention"} if model.lower().endswith(".onnx") else set()
    if unfit := [name for name in options if name not in of_files]:
        listed = ", ".join(f"--{name}" for name in unfit)
        places = "module:Class and ONNX files" if unfit == ["attention"] else "module:Class alone"
        raise ValueError(f"{model}: {listed}: for {places}; leave it out, because a file has its own operations")


def sizes(words: Iterable[str], inputs: Iterable[str]) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    """Sizes of dimensions, and of inputs. Raises ValueError for what is neither."""
    dimensions = {}
    for text in words:
        name, _, number = text.rpartition("=")
        if not name or not number.isdecimal() or not 0 < int(number) < 2**31:
            raise ValueError(f"--size {text}: write the dimension's name and an integer above 0, like batch=8")
        dimensions[name] = int(number)
    return dimensions, dict(_shape_of(text) for text in inputs)


def devices_of(text: str) -> int | tuple[DeviceName, ...]:
    """A number of devices, or the kinds of those that `h100:2,t4` lists. Raises typer.BadParameter otherwise."""
    if text.isdecimal() and len(text) < 9 and 1 <= int(text) <= MOST_DEVICES:
        return int(text)
    try:
        return kinds_of(text)
    except ValueError as error:
        remedy = f"write a number from 1 to {MOST_DEVICES}, or kinds"
        raise typer.BadParameter(f"--devices {text}: {error}; {remedy}") from error


def links_of(texts: Iterable[str]) -> tuple[str, Link, dict[str, Link]]:
    """The link between any two devices, in words and as it is, and the links of pairs: `nvlink:h100.0-h100.1`.

    A link has a name, or it is `25,5`: gigabytes per second, and microseconds of each transfer. Raises
    typer.BadParameter for what is neither, and for two that give the same devices a link.
    """
    links: dict[str, tuple[str, Link]] = {}
    for text in texts:
        words, _, pair = text.partition(":")
        if pair in links:
            raise typer.BadParameter(f"--link {text}: {links[pair][0]} is for the same devices; leave one of them out")
        links[pair] = words, _link_of(text, words)
    default, between = links.pop("", ("pcie", LINKS["pcie"]))
    return default, between, {pair: link for pair, (_, link) in links.items()}


def _link_of(text: str, words: str) -> Link:
    for name, link in LINKS.items():
        if words == name:
            return link
    try:
        speed, delay = map(float, words.split(","))
        if not 0 < speed < np.inf or not 0 <= delay < np.inf:
            raise ValueError
    except ValueError as error:
        listed = ", ".join(map(repr, LINKS))
        remedy = f"write one of {listed}, or GB/s and microseconds, like 25,5; for a pair of devices: nvlink:h100-h100"
        raise typer.BadParameter(f"--link {text}: {remedy}") from error
    return Link(bytes_per_second=speed * 1e9, seconds=delay * 1e-6)


def _shape_of(text: str) -> tuple[str, tuple[int, ...]]:
    """`x=1,3,48,320` -> the name and the sizes. Raises ValueError otherwise."""
    name, _, listed = text.rpartition("=")
    sizes = [size for size in listed.split(",") if size]
    if not name or not all(size.isdecimal() and int(size) < 2**31 for size in sizes):
        raise ValueError(f"--input {text}: a file's inputs have names; write NAME=1,3,48,320")
    return name, tuple(int(size) for size in sizes)
