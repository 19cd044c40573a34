"""A user's model -> its graph. The model is an ONNX file, a JSON workload, or a torch module."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.graphs.devices.settings import DEVICES, LINKS, DeviceName, LinkName
from learned_schedulers.graphs.devices.targets import linked
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.onnx_files import read_with_names
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.graphs.read.workloads import read_workload

_DEVICES = 4  # the default number
_UNFIT = "; this torchvision was built for another torch: install both from one place, both for CPUs or both for GPUs"
_EXTRA = "pip install -e '.[models]' -c constraints.txt, in the clone, brings torchvision, timm and transformers"


@dataclass(frozen=True)
class Source:
    """A graph of n operations, with further facts from its source."""

    graph: Graph
    names: tuple[str, ...]  # n: names of the operations in messages, traces and splits
    ids: np.ndarray  # (n,) int64: numbers of the operations in a split
    groups: np.ndarray | None = None  # (n,) int64 from 0 on: operations of the same group must share a device
    devices: int = _DEVICES
    memory: float | None = None  # bytes of each device; None: the device's own
    unpriced: tuple[str, ...] = ()  # operators, one for each operation whose cost follows from no rule
    notes: tuple[str, ...] = ()  # sentences that say what was assumed where data decide: sizes, branches, steps


def on_devices(
    source: Source,
    devices: int | None = None,
    device: DeviceName = "v100",
    link: LinkName = "pcie",
    memory: float | None = None,
) -> Problem:
    """The graph of a source on these devices. devices, memory (GB of each): None for the source's own."""
    room = source.memory if memory is None else memory * 1e9
    problem = problem_of(source.graph, devices or source.devices, DEVICES[device], room)
    return linked(problem, LINKS[link]).mean


def read_file(path: Path, dimensions: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]] | None = None) -> Source:
    """The graph of an ONNX file or a workload, by the suffix. Raises ValueError that names file and node.

    dimensions, shapes: of an ONNX file, as of `read_with_names`.
    """
    if path.suffix.lower() == ".onnx":
        graph, names, unpriced, notes = read_with_names(path, dimensions=dimensions, shapes=shapes)
        return Source(graph, names, np.arange(len(graph)), unpriced=unpriced, notes=notes)
    if dimensions or shapes:
        raise ValueError(
            f"{path}: --size and --input are for ONNX files; leave them out, because a workload has its own"
        )
    if path.suffix.lower() == ".json":
        return _profiled(path)
    raise ValueError(
        f"{path}: this is not a model that can be read; name an ONNX file (.onnx), a workload (.json) or module:Class"
    )


def _profiled(path: Path) -> Source:
    workload = read_workload(path)
    # The size of a node includes its result, which counts separately in `Graph`.
    weight_bytes = np.maximum(workload.graph.bytes_kept - workload.graph.bytes_written, 0)
    graph = replace(workload.graph, bytes_kept=weight_bytes)
    names = tuple(
        f"{name} ({label})" if label else str(name)
        for name, label in zip(workload.ids.tolist(), graph.layers, strict=True)
    )
    if not workload.supported.all():
        first = int(np.flatnonzero(~workload.supported)[0])
        raise ValueError(
            f"{path}: node {names[first]} only runs on CPUs (supportedOnFpga), but all devices must be identical here; "
            "remove such nodes"
        )
    if workload.accelerators < 1:
        raise ValueError(f"{path}: maxFPGAs is {workload.accelerators}; there must be at least one device")
    colors = workload.colors.astype(np.int64)
    alone = colors < 0  # each node without a class becomes a separate class
    colors[alone] = colors.max(initial=0) + 1 + np.arange(int(alone.sum()))
    classes, groups = np.unique(colors, return_inverse=True)
    shared = groups if len(classes) < len(colors) else None
    return Source(graph, names, workload.ids, shared, workload.accelerators, workload.memory)


def export_module(named: str, inputs: Sequence[str], training: bool) -> Source:
    """The graph of `module:Class`, built without arguments on torch's meta device: no weights, no computation.

    It imports the module, which runs the user's code; the current folder comes first in the search path.
    inputs: shapes like `32,3,224,224` (float32), or with a type, `int64:16,128`. Raises ValueError that says what
    failed.
    """
    import torch

    from learned_schedulers.graphs.read.export import graph_of_fx, traced, unpriced

    shapes = [shape_of(text) for text in inputs]
    if not shapes:
        raise ValueError(f"{named}: a module needs the shapes of its inputs: --input 32,3,224,224, once for each")
    _, _, attribute = named.partition(":")
    try:
        with imported(named) as make, torch.device("meta"):
            module = make()
            if not isinstance(module, torch.nn.Module):
                raise TypeError(f"it makes a {type(module).__name__}, not a torch.nn.Module")
            tensors = tuple(torch.empty(shape, dtype=getattr(torch, kind)) for kind, shape in shapes)
            variant = "training" if training else "forward"
            nodes = traced(module, tensors, variant)
            graph = graph_of_fx(nodes, attribute, attribute, variant)
    except ImportError as error:
        raise ValueError(f"{named}: it cannot be imported: {error}; {_EXTRA}") from error
    except Exception as error:  # the user's code, or torch because of it, may raise anything
        reason = " ".join(str(error).split())[:500] + (_UNFIT if "torchvision::" in str(error) else "")
        raise ValueError(f"{named}: torch cannot export it: {type(error).__name__}: {reason}") from error
    names = tuple(f"{layer or attribute} ({kind})" for layer, kind in zip(graph.layers, graph.kinds, strict=True))
    return Source(graph, names, np.arange(len(graph)), unpriced=unpriced(nodes))


@contextmanager
def imported(named: str) -> Iterator[Any]:
    """The object that `module:Class` names; within the context, imports search the current folder first."""
    module, _, attribute = named.partition(":")
    sys.path.insert(0, "")
    try:
        yield getattr(import_module(module), attribute)
    finally:
        sys.path.remove("")


def shape_of(text: str) -> tuple[str, list[int]]:
    """`int64:16,128` -> its type and sizes. Raises ValueError if the text is not a shape."""
    import torch

    kind, _, sizes = text.rpartition(":")
    kind = kind or "float32"
    try:
        shape = [int(size) for size in sizes.split(",") if size]
    except ValueError:
        shape = [-1]
    if min(shape, default=0) < 0 or not isinstance(getattr(torch, kind, None), torch.dtype):
        raise ValueError(f"--input {text}: this is not a shape; write 32,3,224,224, or int64:16,128 for integers")
    return kind, shape
