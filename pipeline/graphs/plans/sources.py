"""What a user names as a model -> its graph: an ONNX file, a JSON workload, or a torch module."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.onnx_files import read_with_names
from pipeline.graphs.corpus.workloads import read_workload

DEVICES = 4  # where nothing says how many
_UNFIT = "; this torchvision was built for another torch: install both from one place, both for CPUs or both for GPUs"
_EXTRA = "pip install 'learned-schedulers[graphs]' brings torchvision, timm and transformers"


@dataclass(frozen=True)
class Source:
    """A graph of n operations, and what its source says beside it."""

    graph: Graph
    names: tuple[str, ...]  # n: what messages, traces and splits call the operations
    ids: np.ndarray  # (n,) int64: their numbers in a split
    groups: np.ndarray | None = None  # (n,) int64 from 0 on: operations of the same one must share a device
    devices: int = DEVICES
    memory: float | None = None  # bytes of each device; None: what the device has


def read_file(path: Path, dimensions: Mapping[str, int]) -> Source:
    """The graph of an ONNX file or a workload, by its suffix. Raises ValueError naming file and node."""
    if path.suffix.lower() == ".onnx":
        graph, names = read_with_names(path, dimensions=dimensions)
        return Source(graph, names, np.arange(len(graph)))
    if path.suffix.lower() == ".json":
        return _profiled(path)
    raise ValueError(
        f"{path}: this is no model that can be read: name an ONNX file (.onnx), a workload (.json) or module:Class"
    )


def _profiled(path: Path) -> Source:
    workload = read_workload(path)
    # The size of a node is what it needs in all, its result among it; a result is counted by itself here.
    kept = np.maximum(workload.graph.bytes_kept - workload.graph.bytes_written, 0)
    graph = replace(workload.graph, bytes_kept=kept)
    names = tuple(
        f"{name} ({label})" if label else str(name)
        for name, label in zip(workload.ids.tolist(), graph.layers, strict=True)
    )
    if not workload.supported.all():
        first = int(np.flatnonzero(~workload.supported)[0])
        raise ValueError(
            f"{path}: node {names[first]} runs on CPUs alone (supportedOnFpga), and devices are all alike here; "
            "take such nodes out"
        )
    if workload.accelerators < 1:
        raise ValueError(f"{path}: maxFPGAs is {workload.accelerators}; there must be one device at least")
    colors = workload.colors.astype(np.int64)
    alone = colors < 0  # nodes without a class: each is one of its own
    colors[alone] = colors.max(initial=0) + 1 + np.arange(int(alone.sum()))
    classes, groups = np.unique(colors, return_inverse=True)
    shared = groups if len(classes) < len(colors) else None
    return Source(graph, names, workload.ids, shared, workload.accelerators, workload.memory)


def export_module(named: str, inputs: Sequence[str], training: bool) -> Source:
    """The graph of `module:Class`, made without arguments on torch's meta device: no weights, no computation.

    It imports the module, which is to run the code of whoever named it; the current folder is looked at first.
    inputs: shapes as `32,3,224,224` (float32), or with a type, `int64:16,128`. Raises ValueError saying what failed.
    """
    import torch

    from pipeline.graphs.corpus.export import graph_of_module

    shapes = [shape_of(text) for text in inputs]
    if not shapes:
        raise ValueError(f"{named}: a module needs the shapes of its inputs: --input 32,3,224,224, once for each")
    _, _, attribute = named.partition(":")
    try:
        with imported(named) as make, torch.device("meta"):
            made = make()
            if not isinstance(made, torch.nn.Module):
                raise TypeError(f"it makes a {type(made).__name__}, not a torch.nn.Module")
            tensors = tuple(torch.empty(shape, dtype=getattr(torch, kind)) for kind, shape in shapes)
            graph = graph_of_module(made, tensors, attribute, attribute, "training" if training else "forward")
    except ImportError as error:
        raise ValueError(f"{named}: cannot be imported: {error}; {_EXTRA}") from error
    except Exception as error:  # whatever the user's own code, or torch about it, raises
        reason = " ".join(str(error).split())[:500] + (_UNFIT if "torchvision::" in str(error) else "")
        raise ValueError(f"{named}: torch cannot export it: {type(error).__name__}: {reason}") from error
    names = tuple(f"{layer or attribute} ({kind})" for layer, kind in zip(graph.layers, graph.kinds, strict=True))
    return Source(graph, names, np.arange(len(graph)))


@contextmanager
def imported(named: str) -> Iterator[Any]:
    """What `module:Class` names; meanwhile imports look in the current folder first."""
    module, _, attribute = named.partition(":")
    sys.path.insert(0, "")
    try:
        yield getattr(import_module(module), attribute)
    finally:
        sys.path.remove("")


def shape_of(text: str) -> tuple[str, list[int]]:
    """`int64:16,128` -> its type and sizes. Raises ValueError where it is no shape."""
    import torch

    kind, _, sizes = text.rpartition(":")
    kind = kind or "float32"
    try:
        shape = [int(size) for size in sizes.split(",") if size]
    except ValueError:
        shape = [-1]
    if min(shape, default=0) < 0 or not isinstance(getattr(torch, kind, None), torch.dtype):
        raise ValueError(f"--input {text}: this is no shape; write 32,3,224,224, or int64:16,128 for whole numbers")
    return kind, shape
