"""Placements that a human expert makes of a network's layers: equal numbers of layers, balanced work, and published.

The module paths of the operations (`Graph.layers`) define the layers, see `layer_blocks`. The three placements
consider neither transfers nor memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from learned_schedulers.graphs.read.graph import Graph

_UNKNOWN = -1
_PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")  # in ONNX files, whose operations have no module paths
_RECURRENT = ("rnnlm", "gnmt")  # families
_RECURRENT_LAYER = re.compile(r"(?:^|\.)(?:encoder|decoder|layers)\.(\d+)(?:\.|$)")


def layer_blocks(graph: Graph) -> np.ndarray:
    """Layer number of each operation, (n,) int64, from 0 on, in the order in which the forward pass reaches the layers.

    1. A path is cut after its first component with a digit, or after an integer that follows that component:
       `encoder.layer.5.output` -> `encoder.layer.5`, `Mixed_6c.branch_pool` -> `Mixed_6c`, `layer3.2.conv1` ->
       `layer3.2`. A path without a digit is cut after the first component that leads to no numbered module:
       `bert.embeddings.dropout` -> `bert.embeddings`, because `bert` contains `bert.encoder.layer.5`.
    2. The cut path is a layer if at least two paths of the graph lie in it. The remaining modules are single operations
       like `conv1` or `lm_head`: those before the first layer form one layer (the stem), and those after the last layer
       form one layer (the head). A module between two layers belongs to the layer before it if it reads a result of
       that layer, and otherwise to the layer after it. If no module is a layer, every path is a layer.
    3. An operation of unknown path, or of a module that contains numbered modules, belongs to the layer of the
       operation before it, or to the first known layer if no operation before it has a layer.

    Gradients have the paths of their forward operations, and so the same layers; rule 3 applies to them as well. In a
    part of a graph that begins among gradients, layers are numbered in the order in which the gradients reach them. If
    no path is known, every product with weights begins a layer (ONNX: Conv, ConvTranspose, Gemm, MatMul), and the
    operations before the first product belong to its layer; without such products there is one layer.
    """
    if not any(graph.layers):
        begins = np.isin(np.array(graph.kinds, object), _PRODUCTS) & (graph.bytes_kept > 0)
        return np.maximum(np.cumsum(begins) - 1, 0)
    modules = _modules(graph.layers)
    operations: dict[str, list[int]] = {}  # of each module; modules are in the order of their first operations
    for i, path in enumerate(graph.layers):
        if path in modules:
            operations.setdefault(modules[path], []).append(i)
    numbers = np.full(len(graph), _UNKNOWN)
    for layer, members in enumerate(_merged(graph, operations, modules)):
        numbers[members] = layer
    return _filled(numbers)


def by_layers(graph: Graph, devices: int) -> np.ndarray:
    """Device of each operation, (n,) int32: contiguous layers; the devices' numbers of layers differ by at most one.

    With more devices than layers the last devices stay unused. Raises ValueError for less than one device.
    """
    blocks = layer_blocks(graph)
    return _split(blocks, devices, int(blocks.max(initial=-1)) + 1)


def balanced(graph: Graph, seconds: np.ndarray, devices: int) -> np.ndarray:
    """Device of each operation, (n,) int32: contiguous layers with the smallest possible maximum of a device's work.

    seconds: (n,) run time of each operation. Every device has a layer if there are enough layers. Of several such
    placements it returns the one whose device 0 has the fewest layers, and so on for the next devices. The result is
    exact, by dynamic programming: O(devices x layers squared). Raises ValueError for less than one device, and if the
    number of run times is not n.
    """
    if len(seconds) != len(graph):
        raise ValueError(f"graph {graph.name}: {len(graph)} operations, but {len(seconds)} run times")
    _check(devices)
    blocks = layer_blocks(graph)
    layers = int(blocks.max(initial=-1)) + 1
    cuts = _cuts(np.bincount(blocks, seconds, layers), min(devices, layers))
    return np.searchsorted(cuts, blocks, side="right").astype(np.int32)


def published(graph: Graph, devices: int) -> np.ndarray | None:
    """Device of each operation, (n,) int32, as published for the architecture; None if nothing was published.

    Recurrent networks (families rnnlm, gnmt) have one layer on each device (Sutskever et al. 2014, section 3.5; Wu et
    al. 2016, section 3.4 and figure 1): layers i of encoder and decoder share a device, embeddings are on that of the
    first layer, the softmax layer on that of the top layer, and attention on that of the first decoder layer, whose
    result it reads. Both directions of GNMT's first encoder layer run at the same time: the backward direction is on
    the device of the second layer, as in the authors' code (github.com/tensorflow/nmt). If there are fewer devices than
    layers, contiguous layers share a device, and their numbers differ by at most one; if there are more, the last
    devices stay unused. Papers and code also partition the softmax layer and deal layers out in turn; this function
    does not, because an operation is on one device. In a part of a graph only its own layers count. Raises ValueError
    for less than one device.
    """
    _check(devices)
    if graph.family not in _RECURRENT:
        return None
    levels = {path: level for path in graph.layers if (level := _level(path)) is not None}
    top = max(levels.values(), default=0)
    levels |= {path: top for path in graph.layers if path.split(".")[-1] == "logits"}
    if not levels:
        return None
    filled = _filled(np.array([levels.get(path, _UNKNOWN) for path in graph.layers]))
    layers, rank = np.unique(filled, return_inverse=True)
    return _split(rank, devices, len(layers))


def _level(path: str) -> int | None:
    """Layer of a recurrent network, from 0 at the bottom; None for logits, and if the path does not say it."""
    if match := _RECURRENT_LAYER.search(path):
        return int(match[1])
    components = path.split(".")
    if components[0] == "backward_layer":
        return 1
    return 0 if components[-1] in ("embedding", "source", "target") else None


def _check(devices: int) -> None:
    if devices < 1:
        raise ValueError(f"{devices} devices; there must be at least one")


def _split(layer: np.ndarray, devices: int, layers: int) -> np.ndarray:
    """Device of each operation, (n,) int32: equal numbers of layers on each device. layer: (n,) below `layers`."""
    _check(devices)
    return (layer * min(devices, layers) // max(layers, 1)).astype(np.int32)


def _cuts(work: np.ndarray, parts: int) -> np.ndarray:
    """First layers of all parts but the first, (parts - 1,), that minimise the largest sum of work in a part.

    work: (k,), k >= parts. least[j]: the minimum of the largest sum if layers j.. are cut into p parts; cut[p][j]: the
    end of the first of these p parts.
    """
    k = len(work)
    until = np.r_[0.0, np.cumsum(work)]
    least = until[k] - until[:k]  # in one part
    cut = np.full((parts + 1, k), k)
    for p in range(2, parts + 1):
        before, least = least, np.full(k, np.inf)
        for j in range(k - p + 1):
            ends = slice(j + 1, k - p + 2)  # leaves a layer for each of the remaining parts
            largest = np.maximum(until[ends] - until[j], before[ends])
            cut[p, j] = j + 1 + int(largest.argmin())
            least[j] = largest[cut[p, j] - j - 1]
    cuts: list[int] = []
    for p in range(parts, 1, -1):
        cuts.append(int(cut[p, cuts[-1] if cuts else 0]))
    return np.array(cuts, np.int64)


def _filled(numbers: np.ndarray) -> np.ndarray:
    """Numbers, (n,): each unknown number becomes the one before it; leading unknown numbers become the first known."""
    has_number = numbers != _UNKNOWN
    last = np.maximum.accumulate(np.where(has_number, np.arange(len(numbers)), -1))
    return numbers[np.where(last < 0, has_number.argmax(), last)]


def _modules(paths: Sequence[str]) -> dict[str, str]:
    """Path -> the module that it is cut to, without empty paths and paths that contain numbered modules."""
    different = [path for path in dict.fromkeys(paths) if path]
    modules = {path: module for path in different if (module := _numbered(path))}
    containing = {above for module in set(modules.values()) for above in _prefixes(module)[:-1]}
    for path in different:
        if path not in modules:
            unnumbered = [prefix for prefix in _prefixes(path) if prefix not in containing]
            if unnumbered:
                modules[path] = unnumbered[0]
    if not _composite(modules):
        return {path: path for path in different}
    return modules


def _prefixes(path: str) -> list[str]:
    components = path.split(".")
    return [".".join(components[: end + 1]) for end in range(len(components))]


def _numbered(path: str) -> str:
    """The path up to its first numbered module; empty if it has none."""
    components = path.split(".")
    for k, component in enumerate(components):
        if any(letter.isdigit() for letter in component):
            name_and_number = not component.isdigit() and "".join(components[k + 1 : k + 2]).isdigit()
            return ".".join(components[: k + 1 + name_and_number])
    return ""


def _composite(modules: dict[str, str]) -> set[str]:
    """The modules that contain at least two paths."""
    counts: dict[str, int] = {}
    for module in modules.values():
        counts[module] = counts.get(module, 0) + 1
    return {module for module, count in counts.items() if count > 1}


def _merged(graph: Graph, operations: dict[str, list[int]], modules: dict[str, str]) -> list[list[int]]:
    """Operations of each layer. operations: those of each module, in the order in which the modules are reached."""
    composite = _composite(modules)
    if not composite:
        return list(operations.values())
    order = list(operations)
    of_layers = [k for k, module in enumerate(order) if module in composite]
    merged: list[list[int]] = []
    waiting: list[int] = []  # operations that belong to the next layer
    for k, module in enumerate(order):
        members = operations[module]
        if module in composite:
            if k == of_layers[0] and waiting:
                merged.append(waiting)  # the stem
                waiting = []
            merged.append(waiting + members)
            waiting = []
        elif of_layers[0] < k < of_layers[-1] and _reads(graph, members, merged[-1]):
            merged[-1] = merged[-1] + members
        else:
            waiting = waiting + members
    return [*merged, waiting] if waiting else merged  # the head


def _reads(graph: Graph, readers: list[int], read: list[int]) -> bool:
    """Whether any operation of `readers` reads a result of an operation of `read`."""
    return bool((np.isin(graph.children.targets, readers) & np.isin(graph.children.sources, read)).any())
